import { DurableObject } from 'cloudflare:workers'
import { type Caller, type Granted, HostPlaces } from './host-places.ts'

/**
 * Limits the attempts in flight to one destination host; each host has its own object. The state is kept in memory only: losing it allows a
 * few attempts too many for a few seconds. Correctness does not depend on this limit but on the leases of deliveries.
 */
export class HostLimiter extends DurableObject<Env> {
  readonly #places = new HostPlaces()

  /**
   * Takes at most `wanted` places for an endpoint, for some milliseconds. Returns how many, and waiting endpoints to wake. If there are
   * fewer than wanted, a later call returns the endpoint.
   */
  acquire(token: string, caller: Caller, wanted: number, milliseconds: number): Granted {
    return this.#places.acquire(token, caller, wanted, Date.now(), milliseconds)
  }

  /** Releases the places of a token; the endpoint then waits for `wanted` places. Returns waiting endpoints to wake. */
  release(token: string, caller: Caller, wanted: number): string[] {
    return this.#places.release(token, caller, wanted, Date.now())
  }
}
