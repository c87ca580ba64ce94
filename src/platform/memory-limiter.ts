const LOOK_EVERY_MS = 10

/**
 * Shares the memory of the isolate among the invocations that run in it at the same time: together they hold no more than `size`, except
 * for one that needs more and is alone. What an invocation held that was ended from outside is free again after `longestMs`.
 */
export class MemoryLimiter {
  readonly #size: number
  readonly #longestMs: number
  readonly #held = new Map<object, { weight: number; until: number }>()

  constructor(size: number, longestMs: number) {
    this.#size = size
    this.#longestMs = longestMs
  }

  /** Does the work when there is room for it. */
  async hold<T>(weight: number, work: () => Promise<T>): Promise<T> {
    // Yields in any case: the local runtime answers no other request while a handler never waits.
    do await scheduler.wait(this.#held.size === 0 ? 1 : LOOK_EVERY_MS)
    while (!this.#fits(weight))
    const holder = {}
    this.#held.set(holder, { weight, until: Date.now() + this.#longestMs })
    try {
      return await work()
    } finally {
      this.#held.delete(holder)
    }
  }

  #fits(weight: number): boolean {
    const now = Date.now()
    for (const [holder, { until }] of this.#held) if (until < now) this.#held.delete(holder)
    const used = [...this.#held.values()].reduce((sum, held) => sum + held.weight, 0)
    return used === 0 || used + weight <= this.#size
  }
}
