/** RFCs that wait at most. The messages of the others come in the order in which they were sent. */
const MOST = 200_000

/** An RFC of which jobs are due at a time, in milliseconds, and the organizations that wait for them. */
export interface WaitingRfc {
  rfc: string
  organizations: readonly string[]
  due_at: number
}

/**
 * The order in which organizations have their RFCs worked on: in turns, however many RFCs each has waiting, each of them in the order in which
 * they came.
 */
export class Turns {
  /** By organization, in the order of their turns: its RFCs, with the time from which each is due. */
  readonly #waiting = new Map<string, Map<string, number>>()
  #count = 0

  /** An RFC that waits already keeps its place, and is due at the earlier time. */
  enter({ rfc, organizations, due_at }: WaitingRfc): void {
    for (const organization of organizations) {
      const rfcs = this.#waiting.get(organization) ?? new Map<string, number>()
      const before = rfcs.get(rfc)
      if (before === undefined && this.#count >= MOST) return
      if (before === undefined) this.#count++
      rfcs.set(rfc, Math.min(due_at, before ?? due_at))
      this.#waiting.set(organization, rfcs)
    }
  }

  /**
   * Takes the RFC that is to be worked on when there is a message for `own`: that of the organization whose turn it is, and `own` at the
   * latest when all others had a turn; at once when it does not wait, because it had its turn or nothing is known of it.
   */
  next(own: string, now: number): string {
    if (![...this.#waiting.values()].some((rfcs) => rfcs.has(own))) return own
    for (const [organization, rfcs] of this.#waiting) {
      const rfc = rfcs.has(own) ? own : firstDue(rfcs, now)
      if (rfc === undefined) continue
      this.#take(rfc)
      this.#toEnd(organization)
      return rfc
    }
    return own
  }

  /** One turn serves all organizations that wait for the RFC. */
  #take(rfc: string): void {
    for (const [organization, rfcs] of this.#waiting) {
      if (!rfcs.delete(rfc)) continue
      this.#count--
      if (rfcs.size === 0) this.#waiting.delete(organization)
    }
  }

  #toEnd(organization: string): void {
    const rfcs = this.#waiting.get(organization)
    if (!rfcs) return
    this.#waiting.delete(organization)
    this.#waiting.set(organization, rfcs)
  }
}

function firstDue(rfcs: ReadonlyMap<string, number>, now: number): string | undefined {
  for (const [rfc, due_at] of rfcs) if (due_at <= now) return rfc
  return undefined
}
