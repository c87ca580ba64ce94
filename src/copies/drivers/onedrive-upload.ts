import { call, jsonOf, type Network, type ProviderAnswer, sendPart } from './call.ts'
import { unexpected } from './faults.ts'
import { DestinationError } from './port.ts'

/** Of a fragment, in bytes: 32 times the 320 KiB of which every fragment but the last one must be a multiple. */
const FRAGMENT = 32 * 327_680
/** How often fragments are sent again after a break. */
const MOST_REPETITIONS = 2

/**
 * Sends the bytes of an object to an upload session, and returns the last answer, whatever its status. The URL of a session is as good as
 * a token: it goes with no other. After a break the session is asked what it still expects. A session that fails is cancelled.
 */
export async function sendToSession(network: Network, session: ProviderAnswer, bytes: Uint8Array): Promise<ProviderAnswer> {
  const url = jsonOf(session)['uploadUrl']
  if (typeof url !== 'string') throw unexpected(session)
  try {
    const answer = await sendFragments(network, url, bytes)
    if (answer.status !== 200 && answer.status !== 201) await cancel(network, url)
    return answer
  } catch (error) {
    // A provider that hangs is not waited for a second time.
    if (!(error instanceof DestinationError && (error.code === 'timeout' || error.code === 'address_refused'))) await cancel(network, url)
    throw error
  }
}

async function sendFragments(network: Network, url: string, bytes: Uint8Array): Promise<ProviderAnswer> {
  for (let from = 0, repetitions = 0; ; ) {
    const end = Math.min(from + FRAGMENT, bytes.length)
    const headers = { 'content-range': `bytes ${from}-${end - 1}/${bytes.length}` }
    const sending = call(network, { method: 'PUT', url, headers, body: bytes.subarray(from, end) })
    const sent = await sendPart(sending, repetitions === MOST_REPETITIONS)
    if (sent !== null && sent.status !== 202) return sent
    if (sent === null) repetitions++
    const state = sent ?? (await call(network, { method: 'GET', url }))
    // A session that is gone may have been completed by the request whose answer was lost. A repetition replaces the file.
    if (sent === null && state.status === 404)
      throw new DestinationError('connection_failed', 'The connection broke before OneDrive confirmed the file.')
    if (state.status !== 200 && state.status !== 202) return state
    const { nextExpectedRanges } = jsonOf(state)
    const [, next] = /^(\d+)-/.exec(String(Array.isArray(nextExpectedRanges) ? nextExpectedRanges[0] : '')) ?? []
    // Without progress there would be no end.
    if (next === undefined || Number(next) >= bytes.length || (sent !== null && Number(next) <= from)) throw unexpected(state)
    from = Number(next)
  }
}

async function cancel(network: Network, url: string): Promise<void> {
  await call(network, { method: 'DELETE', url }).catch(() => null)
}
