import { DurableObject } from 'cloudflare:workers'
import { type Caller, type Granted, HostPermits } from './host-permits.ts'

/**
 * Limits the attempts in flight to one destination host; each host has its own object. The state is kept in memory only: losing it allows a
 * few attempts too many for a few seconds. Correctness does not depend on this limit but on the leases of deliveries.
 */
export class HostLimiter extends DurableObject<Env> {
  readonly #permits = new HostPermits()

  /**
   * Takes at most `wanted` permits for an endpoint, for some milliseconds. Returns how many, and waiting endpoints to wake. If there are
   * fewer than wanted, a later call returns the endpoint.
   */
  acquire(token: string, caller: Caller, wanted: number, milliseconds: number): Granted {
    return this.#permits.acquire(token, caller, wanted, Date.now(), milliseconds)
  }

  /** Releases the permits of a token; the endpoint then waits for `wanted` permits. Returns waiting endpoints to wake. */
  release(token: string, caller: Caller, wanted: number): string[] {
    return this.#permits.release(token, caller, wanted, Date.now())
  }
}
