import { applyD1Migrations, env } from 'cloudflare:test'
import fc from 'fast-check'
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Cfdi } from '../../../src/cfdi/contract.ts'
import { getCfdi } from '../../../src/cfdi/detail/detail.ts'
import { CfdiSearch } from '../../../src/cfdi/search/contract.ts'
import { searchCfdi } from '../../../src/cfdi/search/search.ts'
import type { Ctx } from '../../../src/platform/context.ts'
import { parseGrantedRanges, reachedAt, visibleRangesOf } from '../../../src/taxpayers/visibility/granted-ranges.ts'
import { insertCfdi, type Row, rowOf } from '../../cfdi/support/ledger.ts'
import { cfdiOf, later, losingMessages, NOW, subscriber, sweep, work } from '../../downloads/support/downloads.ts'
import { contextOf, FISCAL_ENTITY, reaching } from '../../support/context.ts'
import { runs } from '../../support/fuzz.ts'
import { grantedRangesOf, type Kept } from '../../support/granted-ranges.ts'
import { randomOf, uuidFrom } from '../../support/random.ts'
import { freshRfc } from '../../support/tenants.ts'

const DAY = 86_400_000
const BEGIN = Date.parse('2026-01-01T00:00:00Z')
const DAYS = 150
const dayOf = (instant: number): string => new Date(instant).toISOString().slice(0, 10)

/** Runs at any time and back to any day; many of one day and of round hours, where the bounds meet. */
const anyRun = fc
  .tuple(fc.integer({ min: 0, max: DAYS * 24 }), fc.integer({ min: 0, max: 90 }), fc.constantFrom(0, 1, 400, 1_799_600))
  .map(([hour, back, more]): Kept => [BEGIN + hour * 3_600_000 + more, dayOf(BEGIN + hour * 3_600_000 - back * DAY)])
/** Runs every few days that reach equally far back. */
const regularRuns = fc
  .tuple(
    fc.integer({ min: 0, max: DAYS }),
    fc.integer({ min: 1, max: 50 }),
    fc.integer({ min: 0, max: 60 }),
    fc.integer({ min: 0, max: 23 }),
  )
  .map(([first, every, back, hour]) =>
    Array.from({ length: Math.ceil((DAYS - first) / every) }, (_, n): Kept => {
      const at = BEGIN + (first + n * every) * DAY + hour * 3_600_000
      return [at, dayOf(at - back * DAY)]
    }),
  )
const anyRuns = fc.oneof(
  fc.array(anyRun, { maxLength: 12 }),
  regularRuns,
  fc.tuple(regularRuns, fc.array(anyRun, { maxLength: 3 })).map((all) => all.flat()),
)

type Dated = Pick<Row, 'fecha' | 'issued_at'>
const within = ({ fecha, issued_at }: Dated, [at, floor]: Kept): boolean =>
  at >= issued_at * 1_000 && floor.slice(0, 7) <= fecha.slice(0, 7)
/** When a run first reached a document: what granted and visible ranges say, found in the plainest way. */
const firstOf = (document: Dated, kept: readonly Kept[]): number =>
  Math.min(...kept.filter((run) => within(document, run)).map(([at]) => at))

const anyDocument = fc
  .tuple(fc.integer({ min: -40 * 86_400, max: DAYS * 86_400 }), fc.constantFrom(-300, -360, -420, -480))
  .map(([seconds, offset]) => ({
    fecha: new Date(BEGIN + seconds * 1_000).toISOString().slice(0, 19),
    issued_at: BEGIN / 1_000 + seconds - offset * 60,
  }))

