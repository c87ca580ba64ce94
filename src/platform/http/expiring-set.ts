/** As many keys as one set holds in memory. When there are more, all are forgotten. */
const MAX = 10_000

/** Keys that are remembered for a while, in the memory of this isolate. */
export class ExpiringSet {
  readonly #forMs: number
  readonly #until = new Map<string, number>()

  constructor(forMs: number) {
    this.#forMs = forMs
  }

  has(key: string): boolean {
    return (this.#until.get(key) ?? 0) > Date.now()
  }

  add(key: string): void {
    if (this.#until.size >= MAX && !this.#until.has(key)) this.#until.clear()
    this.#until.set(key, Date.now() + this.#forMs)
  }
}
