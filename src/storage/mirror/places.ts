/**
 * How many connectors are copied to at a time in an isolate: in all, because each has some megabytes in memory; of one organization; and at
 * one host. What is slow leaves room for others.
 */
const PLACES = 4
const PER_ORGANIZATION = 2
const PER_HOST = 3
/** Who has not asked again within this time has ended. */
const ASKED_MS = 1_000
/** Organizations of which it is remembered when they last had a place. */
const REMEMBERED = 1_000

/** Who asks for a place. */
export interface Claimant {
  organization_id: string
  /** The endpoint that a customer has set, or else the provider. */
  host: string
}

/**
 * Divides the places of an isolate. A free place goes to the waiting organization that holds the fewest; between equals, to the one that had
 * its last place longest ago. So one that comes for the first time gets the next place that is free, however many others wait. Times are
 * milliseconds of a clock that only goes forward.
 */
export class Places {
  readonly #held = new Map<object, Claimant & { until: number }>()
  /** In the order in which they came. */
  readonly #waiting = new Map<object, Claimant & { until: number }>()
  /** By organization, the number of the last place that it had. */
  readonly #last = new Map<string, number>()
  #taken = 0

  /** Takes a place until `leave`, or for so many milliseconds. Returns false when it is not the claimant's turn: it has to ask again. */
  take(key: object, claimant: Claimant, now: number, milliseconds: number): boolean {
    for (const [one, { until }] of this.#held) if (until <= now) this.#held.delete(one)
    this.#waiting.set(key, { ...claimant, until: now + ASKED_MS })
    if (this.#held.size >= PLACES || this.#next(now) !== key) return false
    this.#waiting.delete(key)
    this.#held.set(key, { ...claimant, until: now + milliseconds })
    this.#last.delete(claimant.organization_id)
    this.#last.set(claimant.organization_id, ++this.#taken)
    if (this.#last.size > REMEMBERED) this.#last.delete(this.#last.keys().next().value!)
    return true
  }

  /** Gives the place back, or waits no longer. */
  leave(key: object): void {
    this.#held.delete(key)
    this.#waiting.delete(key)
  }

  #next(now: number): object | undefined {
    let next: object | undefined
    let least = Number.POSITIVE_INFINITY
    for (const [key, { organization_id, host, until }] of this.#waiting) {
      if (until <= now && this.#waiting.delete(key)) continue
      const own = this.#count((held) => held.organization_id === organization_id)
      if (own >= PER_ORGANIZATION || this.#count((held) => held.host === host) >= PER_HOST) continue
      const rank = own * 1e12 + (this.#last.get(organization_id) ?? 0)
      if (rank >= least) continue
      next = key
      least = rank
    }
    return next
  }

  #count(isOne: (held: Claimant) => boolean): number {
    return [...this.#held.values()].filter(isOne).length
  }
}
