import type { DestinationError } from '../drivers/port.ts'

const MINUTE = 60_000
/** Waits after the first four failures in a row. After the fifth, nothing is sent until the customer resumes the connector. */
const WAITS = [1, 5, 15, 60].map((minutes) => minutes * MINUTE)
const LONGEST_WAIT = 24 * 60 * MINUTE

/** Milliseconds to wait after so many failures in a row; null when the connector ends in an error. */
export const waitAfter = (failures: number, { retry_after_seconds }: Pick<DestinationError, 'retry_after_seconds'>): number | null => {
  const wait = WAITS[failures - 1]
  return wait === undefined ? null : Math.min(Math.max(wait, (retry_after_seconds ?? 0) * 1_000), LONGEST_WAIT)
}

/**
 * How many connectors are copied to at a time in an isolate: in all, because each has some megabytes in memory; of organizations whose last
 * turn failed, perhaps slowly; of one organization; and at one host. Slow ones leave room for others.
 */
const PERMITS = 4
const AFTER_FAILURE = 2
const PER_ORGANIZATION = 2
const PER_HOST = 3
/** A claimant that has not asked again within this time has ended. */
const ASKED_MS = 1_000
/** Organizations whose last permit is remembered. */
const REMEMBERED = 1_000

/** Who asks for a permit. */
export interface Claimant {
  organization_id: string
  /** The endpoint that a customer has set, or else the provider. */
  host: string
}

/**
 * Divides the permits of an isolate. A free permit goes to the waiting organization that holds the fewest; between equals, to the one that
 * had its last permit longest ago. So a new one gets the next free permit, however many others wait. Two permits are kept for organizations
 * whose last turn did not fail, one of them at any host. Times are milliseconds of a clock that only goes forward.
 */
export class Permits {
  readonly #leased = new Map<object, Claimant & { until: number }>()
  /** In the order in which they came. */
  readonly #waiting = new Map<object, Claimant & { until: number }>()
  /** By organization, the number of the last permit that it had. */
  readonly #last = new Map<string, number>()
  readonly #failed = new Set<string>()
  #taken = 0

  /** Takes a permit until `leave`, or for so many milliseconds. Returns false when it is not the claimant's turn: it has to ask again. */
  take(key: object, claimant: Claimant, now: number, milliseconds: number): boolean {
    for (const [one, { until }] of this.#leased) if (until <= now) this.#leased.delete(one)
    this.#waiting.set(key, { ...claimant, until: now + ASKED_MS })
    if (this.#leased.size >= PERMITS || this.#next(now) !== key) return false
    this.#waiting.delete(key)
    this.#leased.set(key, { ...claimant, until: now + milliseconds })
    this.#last.delete(claimant.organization_id)
    this.#last.set(claimant.organization_id, ++this.#taken)
    if (this.#last.size > REMEMBERED) this.#forget(this.#last.keys().next().value!)
    return true
  }

  /** Gives the permit back after a turn, failed or not, or stops waiting. */
  leave(key: object, hasFailed = false): void {
    const leased = this.#leased.get(key)
    if (leased && hasFailed) this.#failed.add(leased.organization_id)
    else if (leased) this.#failed.delete(leased.organization_id)
    this.#leased.delete(key)
    this.#waiting.delete(key)
  }

  #forget(organization_id: string): void {
    this.#last.delete(organization_id)
    this.#failed.delete(organization_id)
  }

  #next(now: number): object | undefined {
    let next: object | undefined
    let least = Number.POSITIVE_INFINITY
    const hasFailed = (one: Claimant): boolean => this.#failed.has(one.organization_id)
    const isKept = this.#count(hasFailed) >= AFTER_FAILURE
    for (const [key, one] of this.#waiting) {
      const { organization_id, host, until } = one
      if ((until <= now && this.#waiting.delete(key)) || (isKept && hasFailed(one))) continue
      const own = this.#count((leased) => leased.organization_id === organization_id)
      if (own >= PER_ORGANIZATION || this.#count((leased) => leased.host === host) >= PER_HOST) continue
      const rank = own * 1e12 + (this.#last.get(organization_id) ?? 0)
      if (rank >= least) continue
      next = key
      least = rank
    }
    return next
  }

  #count(isOne: (leased: Claimant) => boolean): number {
    return [...this.#leased.values()].filter(isOne).length
  }
}
