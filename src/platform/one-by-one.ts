/** Does work with the same key one after the other, within one invocation: it must not wait for a promise of another invocation. */
export class OneByOne {
  readonly #last = new Map<string, Promise<unknown>>()

  /** Does the work when all earlier work under its key has ended, well or not. */
  async do<T>(key: string, work: () => Promise<T>): Promise<T> {
    const next = () => work()
    const mine = Promise.resolve(this.#last.get(key)).then(next, next)
    this.#last.set(key, mine)
    try {
      return await mine
    } finally {
      if (this.#last.get(key) === mine) this.#last.delete(key)
    }
  }
}
