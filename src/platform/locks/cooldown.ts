import { DurableObject } from 'cloudflare:workers'

export type Acquired = { acquired: true } | { acquired: false; retry_after_seconds: number }

const UNTIL = 'until'

/**
 * A minimum time between two repetitions of the same action, one object for each. One of any number of concurrent calls acquires it. Times
 * are milliseconds of the real clock.
 */
export class Cooldown extends DurableObject<Env> {
  #until: number

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env)
    this.#until = ctx.storage.kv.get<number>(UNTIL) ?? 0
  }

  /** Starts a cooldown of this many seconds, or returns how many remain of the current one, from 1 to `seconds`. */
  acquire(seconds: number, now: number): Acquired {
    if (now < this.#until) return { acquired: false, retry_after_seconds: Math.min(seconds, Math.ceil((this.#until - now) / 1000)) }
    this.#until = now + seconds * 1000
    this.ctx.storage.kv.put(UNTIL, this.#until)
    return { acquired: true }
  }

  /** Whether no cooldown runs. */
  isFree(now: number): boolean {
    return now >= this.#until
  }

  /** Ends the cooldown, because the action did not happen; with `by`, only if it ends by then, so that a later one continues. */
  release(by = Number.POSITIVE_INFINITY): void {
    if (this.#until > by) return
    this.#until = 0
    this.ctx.storage.kv.delete(UNTIL)
  }
}
