import { applyD1Migrations, env } from 'cloudflare:test'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Cfdi } from '../../src/cfdi/contract.ts'
import { CfdiSearch } from '../../src/cfdi/search/contract.ts'
import { searchCfdi } from '../../src/cfdi/search/search.ts'
import type { Ctx } from '../../src/platform/context.ts'
import { openLedger, openReachedLedger } from '../../src/visibility/scoped-ledger.ts'
import { EVERYTHING, earliestOf, firstOpenDay, isBounded, latestOf, NOTHING, windowOf } from '../../src/visibility/window.ts'
import { insertApplications, insertCfdi, invoices } from '../cfdi/support/ledger.ts'
import { contextOf, FISCAL_ENTITY, RFC } from '../support/context.ts'
import { runs } from '../support/fuzz.ts'

const instant = fc.integer({ min: Date.UTC(2016, 0, 1), max: Date.UTC(2029, 0, 1) })
const offset = fc.constantFrom(-300, -360, -420, -480)
const document = fc.record({ local: instant, offset }).map(({ local, offset: minutes }) => ({
  fecha: new Date(local).toISOString().slice(0, 19),
  issued_at: Math.floor(local / 1_000) - minutes * 60,
}))

describe('windowOf', () => {
  it('shows everything without extractors and nothing before the first extraction', () => {
    expect(windowOf(0, { visible_from: '2026-01-01', visible_to: 1 })).toEqual(EVERYTHING)
    expect(windowOf(0, { visible_from: null, visible_to: null })).toEqual(EVERYTHING)
    expect(windowOf(1, { visible_from: null, visible_to: null })).toEqual(NOTHING)
    expect(windowOf(1, { visible_from: '2026-01-01', visible_to: 1 })).toEqual({ isEmpty: false, floor: '2026-01-01', ceiling: 1 })
  })
})

describe('isBounded', () => {
  const window = { isEmpty: false, floor: '2018-01-01', ceiling: 1_000 }
  it.each([
    [EVERYTHING, 5_000, false],
    [NOTHING, null, true],
    [window, 1_000, false],
    [window, null, false],
    [window, 1_001, true],
    [{ ...window, floor: '2018-01-02' }, 1_000, true],
    [{ ...window, floor: '2014-01-01' }, 1_000, false],
  ])('%j with the latest download at %s: %s', (one, latest, expected) => expect(isBounded(one, latest)).toBe(expected))
})

describe('literal days and instants', () => {
  it('bound every document of a day, in every zone', () => {
    fc.assert(
      fc.property(document, ({ fecha, issued_at }) => {
        const its = fecha.slice(0, 10)
        expect(issued_at).toBeGreaterThanOrEqual(earliestOf(its))
        expect(issued_at).toBeLessThanOrEqual(latestOf(its))
      }),
    )
  })

  it('leave no document of an earlier day after a bound', () => {
    fc.assert(
      fc.property(document, instant, ({ fecha, issued_at }, at) => {
        const until = Math.floor(at / 1_000)
        if (fecha.slice(0, 10) < firstOpenDay(until)!) expect(issued_at).toBeLessThanOrEqual(until)
      }),
      { numRuns: runs(500, 2_000) },
    )
    const until = latestOf('2026-01-31')
    expect(firstOpenDay(until)).toBe('2026-02-01')
    expect(firstOpenDay(until - 1)).toBe('2026-01-31')
  })
})

describe('openBooks', () => {
  it('needs an active connection', () => {
    for (const state of ['draft', 'paused', 'invalid_ciec', 'unlinked'] as const)
      expect(() => openLedger(contextOf({ state }))).toThrow('fiscal entity')
    expect(() => openLedger(contextOf(null))).toThrow('fiscal entity')
  })

  it('has a book of imports only when something was imported', () => {
    expect(openLedger(contextOf()).importPartition).toBeNull()
    expect(openLedger(contextOf({ imported_at: 1 })).importPartition).toBe(-9)
  })

  it('as far as extractions reach has no regard for a lack of extractors', () => {
    const reached = { visible_from: '2026-01-01', visible_to: 1_000 }
    expect(openLedger(contextOf(reached)).window).toEqual(EVERYTHING)
    expect(openReachedLedger(contextOf(reached)).window).toEqual({ isEmpty: false, floor: '2026-01-01', ceiling: 1_000 })
    expect(openReachedLedger(contextOf()).window).toEqual(NOTHING)
    expect(openReachedLedger(contextOf(reached, { extractor_count: 1 })).window).toEqual(
      openLedger(contextOf(reached, { extractor_count: 1 })).window,
    )
  })
})

type Query = Record<string, string>

