import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FairShares } from '../../../src/delivery/relay/fair-shares.ts'

/** Takes pages until nothing is left; returns the entities of each page, one for each event. */
function pagesOf(fairShares: FairShares, left: Map<number, number>, size: number): number[][] {
  const pages: number[][] = []
  while (!fairShares.isEmpty) {
    const page: number[] = []
    for (const part of fairShares.next(size)) {
      const read = Math.min(part.count, left.get(part.entity)!)
      left.set(part.entity, left.get(part.entity)! - read)
      page.push(...Array<number>(read).fill(part.entity))
      fairShares.read(
        part,
        Array.from({ length: read }, (_, n) => `${n}`),
        -1,
      )
    }
    pages.push(page)
    if (pages.length > 10_000) throw new Error('The turns do not end.')
  }
  return pages
}

describe('turns', () => {
  it('give an organization with one event its place in the first page, however many events or RFCs another has', () => {
    for (const first of [0, 1, 5_000, 999_999]) {
      const fairShares = new FairShares(first)
      const left = new Map<number, number>()
      for (let entity = 1; entity <= 5_000; entity++) {
        fairShares.add(entity, ['org_a'])
        left.set(entity, 3)
      }
      fairShares.add(5_001, ['org_b'])
      left.set(5_001, 1)
      fairShares.add(5_002, ['org_c'])
      left.set(5_002, 10_000)
      const pages = pagesOf(fairShares, left, 100)
      expect(pages[0]).toContain(5_001)
      // As long as all have events, each has its part of the page.
      const parts = pages.slice(1, 50).map((page) => page.filter((entity) => entity === 5_002).length)
      expect(new Set(parts)).toEqual(new Set([50]))
    }
  })

  it('are the whole page for an organization that is alone, and go round its RFCs', () => {
    const fairShares = new FairShares(0)
    fairShares.add(1, ['org_a'])
    expect(fairShares.next(100)).toEqual([{ entity: 1, count: 100, after: '' }])
    for (const entity of [2, 3]) fairShares.add(entity, ['org_a'])
    expect(fairShares.next(100).map(({ count }) => count)).toEqual([34, 33, 33])
  })

  it('begin with another organization on each page, and go on where the last page ended when there are more than it has places', () => {
    const fairShares = new FairShares(0)
    for (let entity = 1; entity <= 3; entity++) fairShares.add(entity, [`org_${entity}`])
    expect([1, 2, 3].map(() => fairShares.next(10)[0]!.entity)).toEqual([1, 2, 3])
    const many = new FairShares(0)
    for (let entity = 1; entity <= 250; entity++) many.add(entity, [`org_${entity}`])
    const served = [1, 2, 3].flatMap(() => many.next(100).map(({ entity }) => entity))
    expect(served).toEqual([...Array.from({ length: 250 }, (_, n) => n + 1), ...Array.from({ length: 50 }, (_, n) => n + 1)])
  })

  it('go on after what was read, and return to the first event that is unfinished', () => {
    const fairShares = new FairShares(0)
    fairShares.add(1, ['org_a'])
    const [part] = fairShares.next(3)
    fairShares.read(part!, ['a', 'b', 'c'], -1)
    expect(fairShares.next(3)).toEqual([{ entity: 1, count: 3, after: 'c' }])
    fairShares.read({ ...part!, after: 'c' }, ['d', 'e', 'f'], 1)
    expect(fairShares.next(3)).toEqual([{ entity: 1, count: 3, after: 'd' }])
    fairShares.read({ ...part!, after: 'd' }, ['e'], 0)
    expect(fairShares.next(3)).toEqual([{ entity: 1, count: 3, after: 'd' }])
    fairShares.read({ ...part!, after: 'd' }, ['e'], -1)
    expect([fairShares.isEmpty, fairShares.next(3)]).toEqual([true, []])
  })

  it('of any organizations and RFCs serve every event once, and nobody waits for a page that it has a right to', () => {
    const worlds = fc.record({
      first: fc.nat(1_000),
      size: fc.integer({ min: 1, max: 12 }),
      rfcs: fc.array(fc.record({ events: fc.integer({ min: 1, max: 20 }), organizations: fc.uniqueArray(fc.nat(6), { maxLength: 4 }) }), {
        minLength: 1,
        maxLength: 12,
      }),
    })
    fc.assert(
      fc.property(worlds, ({ first, size, rfcs }) => {
        const fairShares = new FairShares(first)
        const left = new Map(rfcs.map(({ events }, entity) => [entity, events]))
        for (const [entity, { organizations }] of rfcs.entries()) fairShares.add(entity, organizations.map(String))
        const pages = pagesOf(fairShares, left, size)
        const served = pages.flat()
        for (const [entity, { events }] of rfcs.entries()) expect(served.filter((one) => one === entity).length).toBe(events)
        for (const page of pages) expect(page.length).toBeLessThanOrEqual(size)
        // An organization is served again at the latest when each other one has had a turn.
        const takers = new Set(rfcs.flatMap(({ organizations }) => (organizations.length > 0 ? organizations : [-1])))
        const pagesOfRound = Math.ceil(takers.size / size) + 1
        for (const taker of takers) {
          const own = rfcs.flatMap(({ organizations }, entity) =>
            (taker === -1 ? organizations.length === 0 : organizations.includes(taker)) ? [entity] : [],
          )
          const places = pages.flatMap((page, n) => (page.some((entity) => own.includes(entity)) ? [n] : []))
          expect(places[0]).toBeLessThan(pagesOfRound)
        }
      }),
      { numRuns: 300, seed: 13 },
    )
  })
})
