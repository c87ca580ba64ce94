import { DurableObject } from 'cloudflare:workers'

/**
 * A mutex with a lease: at most one token holds it at a time. It is advisory, because a lease can end while its holder still works, and
 * because it lives in the memory of the object: steps that must not happen twice are fenced in rows. Times are milliseconds of the real
 * clock.
 */
export class Mutex extends DurableObject<Env> {
  #leased: { token: string; until: number } | null = null
  /** Whether another token was refused since the last leave. */
  #refused = false

  /** Takes the mutex, or extends the lease of the token that holds it. Returns false while another token holds it. */
  enter(token: string, milliseconds: number): boolean {
    const now = Date.now()
    if (this.#leased && this.#leased.token !== token && this.#leased.until > now) {
      this.#refused = true
      return false
    }
    this.#leased = { token, until: now + milliseconds }
    return true
  }

  /** Releases the mutex. Returns true when another token was refused since, so that the holder can look for its work. */
  leave(token: string): boolean {
    if (this.#leased?.token === token) this.#leased = null
    const refused = this.#refused
    this.#refused = false
    return refused
  }
}

type Acquired = { acquired: true } | { acquired: false; retry_after_seconds: number }

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
