import { DurableObject } from 'cloudflare:workers'

interface Held {
  token: string
  until: number
}

/**
 * One for each RFC: whoever holds it may log in, so that the authority sees one login of an RFC at a time. A courtesy to the
 * authority, not what correctness rests on: jobs are claimed under leases of their own. Times are of the real clock.
 */
export class Mutex extends DurableObject<Env> {
  /** Somebody came while the lane was held: the holder looks once more before it goes. */
  #calledAgain = false

  /** Takes the lane, or prolongs the hold that the token has. */
  enter(token: string, milliseconds: number): boolean {
    const held = this.ctx.storage.kv.get<Held>('held')
    if (held && held.token !== token && held.until > Date.now()) {
      this.#calledAgain = true
      return false
    }
    this.ctx.storage.kv.put('held', { token, until: Date.now() + milliseconds })
    return true
  }

  /** Gives the lane back. True when somebody came meanwhile and was sent away. */
  leave(token: string): boolean {
    if (this.ctx.storage.kv.get<Held>('held')?.token === token) this.ctx.storage.kv.delete('held')
    const again = this.#calledAgain
    this.#calledAgain = false
    return again
  }
}
