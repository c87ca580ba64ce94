import { answerStatus, faultOf } from '../../platform/egress/answer-status.ts'
import { TIMEOUT_MS } from './retry.ts'
import type { AttemptRecord } from './tables.ts'

/** How much of an answer's body is read for the delivery log. The body does not affect the outcome. */
const MAX_BODY_BYTES = 1_024

/** Makes one attempt. The headers must arrive within five seconds; redirects are not followed. Never throws. */
export async function post(egress: Fetcher, url: string, headers: Record<string, string>, body: Uint8Array): Promise<AttemptRecord> {
  const at = Date.now()
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  try {
    const response = await egress.fetch(url, { method: 'POST', headers, body, redirect: 'manual', signal })
    const duration_ms = Date.now() - at
    return { at, duration_ms, status_code: answerStatus(response), error: null, response_body: await firstBytes(response, at + TIMEOUT_MS) }
  } catch (thrown) {
    const error = signal.aborted ? 'No answer within 5 seconds.' : faultOf(thrown)
    return { at, duration_ms: Date.now() - at, status_code: null, error, response_body: null }
  }
}

async function firstBytes({ body }: Response, until: number): Promise<string | null> {
  if (body === null) return null
  const reader = body.getReader()
  const bytes = new Uint8Array(MAX_BODY_BYTES)
  let length = 0
  const end = scheduler.wait(Math.max(0, until - Date.now()))
  try {
    while (length < MAX_BODY_BYTES) {
      const part = await Promise.race([reader.read(), end])
      if (!part || part.done) break
      const taken = part.value.subarray(0, MAX_BODY_BYTES - length)
      bytes.set(taken, length)
      length += taken.length
    }
  } catch {
    // The connection broke: the bytes that arrived are kept.
  }
  void reader.cancel().catch(() => {})
  const text = new TextDecoder().decode(bytes.subarray(0, length))
  return text === '' ? null : text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '\ufffd')
}
