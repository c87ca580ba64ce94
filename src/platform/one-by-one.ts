/** Does what has the same key one after the other, within one invocation: a promise of another invocation must not be waited for. */
export class OneByOne {
  readonly #last = new Map<string, Promise<unknown>>()

  /** Does the work when all that was begun before under its key has ended, well or not. */
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
