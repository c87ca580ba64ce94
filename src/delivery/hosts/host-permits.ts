/** Limits on concurrent attempts: to one endpoint, and to one host over all organizations. */
const PER_ENDPOINT = 5
const PER_HOST = 10
/** How long permits are kept for an endpoint that was called. */
const CALL_MS = 10_000

/** Who asks for permits. */
export interface Caller {
  /** The key of the endpoint. */
  endpoint: string
  organization_id: string
}

interface Permit extends Caller {
  permits: number
  until: number
}

/** How many permits a caller got, and the endpoints to wake because permits are now kept for them. */
export interface Granted {
  permits: number
  next: string[]
}

/**
 * Divides the permits of one destination host. While permits are free, everybody gets them. Otherwise callers wait, and each permit that
 * becomes free is kept for the waiting organization that holds the fewest; between equals they take turns, and so do the endpoints of each.
 * Times are milliseconds of the real clock.
 */
export class HostPermits {
  /** By token: permits of attempts under way. */
  readonly #taken = new Map<string, Permit>()
  /** By endpoint: permits that are kept until it takes them. */
  readonly #kept = new Map<string, Permit>()
  /** By organization, in the order of their turns: its endpoints, in the order of theirs, with how many permits each waits for. */
  readonly #waiting = new Map<string, Map<string, number>>()

  /** Takes at most `wanted` permits for an endpoint until they are released or the lease ends. For the rest it waits. */
  acquire(token: string, caller: Caller, wanted: number, now: number, lease: number): Granted {
    this.#expire(now)
    this.#wait(caller, wanted - (this.#kept.get(caller.endpoint)?.permits ?? 0))
    const next = this.#handOut(now)
    const kept = this.#kept.get(caller.endpoint)
    if (!kept) return { permits: 0, next }
    const permits = Math.min(kept.permits, wanted)
    this.#kept.delete(caller.endpoint)
    this.#taken.set(token, { ...caller, permits, until: now + lease })
    return { permits, next: [...next, ...this.#handOut(now)].filter((endpoint) => endpoint !== caller.endpoint) }
  }

  /** Releases the permits of a token, if it has any. The endpoint then waits for `wanted` permits. Returns the endpoints to wake. */
  release(token: string, caller: Caller, wanted: number, now: number): string[] {
    this.#taken.delete(token)
    this.#expire(now)
    if (wanted === 0) this.#kept.delete(caller.endpoint)
    this.#wait(caller, wanted - (this.#kept.get(caller.endpoint)?.permits ?? 0))
    return this.#handOut(now)
  }

  #expire(now: number): void {
    for (const all of [this.#taken, this.#kept] as Map<unknown, Permit>[])
      for (const [key, { until }] of all) if (until <= now) all.delete(key)
  }

  /** Sets how many permits an endpoint waits for. Its turn stays the same. */
  #wait({ endpoint, organization_id }: Caller, wanted: number): void {
    const endpoints = this.#waiting.get(organization_id) ?? new Map<string, number>()
    if (wanted > 0) endpoints.set(endpoint, wanted)
    else endpoints.delete(endpoint)
    if (endpoints.size === 0) this.#waiting.delete(organization_id)
    else this.#waiting.set(organization_id, endpoints)
  }

  /** Keeps the free permits for those that wait. Returns the endpoints for which none was kept before. */
  #handOut(now: number): string[] {
    const called: string[] = []
    for (let free = PER_HOST - this.#counted(() => true); free > 0; free--) {
      const caller = this.#nextCaller()
      if (!caller) break
      const kept = this.#kept.get(caller.endpoint)
      if (!kept) called.push(caller.endpoint)
      this.#kept.set(caller.endpoint, { ...caller, permits: (kept?.permits ?? 0) + 1, until: now + CALL_MS })
    }
    return called
  }

  /** Takes the endpoint whose turn it is off the list, for one permit; it and its organization go to the end. */
  #nextCaller(): Caller | undefined {
    let next: Caller | undefined
    let fewest = Number.POSITIVE_INFINITY
    for (const [organization_id, endpoints] of this.#waiting) {
      const counted = this.#counted((one) => one.organization_id === organization_id)
      if (counted >= fewest) continue
      for (const endpoint of endpoints.keys()) {
        if (this.#counted((one) => one.endpoint === endpoint) >= PER_ENDPOINT) continue
        next = { organization_id, endpoint }
        fewest = counted
        break
      }
    }
    if (!next) return undefined
    const endpoints = this.#waiting.get(next.organization_id)!
    const wanted = endpoints.get(next.endpoint)!
    endpoints.delete(next.endpoint)
    this.#waiting.delete(next.organization_id)
    if (wanted > 1) endpoints.set(next.endpoint, wanted - 1)
    if (endpoints.size > 0) this.#waiting.set(next.organization_id, endpoints)
    return next
  }

  /** Number of permits that are taken by or kept for some callers. */
  #counted(isOne: (counted: Permit) => boolean): number {
    let permits = 0
    for (const all of [this.#taken, this.#kept]) for (const counted of all.values()) if (isOne(counted)) permits += counted.permits
    return permits
  }
}
