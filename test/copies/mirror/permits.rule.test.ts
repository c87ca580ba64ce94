import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Permits } from '../../../src/copies/mirror/permits.ts'
import { runs } from '../../support/fuzz.ts'

const LEASE = 60_000

/** Messages that ask for a place again and again, as those of an isolate do, at a time of the test's choice. */
class Isolate {
  readonly places = new Permits()
  readonly leased: { key: object; organization_id: string; host: string }[] = []
  readonly waiting: { key: object; organization_id: string; host: string }[] = []
  now = 0

  come(organization_id: string, host = organization_id): object {
    const key = {}
    this.waiting.push({ key, organization_id, host })
    this.ask()
    return key
  }

  ask(): void {
    for (let isAnyTaken = true; isAnyTaken; ) {
      isAnyTaken = false
      for (const one of [...this.waiting])
        if (this.places.take(one.key, one, this.now, LEASE)) {
          this.waiting.splice(this.waiting.indexOf(one), 1)
          this.leased.push(one)
          isAnyTaken = true
        }
    }
  }

  /** A turn ends. Its connector goes to the back of the queue, and comes again. */
  end(n: number, hasFailed = false): void {
    const [{ key, organization_id, host }] = this.leased.splice(n, 1) as [Isolate['leased'][number]]
    this.places.leave(key, hasFailed)
    this.ask()
    this.come(organization_id, host)
  }

  count = (isOne: (leased: Isolate['leased'][number]) => boolean): number => this.leased.filter(isOne).length
  has = (key: object): boolean => this.leased.some((one) => one.key === key)
}

describe('the places of an isolate', () => {
  it('are four, and an organization has two of them at most: another one always finds one', () => {
    const isolate = new Isolate()
    for (let n = 0; n < 20; n++) isolate.come('slow', `host ${n}`)
    expect(isolate.leased).toHaveLength(2)
    expect(isolate.has(isolate.come('other'))).toBe(true)
    expect(isolate.has(isolate.come('third'))).toBe(true)
    expect(isolate.has(isolate.come('fourth'))).toBe(false)
    expect(isolate.leased).toHaveLength(4)
  })

  it('are taken at one host by three at most, of whatever organizations', () => {
    const isolate = new Isolate()
    for (let n = 0; n < 20; n++) isolate.come(`organization ${n}`, 'a slow host')
    expect(isolate.leased).toHaveLength(3)
    expect(isolate.has(isolate.come('other', 'a slow host'))).toBe(false)
    expect(isolate.has(isolate.come('another', 'another host'))).toBe(true)
  })

  it('go to who comes for the first time before those that had one, however many wait: at the end of the next turn', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 8 }),
        fc.integer({ min: 1, max: 3 }),
        fc.array(fc.nat(3), { maxLength: 20 }),
        (slow, each, ends) => {
          const isolate = new Isolate()
          for (let n = 0; n < slow * each; n++) isolate.come(`slow ${n % slow}`)
          // Everybody has had a turn.
          for (let n = 0; n < 2 * slow * each; n++) isolate.end(0)
          for (const n of ends) isolate.end(n % isolate.leased.length)
          const key = isolate.come('new')
          if (!isolate.has(key)) isolate.end(isolate.leased.length - 1)
          expect(isolate.has(key)).toBe(true)
        },
      ),
      { numRuns: runs(60, 3_000), examples: [[60, 1, []]] },
    )
  })

  it('are kept from those who failed last, but for two: who has not failed waits for nobody who hangs', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 4, max: 8 }),
        fc.integer({ min: 1, max: 3 }),
        fc.array(fc.nat(3), { maxLength: 30 }),
        (slow, each, ends) => {
          const isolate = new Isolate()
          isolate.come('victim', 'a host')
          for (let n = 0; n < slow * each; n++) isolate.come(`slow ${n % slow}`, 'a host')
          // Everybody who hangs has done so once: until then nobody knows it.
          isolate.end(isolate.leased.findIndex(({ organization_id }) => organization_id === 'victim'))
          const isVictim = ({ organization_id }: { organization_id: string }) => organization_id === 'victim'
          for (let n = 0; n < 3 * slow * each; n++) isolate.end(0, !isVictim(isolate.leased[0]!))
          for (const n of ends) {
            const at = n % isolate.leased.length
            isolate.end(at, !isVictim(isolate.leased[at]!))
            // It holds a place at any time: each of its turns begins when the last one has ended.
            expect(isolate.count(isVictim)).toBe(1)
            expect(isolate.leased).toHaveLength(3)
          }
          // A turn that went well ends it.
          const other = isolate.leased.findIndex((one) => !isVictim(one))
          const { organization_id } = isolate.leased[other]!
          isolate.end(other, false)
          for (let n = 0; n < 20 && isolate.count((leased) => leased.organization_id === organization_id) === 0; n++)
            isolate.end(isolate.leased.findIndex(isVictim))
          expect(isolate.count((leased) => leased.organization_id === organization_id)).toBeGreaterThan(0)
        },
      ),
      { numRuns: runs(60, 3_000) },
    )
  })

  it('are never too many, and everybody that waits has one after as many turns as wait', () => {
    const arrival = fc.record({ organization: fc.nat(5), host: fc.nat(3) })
    fc.assert(
      fc.property(
        fc.array(arrival, { minLength: 1, maxLength: 25 }),
        fc.array(fc.nat(3), { minLength: 200, maxLength: 200 }),
        fc.uniqueArray(fc.nat(5)),
        (all, ends, failing) => {
          const isolate = new Isolate()
          for (const { organization, host } of all) isolate.come(`organization ${organization}`, `host ${host}`)
          const served = new Set<string>()
          for (const n of ends) {
            for (const { organization_id } of isolate.leased) served.add(organization_id)
            for (const { organization_id, host } of isolate.leased) {
              expect(isolate.count((leased) => leased.organization_id === organization_id)).toBeLessThanOrEqual(2)
              expect(isolate.count((leased) => leased.host === host)).toBeLessThanOrEqual(3)
            }
            expect(isolate.leased.length).toBeLessThanOrEqual(4)
            expect(isolate.leased.length).toBeGreaterThan(0)
            const at = n % isolate.leased.length
            isolate.end(
              at,
              failing.some((one) => isolate.leased[at]!.organization_id === `organization ${one}`),
            )
          }
          expect(served.size).toBe(new Set(all.map(({ organization }) => organization)).size)
        },
      ),
      { numRuns: runs(30, 2_000) },
    )
  })

  it('are free again when who holds one, or waits for one, was ended from outside', () => {
    const isolate = new Isolate()
    for (const name of ['a', 'b', 'c', 'd']) isolate.come(name)
    const dead = isolate.come('e')
    isolate.waiting.length = 0
    const living = isolate.come('f')
    isolate.places.leave(isolate.leased[0]!.key)
    isolate.ask()
    // The place waits for the one that came first, until it is known that it has ended.
    expect([isolate.has(dead), isolate.has(living)]).toEqual([false, false])
    isolate.now = 999
    isolate.ask()
    expect(isolate.has(living)).toBe(false)
    isolate.now = 1_000
    isolate.ask()
    expect(isolate.has(living)).toBe(true)
    const late = isolate.come('g')
    expect(isolate.has(late)).toBe(false)
    isolate.now = LEASE
    isolate.ask()
    expect(isolate.has(late)).toBe(true)
  })
})
