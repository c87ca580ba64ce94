const LOOK_EVERY_MS = 10
/** Waiters look more often than this. One that has not looked for so long was ended from outside. */
const GONE_MS = 5_000
const MIB = 1024 ** 2

/**
 * Shares the memory of the isolate among the invocations that run in it at the same time: together they hold no more than `size`, except
 * for one that needs more and is alone. Waiters are served in turn. The memory of an invocation that was ended from outside is free again
 * after `longestMs`.
 */
export class MemoryLimiter {
  readonly #size: number
  readonly #longestMs: number
  readonly #admitted = new Map<object, { weight: number; until: number }>()
  /** When each of those that wait looked last, in their order. */
  readonly #waiting = new Map<object, number>()

  constructor(size: number, longestMs: number) {
    this.#size = size
    this.#longestMs = longestMs
  }

  /** Does the work when there is room for it. */
  async hold<T>(weight: number, work: () => Promise<T>): Promise<T> {
    const holder = {}
    this.#waiting.set(holder, Date.now())
    // Yields in any case: the local runtime answers no other request while a handler never waits.
    do {
      await scheduler.wait(this.#admitted.size === 0 ? 1 : LOOK_EVERY_MS)
      this.#waiting.set(holder, Date.now())
    } while (!(this.#isNext(holder) && this.#fits(weight)))
    this.#waiting.delete(holder)
    this.#admitted.set(holder, { weight, until: Date.now() + this.#longestMs })
    try {
      return await work()
    } finally {
      this.#admitted.delete(holder)
    }
  }

  #isNext(holder: object): boolean {
    for (const [first, lookedAt] of this.#waiting) {
      if (first === holder) return true
      if (lookedAt > Date.now() - GONE_MS) return false
      this.#waiting.delete(first)
    }
    return true
  }

  #fits(weight: number): boolean {
    const now = Date.now()
    for (const [holder, { until }] of this.#admitted) if (until < now) this.#admitted.delete(holder)
    const used = [...this.#admitted.values()].reduce((sum, admitted) => sum + admitted.weight, 0)
    return used === 0 || used + weight <= this.#size
  }
}

/**
 * The bytes that large work has in memory: slices of packages and uploads, exports, PDFs and lists. The bytes that are read are counted;
 * the values made of them take some times more.
 */
export const memory = new MemoryLimiter(4 * MIB, 60_000)
