import type { DestinationError } from '../drivers/port.ts'

const MINUTE = 60_000
/** Waits after the first four failures in a row. After the fifth, nothing is sent until the customer resumes the connector. */
const WAITS = [1, 5, 15, 60].map((minutes) => minutes * MINUTE)
const LONGEST_WAIT = 24 * 60 * MINUTE

/** Milliseconds to wait after so many failures in a row; null when the connector ends in an error. */
export const waitAfter = (failures: number, { retry_after_seconds }: Pick<DestinationError, 'retry_after_seconds'>): number | null => {
  const wait = WAITS[failures - 1]
  return wait === undefined ? null : Math.min(Math.max(wait, (retry_after_seconds ?? 0) * 1_000), LONGEST_WAIT)
}
