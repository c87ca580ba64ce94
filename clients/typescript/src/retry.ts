/** How often a request is sent at most, and how long it may wait in between. */
export interface RetryOptions {
  /** 4 unless told. */
  attempts?: number
  /** The longest wait in milliseconds that a Retry-After is followed for: 60,000 unless told. A longer one ends the attempts. */
  longestWait?: number
  fetch?: typeof fetch
}

const SAFE = ['GET', 'HEAD', 'PUT', 'DELETE']
/** Refused before anything was done, so that any request may be sent again. */
const NOT_DONE = [429, 503]
const FAILED = [500, 502, 504]
/** A 503 that no second attempt changes: each one would be another login to an account that the tax authority has locked. */
const LOCKED = 'authority.account_locked'
const IN_FLIGHT = 'idempotency.in_flight'
/** Nobody is known yet to whom an Idempotency-Key could belong: who signed up twice has two organizations. */
const WITHOUT_KEY = '/v1/auth/'

/**
 * A `fetch` that sends a request again after 429 and 503 (but not when the tax authority has locked an account), and, where repeating it
 * does no harm, after other failures of the service or of the network, also those that cut off an answer in JSON. Every POST gets an Idempotency-Key, so that the service carries it out once; but for sign-up and acceptance of an invitation,
 * which are not sent again after such a failure.
 */
export function retrying({ attempts = 4, longestWait = 60_000, fetch: send = globalThis.fetch }: RetryOptions = {}): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init)
    const isKeyed = request.method === 'POST' && !new URL(request.url).pathname.includes(WITHOUT_KEY)
    if (isKeyed && !request.headers.has('idempotency-key')) request.headers.set('idempotency-key', crypto.randomUUID())
    const isRepeatable = isKeyed || SAFE.includes(request.method)
    for (let attempt = 1; ; attempt++) {
      const isLast = attempt >= attempts
      const answer = await send(isLast ? request : request.clone())
        .then(wholeOf)
        .catch((error: unknown) => {
          if (isLast || !isRepeatable || request.signal.aborted) throw error
          return null
        })
      const isWorth =
        answer === null ||
        (NOT_DONE.includes(answer.status) && (await codeOf(answer, 503)) !== LOCKED) ||
        (isRepeatable && FAILED.includes(answer.status)) ||
        // The service is still carrying out a request with the same key, whose answer was lost.
        (isKeyed && (await codeOf(answer, 409)) === IN_FLIGHT)
      if (answer && (isLast || !isWorth)) return answer
      const wait = waitOf(answer, attempt)
      if (answer && wait > longestWait) return answer
      await answer?.body?.cancel()
      await pause(wait, request.signal)
    }
  }
}

/** An answer in JSON with all of its body, whose connection can be lost too. Files stay streams. */
const wholeOf = async (answer: Response): Promise<Response> =>
  /^application\/json\b/.test(answer.headers.get('content-type') ?? '') ? new Response(await answer.arrayBuffer(), answer) : answer

/** The code of an answer with this status; undefined of any other answer. */
async function codeOf(answer: Response, status: number): Promise<unknown> {
  if (answer.status !== status) return undefined
  const told = (await answer
    .clone()
    .json()
    .catch(() => null)) as { code?: unknown } | null
  return told?.code
}

/** The service's own Retry-After; otherwise longer and longer, and never at the same instant as other clients. */
function waitOf(answer: Response | null, attempt: number): number {
  const told = Number(answer?.headers.get('retry-after') ?? Number.NaN)
  return Number.isFinite(told) ? told * 1_000 : 500 * 2 ** (attempt - 1) * (0.5 + Math.random() / 2)
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((done, failed) => {
    const timer = setTimeout(done, ms)
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer)
        failed(signal.reason)
      },
      { once: true },
    )
  })
