/** Seconds to wait before each attempt, counted from the end of the one before (service.md, Retries). */
const WAITS = [0, 60, 300, 1_800, 7_200, 21_600] as const

/** How long headers may take, and at most 1 KiB of the body within the same time. */
export const TIMEOUT_MS = 5_000

export type Outcome = 'delivered' | 'refused' | 'unanswered'

/** What a status code means; null for no answer within the time. Redirects and interim answers are refusals like any other. */
export const outcomeOf = (status_code: number | null): Outcome => {
  if (status_code === null || (status_code >= 500 && status_code < 600) || status_code === 408 || status_code === 429) return 'unanswered'
  return status_code >= 200 && status_code < 300 ? 'delivered' : 'refused'
}

export type Verdict = { status: 'delivered' | 'failed' | 'lost' } | { status: 'pending'; wait_seconds: number }

/** What becomes of a delivery after its attempt number `attempt`, from 1. */
export function verdictAfter(attempt: number, outcome: Outcome): Verdict {
  if (outcome === 'delivered') return { status: 'delivered' }
  if (outcome === 'refused') return { status: 'failed' }
  const wait_seconds = WAITS[attempt]
  return wait_seconds === undefined ? { status: 'lost' } : { status: 'pending', wait_seconds }
}
