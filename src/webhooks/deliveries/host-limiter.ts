import { DurableObject } from 'cloudflare:workers'

/** Attempts in flight to one endpoint, and to one destination host across all organizations. */
const PER_ENDPOINT = 5
const PER_HOST = 10

interface Hold {
  webhook: number
  places: number
  until: number
}

/**
 * One for each destination host: how many attempts may be in flight to it. Kept in memory: it is there as long as it is asked, and what
 * it forgets are attempts of a few seconds. Correctness rests on the leases of deliveries, not on this.
 */
export class HostLimiter extends DurableObject<Env> {
  #holds = new Map<string, Hold>()
  /** Endpoints that were sent away, to be called again when there is room. */
  #sentAway = new Set<number>()

  /** Takes up to so many places for an endpoint; 0 when there is none, and whoever leaves next calls for it. */
  enter(token: string, webhook: number, wanted: number, milliseconds: number): number {
    const now = Date.now()
    for (const [other, { until }] of this.#holds) if (until <= now) this.#holds.delete(other)
    const places = Math.min(wanted, PER_ENDPOINT - this.#taken(webhook), PER_HOST - this.#taken())
    if (places <= 0) {
      this.#sentAway.add(webhook)
      return 0
    }
    this.#sentAway.delete(webhook)
    this.#holds.set(token, { webhook, places, until: now + milliseconds })
    return places
  }

  /** Gives the places back; answers which endpoints were sent away meanwhile, as many as there is room for. */
  leave(token: string): number[] {
    this.#holds.delete(token)
    const called = [...this.#sentAway].slice(0, PER_HOST - this.#taken())
    for (const webhook of called) this.#sentAway.delete(webhook)
    return called
  }

  #taken(webhook?: number): number {
    let taken = 0
    for (const hold of this.#holds.values()) if (webhook === undefined || hold.webhook === webhook) taken += hold.places
    return taken
  }
}