describe('granted ranges', () => {
  it('tell when a run first reached a document', () => {
    fc.assert(
      fc.property(anyRuns, anyDocument, (kept, document) => {
        expect(reachedAt(parseGrantedRanges(grantedRangesOf(kept)), document) ?? Number.POSITIVE_INFINITY).toBe(firstOf(document, kept))
      }),
      { numRuns: runs(100, 5_000) },
    )
  })

  it('make visible ranges that hold the documents of the granted ranges and no others', () => {
    fc.assert(
      fc.property(anyRuns, fc.array(anyDocument, { minLength: 20, maxLength: 20 }), (kept, documents) => {
        const visibleRanges = visibleRangesOf(parseGrantedRanges(grantedRangesOf(kept)))
        for (const document of documents) {
          const isLeased = visibleRanges.some(([until, from]) => document.issued_at <= until && from <= document.fecha)
          expect([document, isLeased]).toEqual([document, kept.some((run) => within(document, run))])
        }
      }),
      { numRuns: runs(100, 5_000) },
    )
  })

  it('of four hundred daily runs make one visible range, and one more after a gap', () => {
    const daily = (from: number): Kept[] =>
      Array.from({ length: 200 }, (_, n) => [from + n * DAY + 6 * 3_600_000, dayOf(from + (n - 90) * DAY)])
    const visibleRanges = (kept: Kept[]) => visibleRangesOf(parseGrantedRanges(grantedRangesOf(kept)))
    expect(visibleRanges([...daily(BEGIN), ...daily(BEGIN + 200 * DAY)])).toHaveLength(1)
    expect(visibleRanges([...daily(BEGIN), ...daily(BEGIN + 400 * DAY)])).toHaveLength(2)
    expect(visibleRanges([])).toEqual([])
  })
})

const ask = (query: Record<string, string>) => CfdiSearch.parse({ fiscal_entity_id: FISCAL_ENTITY, limit: '100', ...query })

async function all(ctx: Ctx): Promise<Cfdi[]> {
  const found: Cfdi[] = []
  for (let cursor: string | undefined; ; ) {
    const page = await searchCfdi(ctx, ask({ ...(cursor && { cursor }) }))
    found.push(...page.data)
    if (!page.has_more) return found
    cursor = page.next_cursor!
  }
}

describe('updated_at', () => {
  const ENTITY = 11
  const next = randomOf(20260311)
  const some = (entity: number, count: number): Row[] =>
    Array.from({ length: count }, () => {
      const local = BEGIN + Math.floor((next() * (DAYS + 40) - 40) * 86_400) * 1_000
      const updated_at = BEGIN + Math.floor(next() * DAYS * DAY)
      const utc_offset = [-300, -360, -420, -480][Math.floor(next() * 4)]!
      const fecha = new Date(local).toISOString().slice(0, 19)
      return rowOf({ entity, uuid: uuidFrom(next), fecha, utc_offset, direction: next() < 0.5 ? 0 : 1, updated_at })
    })
  const authority = some(ENTITY, 160)
  const imported = some(-12, 20)
  const stored = new Map([...authority, ...imported].map((row) => [row.uuid, row]))

  beforeAll(async () => {
    await applyD1Migrations(env.LEDGER_0, env.LEDGER_MIGRATIONS)
    await insertCfdi(env.LEDGER_0, [...authority, ...imported])
  })

  /** The window that these runs of a source have made. */
  const windowOf = (kept: readonly Kept[]) =>
    kept.length === 0 ? null : ([kept.map(([, floor]) => floor).sort()[0]!, Math.max(...kept.map(([at]) => at))] as const)

  const shownOf = (one: Cfdi, first: number, issued: readonly Kept[], received: readonly Kept[]): number => {
    const row = stored.get(one.uuid)!
    if (one.origin === 'import') return row.updated_at
    const reached = firstOf(row, row.direction === 0 ? issued : received)
    return Math.max(row.updated_at, first, Number.isFinite(reached) ? reached : 0)
  }

  const history = fc.record({
    issued: anyRuns,
    received: anyRuns,
    first: fc.integer({ min: -5, max: 60 }).map((days) => BEGIN + days * DAY),
    extractor_count: fc.constantFrom(0, 1, 1, 1),
  })

  it('follows from what is stored and from the organization’s own runs, alike in lists and details', async () => {
    await fc.assert(
      fc.asyncProperty(history, async ({ issued, received, first, extractor_count }) => {
        const ctx = contextOf(
          {
            ...{
              entity: ENTITY,
              connection: 12,
              imported_at: 1,
              first_active_at: first,
              ...reaching(windowOf(issued), windowOf(received)),
            },
            ...{ issued_granted_ranges: grantedRangesOf(issued), received_granted_ranges: grantedRangesOf(received) },
          },
          { extractor_count },
        )
        const list = await all(ctx)
        for (const one of list) expect(Date.parse(one.updated_at)).toBe(shownOf(one, first, issued, received))
        for (const one of list.slice(0, 2)) expect((await getCfdi(ctx, one.uuid)).updated_at).toBe(one.updated_at)
      }),
      { numRuns: runs(8, 400) },
    )
  })
})

