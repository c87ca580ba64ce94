/**
 * Lets the other requests of the isolate go on. A loop over input awaits it every few thousand steps: awaiting what is there already lets
 * nobody else in.
 */
export const letOthersGoOn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve))

/** Work in steps of some milliseconds, with its result. */
export type Steps<Result> = Generator<void, Result>

/** Does work in steps, between which others go on. */
export async function stepByStep<Result>(steps: Steps<Result>): Promise<Result> {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
    await letOthersGoOn()
  }
}

/** Does work in one go. */
export function inOneGo<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}
