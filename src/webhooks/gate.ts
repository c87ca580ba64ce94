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
export class Gate extends DurableObject<Env> {
  #holds = new Map<string, Hold>()
  /** Endpoints that were sent away, to be called again when there is room. */
  #sentAway = new Set<number>()

  /** Takes up to so many places for an endpoint; 0 when there is none, and whoever leaves next calls for it. */
  enter(token: string, webhook: number, wanted: number, milliseconds: number): number {
    const now = Date.now()
    for (const [other, { until }] of this.#holds) if (until <= now) this.#holds.delete(other)
    const held = [...this.#holds.values()]
    const taken = (holds: readonly Hold[]): number => holds.reduce((sum, { places }) => sum + places, 0)
    const places = Math.min(wanted, PER_ENDPOINT - taken(held.filter((hold) => hold.webhook === webhook)), PER_HOST - taken(held))
    if (places <= 0) {
      this.#sentAway.add(webhook)
      return 0
    }
    this.#holds.set(token, { webhook, places, until: now + milliseconds })
    return places
  }

  /** Keeps only so many of the places that were taken; without any, answers which endpoints were sent away meanwhile. */
  leave(token: string, places = 0): number[] {
    const hold = this.#holds.get(token)
    if (hold && places > 0) {
      hold.places = Math.min(hold.places, places)
      return []
    }
    this.#holds.delete(token)
    const sentAway = [...this.#sentAway]
    this.#sentAway.clear()
    return sentAway
  }
}
