import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Caller, HostPermits } from '../../../src/delivery/hosts/host-permits.ts'
import { randomOf } from '../../support/random.ts'

const PER_CONSUMER = 4
const PER_ENDPOINT = 5
const PER_HOST = 10
const LEASE = 20_000

interface Endpoint extends Caller {
  due: number
}

/**
 * A host whose attempts take a second each, in virtual time. Consumers do what delivery.ts does: they take permits, attempt, release, and go
 * on while they have more; a message for an endpoint begins one.
 */
class Host {
  readonly permits = new HostPermits()
  readonly attempts: { at: number; organization_id: string; endpoint: string }[] = []
  readonly inFlight = new Map<string, number>()
  most = 0
  now = 0
  #later: { at: number; does: () => void }[] = []
  #tokens = 0
  readonly endpoints: readonly Endpoint[]
  readonly takes: () => number

  constructor(endpoints: readonly Endpoint[], takes: () => number = () => 1_000) {
    this.endpoints = endpoints
    this.takes = takes
  }

  /** A message of the queue for an endpoint. */
  wake(keys: readonly string[]): void {
    for (const key of keys) this.#do(10, () => this.#consume(this.endpoints.find((one) => one.endpoint === key)!))
  }

  #do(after: number, does: () => void): void {
    this.#later.push({ at: this.now + after, does })
  }

  #consume(endpoint: Endpoint): void {
    const { endpoint: key, organization_id } = endpoint
    const caller = { endpoint: key, organization_id }
    const token = `t${++this.#tokens}`
    if (endpoint.due === 0) {
      this.wake(this.permits.release(token, caller, 0, this.now))
      return
    }
    const { permits, next } = this.permits.acquire(token, caller, Math.min(endpoint.due, PER_CONSUMER), this.now, LEASE)
    this.wake(next)
    if (permits === 0) return
    endpoint.due -= permits
    const both = [`host`, `endpoint ${key}`, organization_id]
    for (const key of both) this.inFlight.set(key, (this.inFlight.get(key) ?? 0) + permits)
    if (this.inFlight.get('host')! > PER_HOST || this.inFlight.get(`endpoint ${key}`)! > PER_ENDPOINT) throw new Error('Too many attempts.')
    this.most = Math.max(this.most, this.inFlight.get('host')!)
    for (let n = 0; n < permits; n++) this.attempts.push({ at: this.now, organization_id, endpoint: key })
    this.#do(this.takes(), () => {
      for (const key of both) this.inFlight.set(key, this.inFlight.get(key)! - permits)
      const others = this.permits.release(token, caller, Math.min(endpoint.due, PER_CONSUMER), this.now)
      this.wake(others.filter((other) => other !== key))
      if (endpoint.due > 0) this.#consume(endpoint)
    })
  }

  /** Lets time pass until an instant, or until nothing happens any more. */
  run(until = Number.POSITIVE_INFINITY): void {
    for (let steps = 0; ; steps++) {
      if (steps > 200_000) throw new Error('It does not end.')
      this.#later.sort((a, b) => a.at - b.at)
      const [next] = this.#later
      if (!next || next.at > until) break
      this.#later.shift()
      this.now = next.at
      next.does()
    }
    if (until !== Number.POSITIVE_INFINITY) this.now = until
  }

  madeBy = (organization_id: string, from = 0, to = Number.POSITIVE_INFINITY): number =>
    this.attempts.filter((one) => one.organization_id === organization_id && one.at >= from && one.at < to).length
}

const endpointsOf = (organization_id: string, from: number, count: number, due: number): Endpoint[] =>
  Array.from({ length: count }, (_, n) => ({ organization_id, endpoint: `0.${from + n}`, due }))
const numbers = (endpoints: readonly Endpoint[]): string[] => endpoints.map(({ endpoint }) => endpoint)

