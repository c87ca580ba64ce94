import { applyD1Migrations, env } from 'cloudflare:test'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Cfdi } from '../../../src/cfdi/contract.ts'
import { CfdiSearch } from '../../../src/cfdi/search/contract.ts'
import { searchCfdi } from '../../../src/cfdi/search/search.ts'
import type { Ctx } from '../../../src/platform/context.ts'
import { openLedger, openReachedLedger } from '../../../src/taxpayers/visibility/scoped-ledger.ts'
import {
  combinedWindowOf,
  EVERYTHING,
  earliestOf,
  firstOpenDay,
  latestOf,
  NOTHING,
  windowStateOf,
  windowsOf,
} from '../../../src/taxpayers/visibility/window.ts'
import { insertApplications, insertCfdi, invoices } from '../../cfdi/support/ledger.ts'
import { contextOf, FISCAL_ENTITY, type GrantedRange, RFC, reaching } from '../../support/context.ts'
import { runs, sample } from '../../support/fuzz.ts'

const instant = fc.integer({ min: Date.UTC(2016, 0, 1), max: Date.UTC(2029, 0, 1) })
const offset = fc.constantFrom(-300, -360, -420, -480)
const document = fc.record({ local: instant, offset }).map(({ local, offset: minutes }) => ({
  fecha: new Date(local).toISOString().slice(0, 19),
  issued_at: Math.floor(local / 1_000) - minutes * 60,
}))

const EMPTY = { isEmpty: true, floor: null, ceiling: null }
const between = (floor: string, ceiling: number) => ({ isEmpty: false, floor, ceiling })

describe('windowsOf', () => {
  it('shows everything without extractors and nothing of a source before its first extraction', () => {
    expect(windowsOf(0, reaching(['2026-01-01', 1]))).toEqual(EVERYTHING)
    expect(windowsOf(0, reaching(null))).toEqual(EVERYTHING)
    expect(windowsOf(1, reaching(null))).toEqual(NOTHING)
    const reached = between('2026-01-01', 1)
    expect(windowsOf(1, reaching(['2026-01-01', 1]))).toEqual({ issued: reached, received: reached })
    expect(windowsOf(1, reaching(['2026-01-01', 1], null))).toEqual({ issued: reached, received: EMPTY })
    expect(windowsOf(1, reaching(null, ['2026-01-01', 1]))).toEqual({ issued: EMPTY, received: reached })
  })
})

describe('hullOf', () => {
  const [one, other] = [between('2026-01-05', 1_000), between('2026-01-01', 500)]
  it.each([
    [{ issued: one, received: other }, between('2026-01-01', 1_000)],
    [{ issued: other, received: one }, between('2026-01-01', 1_000)],
    [{ issued: one, received: EMPTY }, one],
    [{ issued: EMPTY, received: other }, other],
    [NOTHING, EMPTY],
    [EVERYTHING, EVERYTHING.issued],
  ])('%j: %j', (windows, combinedWindow) => expect(combinedWindowOf(windows)).toEqual(combinedWindow))
})

describe('windowStateOf', () => {
  const whole = between('2018-01-01', 1_000)
  const both = { issued: whole, received: whole }
  it.each([
    [EVERYTHING, 'open'],
    [NOTHING, 'empty'],
    [both, 'open'],
    [{ issued: whole, received: between('2018-01-01', 2_000) }, 'open'],
    // Received ones can be held, whether anybody has downloaded them or not.
    [{ issued: whole, received: EMPTY }, 'bounded'],
    [{ issued: EMPTY, received: whole }, 'bounded'],
    [{ issued: between('2018-01-02', 1_000), received: whole }, 'bounded'],
    [{ issued: whole, received: between('2018-01-02', 1_000) }, 'bounded'],
    [{ issued: between('2014-01-01', 1_000), received: whole }, 'open'],
  ])('%j: %s', (windows, expected) => expect(windowStateOf(windows)).toBe(expected))
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
      { numRuns: runs(100, 2_000) },
    )
    const until = latestOf('2026-01-31')
    expect(firstOpenDay(until)).toBe('2026-02-01')
    expect(firstOpenDay(until - 1)).toBe('2026-01-31')
  })
})

describe('openLedger', () => {
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
    const reached = reaching(['2026-01-01', 1_000], ['2026-01-02', 2_000])
    const windows = { issued: between('2026-01-01', 1_000), received: between('2026-01-02', 2_000) }
    expect(openLedger(contextOf(reached)).windows).toEqual(EVERYTHING)
    expect(openReachedLedger(contextOf(reached))).toMatchObject({ windows, window: between('2026-01-01', 2_000) })
    expect(openReachedLedger(contextOf()).windows).toEqual(NOTHING)
    expect(openReachedLedger(contextOf(reached, { extractor_count: 1 })).windows).toEqual(
      openLedger(contextOf(reached, { extractor_count: 1 })).windows,
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

  const upTo = (ceiling: string | null): GrantedRange => (ceiling === null ? null : ['2026-01-03', ceiling])
  const CEILINGS: [issued: string | null, received: string | null][] = [
    ...['2026-01-04T12:00:00Z', '2026-02-01T00:00:00Z', '2026-02-25T06:00:00Z', '2026-06-01T00:00:00Z'].map((one): [string, string] => [
      one,
      one,
    ]),
    ['2026-02-01T00:00:00Z', null],
    [null, '2026-02-01T00:00:00Z'],
    ['2026-02-01T00:00:00Z', '2026-02-25T06:00:00Z'],
    ['2026-06-01T00:00:00Z', '2026-01-20T12:00:00Z'],
  ]
  const at = (issued: string | null, received = issued) =>
    contextOf({ entity: ENTITY, ...reaching(upTo(issued), upTo(received)) }, { extractor_count: 1 })

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

  it.each(sample(CEILINGS, 3))('judge by what windows up to %s and %s show', async (issued, received) => {
    const ceiling = [issued, received] as const
    const every = await all(at(...ceiling))
    expect(every.length).toBeGreaterThan(10)
    for (const [query, matches] of asked) {
      const expected = every.filter(matches).map((one) => one.uuid)
      expect([query, await walk(at(...ceiling), query)]).toEqual([query, expected])
      const some = every.filter((_, n) => n % 9 === 0).slice(0, 100)
      const uuids = some.map((one) => one.uuid).join(',')
      expect(await walk(at(...ceiling), { ...query, uuid: uuids })).toEqual(some.filter(matches).map((one) => one.uuid))
    }
  })

  it('tell nothing of a payment after the ceiling by what they leave out', async () => {
    const ctx = at('2026-02-01T00:00:00Z', '2026-02-20T00:00:00Z')
    const statuses = ['paid', 'partially_paid', 'unpaid', 'not_applicable']
    const apart = (await Promise.all(statuses.map((payment_status) => walk(ctx, { payment_status })))).flat()
    expect(apart.sort()).toEqual((await all(ctx)).map((one) => one.uuid).sort())
  })
})