describe('filters on the balance', () => {
  const ENTITY = 7
  beforeAll(async () => {
    await applyD1Migrations(env.LEDGER_0, env.LEDGER_MIGRATIONS)
    const { rows, applications } = invoices(7, 900, '2026-01-01', 60, ENTITY)
    await insertCfdi(env.LEDGER_0, rows)
    await insertApplications(env.LEDGER_0, applications)
  })

  const ask = (query: Query) => CfdiSearch.parse({ fiscal_entity_id: FISCAL_ENTITY, ...query })
  const csv = (list: string, value: string) => list.split(',').includes(value)

  const CEILINGS = ['2026-01-04T12:00:00Z', '2026-02-01T00:00:00Z', '2026-02-25T06:00:00Z', '2026-06-01T00:00:00Z']
  const at = (ceiling: string) =>
    contextOf({ entity: ENTITY, visible_from: '2026-01-03', visible_to: Date.parse(ceiling) }, { extractor_count: 1 })

  async function all(ctx: Ctx, query: Query = { limit: '100' }): Promise<Cfdi[]> {
    const found: Cfdi[] = []
    for (let cursor: string | undefined; ; ) {
      const page = await searchCfdi(ctx, ask({ ...query, ...(cursor && { cursor }) }))
      expect(page.data.length).toBeLessThanOrEqual(Number(query['limit'] ?? 25))
      found.push(...page.data)
      if (!page.has_more) return found
      cursor = page.next_cursor!
    }
  }
  const walk = async (ctx: Ctx, query: Query) => (await all(ctx, query)).map(({ uuid }) => uuid)

  const asked: [Query, (one: Cfdi) => boolean][] = [
    ...['paid', 'partially_paid', 'unpaid', 'unpaid,partially_paid', 'unpaid,not_applicable', 'paid,partially_paid,unpaid'].map(
      (payment_status): [Query, (one: Cfdi) => boolean] => [{ payment_status }, (one) => csv(payment_status, one.payment_status)],
    ),
    [
      { payment_status: 'unpaid', direction: 'issued', limit: '100' },
      (one) => one.payment_status === 'unpaid' && one.direction === 'issued',
    ],
    [
      { payment_status: 'unpaid', counterparty_rfc: 'BBB010101BB1' },
      (one) => one.payment_status === 'unpaid' && one.counterparty.rfc === 'BBB010101BB1',
    ],
    [{ payment_status: 'partially_paid', receptor_rfc: RFC }, (one) => one.payment_status === 'partially_paid' && one.receptor_rfc === RFC],
    [
      { payment_status: 'unpaid', issued_from: '2026-01-10', issued_to: '2026-01-20', limit: '3' },
      (one) => one.payment_status === 'unpaid' && one.fecha >= '2026-01-10' && one.fecha < '2026-01-21',
    ],
    [{ balance_min: '0.01' }, (one) => Number(one.balance) > 0],
    [
      { balance_min: '50', payment_status: 'partially_paid' },
      (one) => one.payment_status === 'partially_paid' && Number(one.balance) >= 50,
    ],
    [{ paid_from: '2026-01-20' }, (one) => one.last_payment_at !== null && one.last_payment_at >= '2026-01-20'],
    [{ paid_to: '2026-01-20' }, (one) => one.last_payment_at !== null && one.last_payment_at < '2026-01-21'],
    [
      { paid_from: '2026-01-15', paid_to: '2026-01-31', payment_status: 'paid' },
      (one) => one.payment_status === 'paid' && one.last_payment_at! >= '2026-01-15' && one.last_payment_at! < '2026-02-01',
    ],
  ]

  it.each(CEILINGS)('judge by what a window up to %s shows', async (ceiling) => {
    const every = await all(at(ceiling))
    expect(every.length).toBeGreaterThan(10)
    for (const [query, matches] of asked) {
      const expected = every.filter(matches).map((one) => one.uuid)
      expect([query, await walk(at(ceiling), query)]).toEqual([query, expected])
      const some = every.filter((_, n) => n % 9 === 0).slice(0, 100)
      const uuids = some.map((one) => one.uuid).join(',')
      expect(await walk(at(ceiling), { ...query, uuid: uuids })).toEqual(some.filter(matches).map((one) => one.uuid))
    }
  })

  it('tell nothing of a payment after the ceiling by what they leave out', async () => {
    const ctx = at('2026-02-01T00:00:00Z')
    const statuses = ['paid', 'partially_paid', 'unpaid', 'not_applicable']
    const apart = (await Promise.all(statuses.map((payment_status) => walk(ctx, { payment_status })))).flat()
    expect(apart.sort()).toEqual((await all(ctx)).map((one) => one.uuid).sort())
  })
})