describe('the permits of a host', () => {
  it('are all for an organization that is alone', () => {
    const all = endpointsOf('a', 1, 30, 4)
    const host = new Host(all)
    host.wake(numbers(all))
    host.run(500)
    expect([host.madeBy('a'), host.most]).toEqual([PER_HOST, PER_HOST])
    host.run()
    expect(host.madeBy('a')).toBe(120)
    // Ten at a time need twelve seconds; a message on its way costs a few hundredths.
    expect(host.now).toBeLessThan(13_000)
  })

  it('go to another organization as soon as they become free, although 1,000 endpoints of the first waited before it', () => {
    const hog = endpointsOf('a', 1, 1_000, 20)
    const one = endpointsOf('b', 5_000, 1, 8)
    const host = new Host([...hog, ...one])
    host.wake(numbers(hog))
    host.run(5_500)
    expect([host.madeBy('a'), host.madeBy('b')]).toEqual([60, 0])
    host.wake(numbers(one))
    host.run(6_500)
    // The first permits that become free are those of the other: as many as one consumer takes.
    expect([host.madeBy('b'), host.madeBy('a', 5_500)]).toEqual([4, 6])
    host.run(7_500)
    expect([host.madeBy('b'), host.madeBy('a', 6_500)]).toEqual([8, 6])
    host.run(10_500)
    expect(host.madeBy('a', 7_500)).toBe(30)
  })

  it('are shared half and half by two organizations, one with 1,000 endpoints and one with two', () => {
    const [hog, two] = [endpointsOf('a', 1, 1_000, 50), endpointsOf('b', 5_000, 2, 500)]
    const host = new Host([...hog, ...two])
    host.wake(numbers(hog))
    host.run(2_500)
    host.wake(numbers(two))
    host.run(4_500)
    host.run(104_500)
    // A hundred seconds, ten permits.
    const [ours, theirs] = [host.madeBy('a', 4_500), host.madeBy('b', 4_500)]
    expect(theirs).toBeGreaterThanOrEqual(490)
    expect(theirs).toBeLessThanOrEqual(510)
    expect(ours + theirs).toBeGreaterThanOrEqual(980)
  })

  it('are taken in turns by more organizations than there are permits: the same for each, whatever their endpoints', () => {
    const all = Array.from({ length: 20 }, (_, n) => endpointsOf(`org_${n}`, 1 + n * 1_000, n === 0 ? 1_000 : 1 + (n % 3), 500)).flat()
    const host = new Host(all)
    host.wake(numbers(all))
    host.run(200_500)
    const made = Array.from({ length: 20 }, (_, n) => host.madeBy(`org_${n}`, 10_500))
    // 190 seconds, ten permits, twenty organizations.
    expect(Math.min(...made)).toBeGreaterThanOrEqual(85)
    expect(Math.max(...made)).toBeLessThanOrEqual(105)
  })

  it('go to the organization that holds the fewest, whoever asked first; between equals, to the one that has waited longer for its turn', () => {
    const permits = new HostPermits()
    const of = (organization_id: string, webhook: number): Caller => ({ endpoint: `0.${webhook}`, organization_id })
    for (const [webhook, wanted] of [4, 4, 2].entries()) permits.acquire(`${webhook}`, of('a', webhook), wanted, 0, LEASE)
    expect(permits.acquire('more', of('a', 3), 4, 0, LEASE).permits).toBe(0)
    expect(permits.acquire('b', of('b', 11), 2, 0, LEASE).permits).toBe(0)
    expect(permits.acquire('c', of('c', 21), 1, 0, LEASE).permits).toBe(0)
    // Two become free: a holds eight, b and c hold none.
    expect(permits.release('2', of('a', 2), 0, 1)).toEqual(['0.11', '0.21'])
    expect(permits.acquire('b', of('b', 11), 2, 2, LEASE).permits).toBe(1)
    expect(permits.acquire('c', of('c', 21), 1, 2, LEASE).permits).toBe(1)
    // Four more: a holds four, and b, which waits for one more, holds one.
    expect(permits.release('0', of('a', 0), 0, 3)).toEqual(['0.11', '0.3'])
    expect(permits.acquire('b2', of('b', 11), 1, 4, LEASE).permits).toBe(1)
    expect(permits.acquire('more', of('a', 3), 4, 4, LEASE).permits).toBe(3)
  })

  it('that are kept for an endpoint that does not come, and those of one that never left, are free again after a time', () => {
    const permits = new HostPermits()
    const of = (webhook: number): Caller => ({ endpoint: `0.${webhook}`, organization_id: `org_${webhook}` })
    expect(permits.acquire('1', of(1), 4, 0, LEASE).permits).toBe(4)
    expect(permits.acquire('2', of(2), 4, 0, LEASE).permits).toBe(4)
    expect(permits.acquire('3', of(3), 2, 0, LEASE).permits).toBe(2)
    expect(permits.acquire('4', of(4), 1, 0, LEASE).permits).toBe(0)
    expect(permits.acquire('5', of(5), 1, 0, LEASE).permits).toBe(0)
    expect(permits.release('3', of(3), 0, 1_000)).toEqual(['0.4', '0.5'])
    // Both permits are kept for ten seconds.
    expect(permits.acquire('6', of(6), 2, 10_999, LEASE)).toEqual({ permits: 0, next: [] })
    expect(permits.acquire('6', of(6), 2, 11_000, LEASE)).toEqual({ permits: 2, next: [] })
    // The others never left; their leases end.
    expect(permits.acquire('7', of(7), 4, 19_999, LEASE)).toEqual({ permits: 0, next: [] })
    expect(permits.acquire('7', of(7), 4, 20_000, LEASE)).toEqual({ permits: 4, next: [] })
    expect(permits.release('6', of(6), 0, 20_001)).toEqual([])
  })

  it('are never more than there are, whoever asks when, and everything is attempted without a sweep', () => {
    const worlds = fc.record({
      seed: fc.integer(),
      organizations: fc.array(fc.array(fc.integer({ min: 1, max: 15 }), { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 6 }),
      copies: fc.integer({ min: 1, max: 3 }),
    })
    fc.assert(
      fc.property(worlds, ({ seed, organizations, copies }) => {
        const random = randomOf(seed)
        const all = organizations.flatMap((dues, n) =>
          dues.map((due, m) => ({ organization_id: `org_${n}`, endpoint: `0.${1 + n * 10 + m}`, due })),
        )
        const total = all.reduce((sum, { due }) => sum + due, 0)
        const host = new Host(all, () => 1 + Math.floor(random() * 2_000))
        for (let n = 0; n < copies; n++) host.wake(numbers(all).sort(() => random() - 0.5))
        host.run()
        expect(host.attempts.length).toBe(total)
        expect(host.most).toBeLessThanOrEqual(PER_HOST)
      }),
      { numRuns: 300, seed: 5 },
    )
  })
})
