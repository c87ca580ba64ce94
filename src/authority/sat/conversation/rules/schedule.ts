const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** When a request is checked, after it was sent; then every hour. */
const CHECKS_MS = [1, 2, 5, 10, 20, 30].map((minutes) => minutes * MINUTE_MS)
/** How long anything is waited for. */
const PATIENCE_MS = 7 * 24 * HOUR_MS

/**
 * The first time after `now` at which a request that was sent at an instant is checked, in milliseconds; null after seven days. `factor`
 * multiplies all waits (AUTHORITY_WAIT_FACTOR).
 */
export function nextCheck(asked_at: number, now: number, factor: number): number | null {
  const passed = (now - asked_at) / factor
  const next = CHECKS_MS.find((wait) => wait > passed) ?? CHECKS_MS.at(-1)! + HOUR_MS * hoursAfter(passed)
  return next > PATIENCE_MS ? null : asked_at + Math.ceil(next * factor)
}

/** The number of the first hour behind the last of the first checks that has not passed. */
const hoursAfter = (passed: number): number => Math.max(1, Math.floor((passed - CHECKS_MS.at(-1)!) / HOUR_MS) + 1)

/** How long to wait before something is tried again that has failed so many times: 1, 1, 3, 5, 10, 10, 60, 60 … minutes. */
export const waitAfter = (attempts: number, factor: number): number => {
  const waits = CHECKS_MS.map((check, n) => check - (CHECKS_MS[n - 1] ?? 0))
  return Math.ceil((waits[attempts - 1] ?? HOUR_MS) * factor)
}

/** How often something is tried in seven days. */
export const MOST_ATTEMPTS = CHECKS_MS.length + PATIENCE_MS / HOUR_MS

/** When what was asked for at an instant is not waited for any longer. */
export const deadlineOf = (asked_at: number, factor: number): number => asked_at + Math.ceil(PATIENCE_MS * factor)

/** Requests that are to be checked so soon are checked together. */
export const togetherMs = (factor: number): number => Math.ceil((MINUTE_MS / 3) * factor)