/** What would be told without it: when a stranger downloaded a document between two of one’s own runs. */
describe('a download of another organization between two of one’s own runs', () => {
  beforeEach(() => {
    later(0)
    losingMessages()
  })
  afterEach(() => {
    vi.restoreAllMocks()
    vi.useRealTimers()
  })

  const at = (seconds: number) => new Date(Date.parse(NOW) + seconds * 1_000).toISOString()
  const [FIRST, THEIRS, SECOND, THIRD] = [0, 2 * 86_400, 4 * 86_400, 6 * 86_400]
  const isBetween = ({ issued_at }: Cfdi): boolean =>
    Date.parse(issued_at) > Date.parse(at(FIRST)) && Date.parse(issued_at) <= Date.parse(at(THEIRS))

  /** The organization has downloaded first, and the stranger, with another CIEC, two days later. */
  async function both() {
    const rfc = freshRfc()
    const [stranger, own] = [await subscriber(rfc, cfdiOf(2), 'ajena123'), await subscriber(rfc, cfdiOf(1), 'propia12')]
    await own.run()
    await work(rfc)
    later(THEIRS)
    await stranger.run()
    await work(rfc)
    later(SECOND)
    // A cancellation becomes known when anybody first downloads it.
    const read = async (query = ''): Promise<Cfdi[]> => {
      const found: Cfdi[] = []
      for (let cursor = ''; ; ) {
        const { body } = await own.page(`&estatus=vigente${query}${cursor}`)
        found.push(...body.data)
        if (!body.has_more) return found
        cursor = `&cursor=${encodeURIComponent(body.next_cursor)}`
      }
    }
    return { rfc, own, read }
  }

  it('changes no updated_at', async () => {
    const { rfc, own, read } = await both()
    await own.run()
    await work(rfc)
    const list = await read()
    expect(list.filter(isBetween).length).toBeGreaterThan(0)
    for (const one of list)
      expect([one.issued_at, one.updated_at]).toEqual([
        one.issued_at,
        Date.parse(one.issued_at) <= Date.parse(at(FIRST)) ? at(FIRST) : at(SECOND),
      ])
  })

  it('is not dated by a run whose own download the authority refused, but by the run of the next accepted CIEC', async () => {
    const { rfc, own, read } = await both()
    await own.ask('POST', `/v1/test-helpers/fiscal-entities/${own.fiscal_entity_id}/expire-ciec`)
    await own.run()
    await work(rfc)
    expect((await own.entity()).status).toBe('invalid_ciec')
    later(THIRD)
    expect((await own.give('propia34')).status).toBe(200)
    // Reactivation runs the extractor. The sweep dispatches the run, because its message was lost.
    later(THIRD + 60)
    await sweep()
    await work(rfc)
    const list = await read()
    expect(list.filter(isBetween).length).toBeGreaterThan(0)
    for (const one of list) {
      if (Date.parse(one.issued_at) <= Date.parse(at(FIRST))) expect(one.updated_at).toBe(at(FIRST))
      else expect(one.updated_at >= at(THIRD)).toBe(true)
    }
  })
})
