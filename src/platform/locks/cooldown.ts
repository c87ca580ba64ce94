import { DurableObject } from 'cloudflare:workers'

export type Acquired = { acquired: true } | { acquired: false; retry_after_seconds: number }

interface Window {
  until: number
  /** How often the action was done in it. */
  times: number
}

const WINDOW = 'window'
const NONE: Window = { until: 0, times: 0 }

/**
 * How often the same action may be done in a time that begins with the first one: once, unless the caller says how often. One object for
 * each action. Of any number of concurrent calls, only so many acquire it. Times are milliseconds of the service's clock.
 */
export class Cooldown extends DurableObject<Env> {
  #window: Window

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env)
    this.#window = ctx.storage.kv.get<Window>(WINDOW) ?? NONE
  }

  /** Counts the action, in a new window of this many seconds if none runs; or returns how many seconds remain of it, from 1 to `seconds`. */
  acquire(seconds: number, now: number, most = 1): Acquired {
    const { until, times } = this.#window
    const isRunning = now < until
    if (isRunning && times >= most) return { acquired: false, retry_after_seconds: Math.min(seconds, Math.ceil((until - now) / 1000)) }
    this.#window = isRunning ? { until, times: times + 1 } : { until: now + seconds * 1000, times: 1 }
    this.ctx.storage.kv.put(WINDOW, this.#window)
    return { acquired: true }
  }

  /** Whether no window runs. */
  isFree(now: number): boolean {
    return now >= this.#window.until
  }

  /** Ends the window, because the action did not happen; with `by`, only if it ends by then, so that a later one continues. */
  release(by = Number.POSITIVE_INFINITY): void {
    if (this.#window.until > by) return
    this.#window = NONE
    this.ctx.storage.kv.delete(WINDOW)
  }
}
