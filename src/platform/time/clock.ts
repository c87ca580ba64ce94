/** How far the service's clock is ahead of the real one, in milliseconds: 0, unless a sandbox moved its clock. */
let ahead = 0

/**
 * The service's clock, by which everything happens that is stored or shown. `Date.now()` is for what the service does not decide (tokens
 * and signatures of others, the age of objects) and for what one isolate alone knows.
 */
export const clock = {
  now: (): number => Date.now() + ahead,
  date: (): Date => new Date(clock.now()),
  get ahead(): number {
    return ahead
  },
  /** Sets how far ahead it is. It never goes back, except to the real time. */
  set ahead(by: number) {
    ahead = by === 0 ? 0 : Math.max(ahead, by)
  },
}
