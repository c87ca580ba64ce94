/** Limits on concurrent attempts: to one endpoint, and to one host over all organizations. */
const PER_ENDPOINT = 5
const PER_HOST = 10
/** How long places are kept for an endpoint that was called. */
const CALL_MS = 10_000

/** Who asks for places. */
export interface Caller {
  webhook: number
  organization_id: string
}

interface Held extends Caller {
  places: number
  until: number
}

/** How many places a caller got, and the endpoints to wake because places are now kept for them. */
export interface Granted {
  places: number
  next: number[]
}

/**
 * Divides the places of one destination host. While places are free, everybody gets them. Otherwise callers wait, and each place that becomes
 * free is kept for the waiting organization that holds the fewest; between equals they take turns, and so do the endpoints of each.
 * Times are milliseconds of the real clock.
 */
export class HostPlaces {
  /** By token: places of attempts under way. */
  readonly #taken = new Map<string, Held>()
  /** By endpoint: places that are kept until it takes them. */
  readonly #kept = new Map<number, Held>()
  /** By organization, in the order of their turns: its endpoints, in the order of theirs, with how many places each waits for. */
  readonly #waiting = new Map<string, Map<number, number>>()

  /** Takes at most `wanted` places for an endpoint until they are released or the lease ends. For the rest it waits. */
  acquire(token: string, caller: Caller, wanted: number, now: number, lease: number): Granted {
    this.#expire(now)
    this.#wait(caller, wanted - (this.#kept.get(caller.webhook)?.places ?? 0))
    const next = this.#handOut(now)
    const kept = this.#kept.get(caller.webhook)
    if (!kept) return { places: 0, next }
    const places = Math.min(kept.places, wanted)
    this.#kept.delete(caller.webhook)
    this.#taken.set(token, { ...caller, places, until: now + lease })
    return { places, next: [...next, ...this.#handOut(now)].filter((webhook) => webhook !== caller.webhook) }
  }

  /** Releases the places of a token, if it has any. The endpoint then waits for `wanted` places. Returns the endpoints to wake. */
  release(token: string, caller: Caller, wanted: number, now: number): number[] {
    this.#taken.delete(token)
    this.#expire(now)
    if (wanted === 0) this.#kept.delete(caller.webhook)
    this.#wait(caller, wanted - (this.#kept.get(caller.webhook)?.places ?? 0))
    return this.#handOut(now)
  }

  #expire(now: number): void {
    for (const all of [this.#taken, this.#kept] as Map<unknown, Held>[])
      for (const [key, { until }] of all) if (until <= now) all.delete(key)
  }

  /** Sets how many places an endpoint waits for. Its turn stays the same. */
  #wait({ webhook, organization_id }: Caller, wanted: number): void {
    const endpoints = this.#waiting.get(organization_id) ?? new Map<number, number>()
    if (wanted > 0) endpoints.set(webhook, wanted)
    else endpoints.delete(webhook)
    if (endpoints.size === 0) this.#waiting.delete(organization_id)
    else this.#waiting.set(organization_id, endpoints)
  }

  /** Keeps the free places for those that wait. Returns the endpoints for which none was kept before. */
  #handOut(now: number): number[] {
    const called: number[] = []
    for (let free = PER_HOST - this.#held(() => true); free > 0; free--) {
      const caller = this.#nextCaller()
      if (!caller) break
      const kept = this.#kept.get(caller.webhook)
      if (!kept) called.push(caller.webhook)
      this.#kept.set(caller.webhook, { ...caller, places: (kept?.places ?? 0) + 1, until: now + CALL_MS })
    }
    return called
  }

  /** Takes the endpoint whose turn it is off the list, for one place; it and its organization go to the end. */
  #nextCaller(): Caller | undefined {
    let next: Caller | undefined
    let fewest = Number.POSITIVE_INFINITY
    for (const [organization_id, endpoints] of this.#waiting) {
      const held = this.#held((one) => one.organization_id === organization_id)
      if (held >= fewest) continue
      for (const webhook of endpoints.keys()) {
        if (this.#held((one) => one.webhook === webhook) >= PER_ENDPOINT) continue
        next = { organization_id, webhook }
        fewest = held
        break
      }
    }
    if (!next) return undefined
    const endpoints = this.#waiting.get(next.organization_id)!
    const wanted = endpoints.get(next.webhook)!
    endpoints.delete(next.webhook)
    this.#waiting.delete(next.organization_id)
    if (wanted > 1) endpoints.set(next.webhook, wanted - 1)
    if (endpoints.size > 0) this.#waiting.set(next.organization_id, endpoints)
    return next
  }

  /** Number of places that are taken by or kept for some callers. */
  #held(isOne: (held: Held) => boolean): number {
    let places = 0
    for (const all of [this.#taken, this.#kept]) for (const held of all.values()) if (isOne(held)) places += held.places
    return places
  }
}
