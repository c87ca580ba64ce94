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
