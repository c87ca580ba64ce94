export { Egress } from '../../../src/platform/egress/egress.ts'

import { answerStatus } from '../../../src/platform/egress/answer-status.ts'

/** What a caller asks of the binding EGRESS. */
export interface Call {
  url: string
  headers: Record<string, string>
  /** Base64. */
  body: string
  abortAfter: number
  /** Bytes of the answer's body to read before it is cancelled; all of it when absent. */
  take?: number
}

/** What came of it. */
export interface Outcome {
  error?: string
  status?: number
  /** The one that the receiver sent. */
  said?: number
  headers?: [string, string][]
  /** Base64. */
  body?: string
  /** What was wrong when the body was read. */
  broken?: string
}

/** A Worker that calls as the service does, and says what it got. */
export default {
  async fetch(request: Request, env: { EGRESS: Fetcher }): Promise<Response> {
    return Response.json(await outcomeOf(env.EGRESS, await request.json<Call>()))
  },
}

async function outcomeOf(egress: Fetcher, { url, headers, body, abortAfter, take = Infinity }: Call): Promise<Outcome> {
  try {
    const answer = await egress.fetch(url, {
      method: 'POST',
      headers,
      body: Uint8Array.fromBase64(body),
      redirect: 'manual',
      signal: AbortSignal.timeout(abortAfter),
    })
    const outcome: Outcome = { status: answer.status, said: answerStatus(answer), headers: [...answer.headers] }
    return { ...outcome, ...(await bodyOf(answer, take)) }
  } catch (error) {
    return { error: String(error) }
  }
}

async function bodyOf(answer: Response, take: number): Promise<Outcome> {
  const pieces: number[] = []
  const reader = answer.body?.getReader()
  try {
    while (reader && pieces.length < take) {
      const { value, done } = await reader.read()
      if (done) break
      pieces.push(...value)
    }
    await reader?.cancel()
    return { body: new Uint8Array(pieces).toBase64() }
  } catch (error) {
    return { broken: String(error) }
  }
}
