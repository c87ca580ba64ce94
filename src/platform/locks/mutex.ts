import { DurableObject } from 'cloudflare:workers'

interface Held {
  token: string
  until: number
}

/**
 * A mutex with a lease: at most one token holds it at a time. It is advisory, because a lease can end while its holder still works.
 * Times are milliseconds of the real clock.
 */
export class Mutex extends DurableObject<Env> {
  /** Whether another token was refused since the last leave. */
  #refused = false

  /** Takes the mutex, or extends the lease of the token that holds it. Returns false while another token holds it. */
  enter(token: string, milliseconds: number): boolean {
    const held = this.ctx.storage.kv.get<Held>('held')
    if (held && held.token !== token && held.until > Date.now()) {
      this.#refused = true
      return false
    }
    this.ctx.storage.kv.put('held', { token, until: Date.now() + milliseconds })
    return true
  }

  /** Releases the mutex. Returns true when another token was refused meanwhile, so that the holder can look for its work. */
  leave(token: string): boolean {
    if (this.ctx.storage.kv.get<Held>('held')?.token === token) this.ctx.storage.kv.delete('held')
    const refused = this.#refused
    this.#refused = false
    return refused
  }
}
