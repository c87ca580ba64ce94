import { DurableObject } from 'cloudflare:workers'

/** Limits on concurrent attempts: to one endpoint, and to one host over all organizations. */
const PER_ENDPOINT = 5
const PER_HOST = 10

/** Places that a consumer has taken for an endpoint, until it releases them or their lease ends. */
interface Reservation {
  webhook: number
  places: number
  until: number
}

/**
 * Limits the attempts in flight to one destination host; each host has its own object. The state is kept in memory only: losing it allows a
 * few attempts too many for a few seconds. Correctness does not depend on this limit but on the leases of deliveries.
 */
export class HostLimiter extends DurableObject<Env> {
  #reservations = new Map<string, Reservation>()
  /** Endpoints that got no place, in the order in which they asked. */
  #waiting = new Set<number>()

  /** Takes at most `wanted` places for an endpoint and returns how many. If it returns 0, a later release returns the endpoint. */
  acquire(token: string, webhook: number, wanted: number, milliseconds: number): number {
    const now = Date.now()
    for (const [other, { until }] of this.#reservations) if (until <= now) this.#reservations.delete(other)
    const places = Math.min(wanted, PER_ENDPOINT - this.#taken(webhook), PER_HOST - this.#taken())
    if (places <= 0) {
      this.#waiting.add(webhook)
      return 0
    }
    this.#waiting.delete(webhook)
    this.#reservations.set(token, { webhook, places, until: now + milliseconds })
    return places
  }

  /** Releases the places of a token. Returns waiting endpoints to wake, at most one for each free place. */
  release(token: string): number[] {
    this.#reservations.delete(token)
    const next = [...this.#waiting].slice(0, PER_HOST - this.#taken())
    for (const webhook of next) this.#waiting.delete(webhook)
    return next
  }

  #taken(webhook?: number): number {
    let taken = 0
    for (const one of this.#reservations.values()) if (webhook === undefined || one.webhook === webhook) taken += one.places
    return taken
  }
}
