/** What a process does to its databases, its bucket and the network, until it is killed at one of these steps: then nothing succeeds any more. */
export class Mortal {
  isDead = false
  steps = 0
  /** It is killed at this step, before it is taken or right after. */
  dies: { at: number; when: 'before' | 'after' } | null = null

  async step<T>(act: () => Promise<T>): Promise<T> {
    this.#beAlive()
    const isLast = ++this.steps === this.dies?.at
    if (isLast && this.dies!.when === 'before') this.isDead = true
    this.#beAlive()
    const result = await act()
    if (isLast) this.isDead = true
    this.#beAlive()
    return result
  }

  #beAlive(): void {
    if (this.isDead) throw new Error('The process was killed here.')
  }

  revive(): void {
    this.isDead = false
    this.dies = null
  }

  database(real: D1Database): D1Database {
    const statements = new WeakMap<object, D1PreparedStatement>()
    const wrapped = (statement: D1PreparedStatement): D1PreparedStatement => {
      const one = {
        bind: (...values: unknown[]) => wrapped(statement.bind(...values)),
        ...Object.fromEntries(
          (['run', 'all', 'first', 'raw'] as const).map((name) => [
            name,
            (...args: unknown[]) => this.step(() => (statement[name] as (...all: unknown[]) => Promise<unknown>)(...args)),
          ]),
        ),
      } as unknown as D1PreparedStatement
      statements.set(one, statement)
      return one
    }
    return {
      prepare: (sql: string) => wrapped(real.prepare(sql)),
      batch: (all: D1PreparedStatement[]) => this.step(() => real.batch(all.map((one) => statements.get(one) ?? one))),
    } as unknown as D1Database
  }

  bucket(real: R2Bucket): R2Bucket {
    return new Proxy(real, {
      get: (target, name) => {
        const member = target[name as keyof R2Bucket] as unknown
        return typeof member === 'function' ? (...args: unknown[]) => this.step(async () => member.apply(target, args)) : member
      },
    })
  }
}
