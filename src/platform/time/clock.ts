/** How far the service's clock is ahead of the real one, in milliseconds: 0, unless a sandbox moves its clock. */
let ahead = 0

/**
 * The service's clock, by which everything happens that is stored or shown. `Date.now()` is for what the service does not decide (tokens
 * and signatures of others, the age of objects) and for what only one isolate knows.
 */
export const clock = {
  now: (): number => Date.now() + ahead,
  date: (): Date => new Date(clock.now()),
  /** The service's time of a real one. */
  at: (real: number): Date => new Date(real + ahead),
  get ahead(): number {
    return ahead
  },
  /** It never goes back, except to the real time. */
  move(to: number): void {
    ahead = to === 0 ? 0 : Math.max(ahead, to)
  },
}
