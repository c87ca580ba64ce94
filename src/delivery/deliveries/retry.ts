/** Seconds to wait before each attempt, counted from the end of the previous one. */
const WAITS = [0, 60, 300, 1_800, 7_200, 21_600] as const

/** How long an attempt may wait for the headers and the first KiB of the body. */
export const TIMEOUT_MS = 5_000

export type AttemptOutcome = 'delivered' | 'refused' | 'unanswered'

/** Classifies the status of an answer; null means no answer in time. Redirects and interim answers count as refusals. */
export const outcomeOf = (status_code: number | null): AttemptOutcome => {
  if (status_code === null || (status_code >= 500 && status_code < 600) || status_code === 408 || status_code === 429) return 'unanswered'
  return status_code >= 200 && status_code < 300 ? 'delivered' : 'refused'
}

export type Verdict = { status: 'delivered' | 'failed' | 'lost' } | { status: 'pending'; wait_seconds: number }

/** Returns the state of a delivery after its attempt number `attempt`, from 1. */
export function verdictAfter(attempt: number, outcome: AttemptOutcome): Verdict {
  if (outcome === 'delivered') return { status: 'delivered' }
  if (outcome === 'refused') return { status: 'failed' }
  const wait_seconds = WAITS[attempt]
  return wait_seconds === undefined ? { status: 'lost' } : { status: 'pending', wait_seconds }
}
