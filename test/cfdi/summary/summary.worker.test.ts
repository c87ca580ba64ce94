import { applyD1Migrations, env } from 'cloudflare:test'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Cfdi } from '../../../src/cfdi/contract.ts'
import { CfdiSearch } from '../../../src/cfdi/search/contract.ts'
import { searchCfdi } from '../../../src/cfdi/search/search.ts'
import { type CfdiMonth, MonthlySummary, MonthlySummaryQuery } from '../../../src/cfdi/summary/contract.ts'
import { summarizeMonths } from '../../../src/cfdi/summary/summary.ts'
import type { Ctx } from '../../../src/platform/context.ts'
import type { Page } from '../../../src/platform/paging/cursor.ts'
import { shows, windowsOf } from '../../../src/taxpayers/visibility/window.ts'
import { contextOf, FISCAL_ENTITY, type GrantedRange, RFC, reaching } from '../../support/context.ts'
import { grantedRangesOf } from '../../support/granted-ranges.ts'
import { costOf } from '../../support/meter.ts'
import { documents, insertCfdi, insertMonths, isSubstitutedFor, monthsOf, type Row, rowOf } from '../support/ledger.ts'

const OWN = documents(11, 800, '2025-11-20', 100)
const IMPORTED = [...documents(12, 60, '2025-10-01', 120, -9), ...OWN.filter((_, n) => n % 9 === 0).map((row) => ({ ...row, entity: -9 }))]

beforeAll(async () => {
  await applyD1Migrations(env.DB, env.CONTROL_MIGRATIONS)
  await applyD1Migrations(env.LEDGER_0, env.LEDGER_MIGRATIONS)
  await insertCfdi(env.LEDGER_0, [...OWN, ...IMPORTED])
  await insertMonths(env.LEDGER_0, monthsOf([...OWN, ...IMPORTED]))
})

const summarize = (ctx: Ctx, query: Record<string, string> = {}) =>
  summarizeMonths(ctx, MonthlySummaryQuery.parse({ fiscal_entity_id: FISCAL_ENTITY, ...query }))

/** The documents that a drilldown answers, all pages of it. */
async function found(ctx: Ctx, drilldown: string): Promise<string[]> {
  const url = new URL(drilldown, 'https://service')
  expect(url.pathname).toBe('/v1/cfdi')
  const uuids: string[] = []
  for (let cursor: string | null = null; ; ) {
    const query = CfdiSearch.parse({ ...Object.fromEntries(url.searchParams), limit: '100', ...(cursor !== null && { cursor }) })
    const page: Page<Cfdi> = await searchCfdi(ctx, query)
    uuids.push(...page.data.map(({ uuid }) => uuid))
    if (!page.has_more) return uuids.sort()
    cursor = page.next_cursor
  }
}

const seenBy = ({ organization, connection }: Ctx): Row[] => {
  const { issued, received } = windowsOf(organization.extractor_count, connection!)
  const seen = OWN.filter((row) => shows(row.direction === 0 ? issued : received, row))
  const known = new Set(seen.map(({ uuid }) => uuid))
  return [...seen, ...(connection!.imported_at === null ? [] : IMPORTED.filter(({ uuid }) => !known.has(uuid)))]
}

// Cents, rounded document by document as the service does at the sixth decimal.
const mxn = (row: Row, value: string | number | null | undefined) => {
  const amount = typeof value === 'number' ? value : Math.round(Number(value ?? 0) * 1e6)
  return row.currency === 'USD' ? Math.round(amount * 17.5) : amount
}

const text = (micros: number) => ((Math.sign(micros) * Math.round(Math.abs(micros) / 1e4)) / 100 + 0).toFixed(2)

function oracle(rows: readonly Row[], month: string, direction: number, isSubstituted: (row: Row) => boolean) {
  const its = rows.filter((row) => row.fecha.startsWith(month) && row.direction === direction && row.emisor_rfc !== row.receptor_rfc)
  const cancelled = its.filter(({ estatus }) => estatus === 'cancelado')
  const valid = its.filter((row) => row.estatus === 'vigente' && !isSubstituted(row))
  const of = (tipo: string) => valid.filter((row) => row.tipo_comprobante === tipo)
  const sum = (some: Row[], value: (row: Row) => string | number | null | undefined) =>
    some.reduce((total, row) => total + mxn(row, value(row)), 0)
  const credit = sum(of('E'), (row) => row.subtotal)
  return {
    month,
    direction: direction === 0 ? 'issued' : 'received',
    count: valid.length,
    cancelled_count: cancelled.length,
    substituted_count: its.length - cancelled.length - valid.length,
    by_tipo: { I: of('I').length, E: of('E').length, P: of('P').length, N: of('N').length, T: of('T').length },
    subtotal: text(sum(of('I'), (row) => row.subtotal)),
    descuento: '0.00',
    iva_trasladado: text(sum(of('I'), (row) => row.iva_trasladado)),
    iva_retenido: '0.00',
    isr_retenido: '0.00',
    ieps: '0.00',
    total: text(sum(of('I'), (row) => row.total)),
    credit_notes: text(credit),
    credit_notes_iva: text(sum(of('E'), (row) => row.iva_trasladado)),
    net: text(sum(of('I'), (row) => row.subtotal) - credit),
    pue_total: text(
      sum(
        of('I').filter((row) => row.metodo_pago === 'PUE'),
        (row) => row.total,
      ),
    ),
    ppd_total: text(
      sum(
        of('I').filter((row) => row.metodo_pago === 'PPD'),
        (row) => row.total,
      ),
    ),
  }
}

const bounded = (from: string, to: string, imported_at: number | null = null) =>
  contextOf({ ...reaching([from, to]), imported_at }, { extractor_count: 1 })

const apart = (issued: GrantedRange, received: GrantedRange, imported_at: number | null = null) =>
  contextOf({ ...reaching(issued, received), imported_at }, { extractor_count: 1 })

const WINDOWS: [string, Ctx][] = [
  ['everything', contextOf()],
  ['a ceiling inside a day', bounded('2018-01-01', '2026-01-17T19:23:45.600Z')],
  ['a ceiling while two days are open', bounded('2025-12-11', '2026-01-18T06:30:00Z')],
  ['a ceiling in the first hours of a month', bounded('2025-12-11', '2026-02-01T06:30:00Z')],
  ['a floor and a ceiling on one day', bounded('2026-01-05', '2026-01-05T20:00:00Z')],
  ['issued ones alone', apart(['2025-12-11', '2026-01-17T19:23:45Z'], null)],
  ['received ones alone', apart(null, ['2025-12-11', '2026-01-17T19:23:45Z'])],
  ['two windows that cut other months', apart(['2025-12-11', '2026-01-17T19:23:45Z'], ['2026-01-05', '2026-02-18T06:30:00Z'])],
  ['two windows with a ceiling on one day', apart(['2018-01-01', '2026-01-17T16:00:00Z'], ['2018-01-01', '2026-01-17T19:23:45Z'])],
  ['two windows and imports', apart(['2025-12-11', '2026-01-17T19:23:45Z'], ['2026-01-05', '2026-01-12T06:30:00Z'], 1)],
  ['received ones alone and imports', apart(null, ['2025-12-11', '2026-01-17T19:23:45Z'], 1)],
  ['imports', contextOf({ imported_at: 1 })],
  ['imports and a window', bounded('2025-12-11', '2026-01-17T19:23:45Z', 1)],
  ['imports only', contextOf({ imported_at: 1 }, { extractor_count: 1 })],
  ['nothing yet', contextOf({}, { extractor_count: 1 })],
]

describe.each(WINDOWS)('GET /v1/cfdi/summary/monthly, %s', (name, ctx) => {
  it.each([
    {},
    { direction: 'received' },
    { from: '2025-12', to: '2026-01' },
    { from: '2026-01', to: '2026-01' },
    { from: '2025-12-13', to: '2026-01-17' },
    { from: '2026-01-05', to: '2026-01-05' },
    { from: '2025-11', to: '2026-01-18', direction: 'received' },
    { to: '2026-02-02' },
  ])('adds up what is seen: %j', async (query) => {
    const answer = MonthlySummary.parse(await summarize(ctx, query))
    const seen = seenBy(ctx)
    const answered = new Set(answer.data.map(({ month, direction }) => `${month} ${direction}`))
    const asked = seen.filter(
      (row) =>
        row.emisor_rfc !== row.receptor_rfc &&
        row.fecha >= answer.from &&
        row.fecha.slice(0, answer.to.length) <= answer.to &&
        (!('direction' in query) || row.direction === 1),
    )
    const status = ['imports', 'imports only'].includes(name) ? 'imported' : 'missing'
    for (const { is_partial: _, through_date: __, data_status, drilldown, ...row } of answer.data) {
      expect(data_status).toBe(status)
      const direction = row.direction === 'issued' ? 0 : 1
      expect(row).toEqual(oracle(asked, row.month, direction, isSubstitutedFor(ctx)))
      const counted = asked.filter(
        (one) => one.fecha.startsWith(row.month) && one.direction === direction && one.estatus === 'vigente' && !isSubstitutedFor(ctx)(one),
      )
      expect([drilldown, await found(ctx, drilldown)]).toEqual([drilldown, counted.map(({ uuid }) => uuid).sort()])
    }
    for (const row of asked) expect(answered).toContain(`${row.fecha.slice(0, 7)} ${row.direction === 0 ? 'issued' : 'received'}`)
    // Nobody downloaded any month of the range, whether or not the window shows it.
    const months =
      12 * (Number(answer.to.slice(0, 4)) - Number(answer.from.slice(0, 4))) +
      Number(answer.to.slice(5, 7)) -
      Number(answer.from.slice(5, 7)) +
      1
    const incomplete = { months_missing: status === 'missing' ? months * ('direction' in query ? 1 : 2) : 0, months_downloading: 0 }
    expect(answer.data_quality).toEqual({
      cfdi_total: asked.length,
      with_xml: asked.filter(({ estatus }) => estatus === 'vigente').length,
      missing_rate: 0,
      not_counted: 0,
      ...incomplete,
    })
  })
})

describe('a row outside the window', () => {
  // The runs downloaded December whole, and the window shows it from the 11th on. 'so_far' or not, the first days are not in the row.
  it('has only imports, and is partial and missing, whatever the runs downloaded of the month', async () => {
    const to = Date.parse('2026-01-17T19:23:45Z')
    const ctx = contextOf(
      { ...reaching(['2025-12-11', to]), issued_granted_ranges: grantedRangesOf([[to, '2025-12-11']]), imported_at: 1 },
      { extractor_count: 1 },
    )
    const coverage = { '2025-12': [[to, 'over']] }
    await env.LEDGER_0.prepare("insert into coverage (entity, source, months) values (1, 'sat_cfdi_issued', ?)")
      .bind(JSON.stringify(coverage))
      .run()
    const row = async (from: string, until: string) => {
      const { data, data_quality } = await summarize(ctx, { from, to: until, direction: 'issued' })
      const [{ count, is_partial, through_date, data_status } = {} as CfdiMonth, ...others] = data
      expect(others).toEqual([])
      return { hasDocuments: count > 0, is_partial, through_date, data_status, months_missing: data_quality.months_missing }
    }
    const outside = { hasDocuments: true, is_partial: true, through_date: null, data_status: 'missing', months_missing: 1 }
    expect(await row('2025-12-01', '2025-12-10')).toEqual(outside)
    expect(await row('2025-11', '2025-11')).toEqual(outside)
    expect(await row('2025-12', '2025-12')).toMatchObject({ is_partial: true, through_date: '2025-12-31', data_status: 'complete' })
    await env.LEDGER_0.prepare('delete from coverage').run()
  })
})

describe('months', () => {
  const labels = async (ctx: Ctx, query: Record<string, string> = {}) =>
    (await summarize(ctx, { direction: 'issued', ...query })).data.map(({ month, is_partial, through_date }) => [
      month,
      is_partial,
      through_date,
    ])

  it('are the last twelve, with zeros where there is nothing, the current one partial', async () => {
    const all = await labels(contextOf())
    expect(all).toHaveLength(12)
    expect(all[0]).toEqual(['2025-04', false, '2025-04-30'])
    expect(all.at(-1)).toEqual(['2026-03', true, '2026-03-10'])
  })

  it('are trimmed by the window and absent outside it', async () => {
    expect(await labels(bounded('2025-12-11', '2026-02-17T19:00:00Z'))).toEqual([
      ['2025-12', true, '2025-12-31'],
      ['2026-01', false, '2026-01-31'],
      ['2026-02', true, '2026-02-17'],
    ])
    expect(await labels(contextOf({}, { extractor_count: 1 }))).toEqual([])
  })

  it('are trimmed by the window of their own direction', async () => {
    const { data } = await summarize(apart(['2025-12-11', '2026-02-17T19:00:00Z'], ['2026-01-01', '2026-01-31T19:00:00Z']))
    expect(data.map(({ month, direction, is_partial, through_date }) => [month, direction, is_partial, through_date])).toEqual([
      ['2025-12', 'issued', true, '2025-12-31'],
      ['2026-01', 'issued', false, '2026-01-31'],
      ['2026-01', 'received', true, '2026-01-31'],
      ['2026-02', 'issued', true, '2026-02-17'],
    ])
  })

  it('are cut by the days that are asked for', async () => {
    expect(await labels(contextOf(), { from: '2025-12-11', to: '2026-02-17' })).toEqual([
      ['2025-12', true, '2025-12-31'],
      ['2026-01', false, '2026-01-31'],
      ['2026-02', true, '2026-02-17'],
    ])
    // The window cuts further, and a cut at the month's own edges is none.
    expect(await labels(bounded('2025-12-11', '2026-02-17T19:00:00Z'), { from: '2026-01-01', to: '2026-02-20' })).toEqual([
      ['2026-01', false, '2026-01-31'],
      ['2026-02', true, '2026-02-17'],
    ])
    expect(await labels(bounded('2025-12-11', '2026-02-17T19:00:00Z'), { from: '2025-12-01', to: '2025-12-10' })).toEqual([])
    expect(await labels(contextOf(), { to: '2026-02-17' })).toHaveLength(12)
    for (const wrong of ['2026-02-30', '2026-13', '2026', '2026-02-01T00:00:00Z'])
      expect(MonthlySummaryQuery.safeParse({ fiscal_entity_id: FISCAL_ENTITY, from: wrong }).success).toBe(false)
    await expect(labels(contextOf(), { from: '2026-02-18', to: '2026-02-17' })).rejects.toMatchObject({ code: 'summary.range' })
  })

  it('lead to no retenciones and to nothing that the RFC issued to itself', async () => {
    const fecha = '2026-01-02T10:00:00'
    const rows = [
      rowOf({ entity: 6, uuid: '00000000-0000-0000-0000-000000000001', fecha }),
      rowOf({ entity: 6, uuid: '00000000-0000-0000-0000-000000000002', fecha, kind: 'retenciones', tipo_comprobante: null }),
      rowOf({ entity: 6, uuid: '00000000-0000-0000-0000-000000000003', fecha, counterparty_rfc: RFC }),
    ]
    await insertCfdi(env.LEDGER_0, rows)
    await insertMonths(env.LEDGER_0, monthsOf(rows))
    const { data, basis } = await summarize(contextOf({ entity: 6 }), { from: '2026-01', to: '2026-01', direction: 'issued' })
    expect(data[0]!.count).toBe(1)
    expect(await found(contextOf({ entity: 6 }), data[0]!.drilldown)).toEqual([rows[0]!.uuid])
    expect(basis.substitution).toContain('04')
  })

  it('are at most 120, from before to', async () => {
    expect((await labels(contextOf(), { from: '2016-04', to: '2026-03' })).length).toBe(120)
    await expect(labels(contextOf(), { from: '2016-03', to: '2026-03' })).rejects.toMatchObject({ kind: 'invalid', code: 'summary.range' })
    await expect(labels(contextOf(), { from: '2026-03', to: '2026-02' })).rejects.toMatchObject({ kind: 'invalid' })
  })
})

describe('what is read', () => {
  it('are the sums of whole months, and the days of those alone that a window or the query divides', async () => {
    const rows = documents(71, 300, '2025-11-20', 100, 7)
    await insertCfdi(env.LEDGER_0, rows)
    await insertMonths(env.LEDGER_0, monthsOf(rows))
    const open = contextOf({ entity: 7 })
    const inFebruary = contextOf({ entity: 7, ...reaching(['2018-01-01', '2026-02-17T19:23:45Z']) }, { extractor_count: 1 })
    const whole = [
      [open, { from: '2025-12', to: '2026-01' }],
      [open, { from: '2025-12-01', to: '2026-01-31' }],
      [open, { from: '2025-11-24', to: '2026-02-03' }],
      [inFebruary, { from: '2025-12', to: '2026-02' }],
    ] as const
    const before = await Promise.all(whole.map(([ctx, query]) => summarize(ctx, query)))
    expect(before[0]!.data.map(({ count }) => count).every((count) => count > 5)).toBe(true)
    await env.LEDGER_0.prepare("update cfdi_months set cells = 'unread' where entity = 7 and month in ('2025-12', '2026-01')").run()
    for (const [n, [ctx, query]] of whole.entries()) expect(await summarize(ctx, query)).toEqual(before[n])
    await expect(summarize(open, { from: '2025-12-02', to: '2026-01' })).rejects.toThrow('JSON')
    await expect(summarize(open, { from: '2025-12', to: '2026-01-30' })).rejects.toThrow('JSON')
    const inJanuary = contextOf({ entity: 7, ...reaching(['2018-01-01', '2026-01-17T19:23:45Z']) }, { extractor_count: 1 })
    await expect(summarize(inJanuary, { from: '2025-12', to: '2026-01' })).rejects.toThrow('JSON')
  })

  it('are as many rows however many documents the day of the latest ceiling has', async () => {
    const rowsRead = async (entity: number, count: number): Promise<number> => {
      const rows = documents(80, count, '2026-01-17', 1, entity).map((row) => ({ ...row, substituted_from: null }))
      await insertCfdi(env.LEDGER_0, rows)
      await insertMonths(env.LEDGER_0, monthsOf(rows))
      const ceiling = new Date(Math.max(...rows.map(({ issued_at }) => issued_at)) * 1_000).toISOString()
      const ctx = contextOf({ entity, ...reaching(['2018-01-01', ceiling]) }, { extractor_count: 1 })
      const { cost, result } = await costOf(env.LEDGER_0, env.FILES, () => summarize(ctx, { from: '2023-02', to: '2026-01' }))
      expect(result.data_quality.cfdi_total).toBeGreaterThan(count / 2)
      return cost.rows_read
    }
    const few = await rowsRead(8, 20)
    expect(await rowsRead(10, 400)).toBe(few)
    // The lists of directions and states count as rows.
    expect(few).toBeLessThanOrEqual(17)
  })
})

describe('the envelope', () => {
  it('says whether the floors hide anything, and not what others have downloaded', async () => {
    const insert = (id: number, issued_to: string, received_to = issued_to) =>
      env.DB.prepare(
        `insert into connections (connection, organization_id, fiscal_entity_id, entity, rfc, shard, state,
           issued_from, issued_to, received_from, received_to, linked_at, updated_at)
         values (?, ?, 'fe_x', 1, 'x', 0, 'active', '2018-01-01', ?, '2018-01-01', ?, 0, 0)`,
      )
        .bind(id, `org_${id}`, Date.parse(issued_to), Date.parse(received_to))
        .run()
    await insert(9, '2026-01-17T19:00:00Z')
    const own = bounded('2018-01-01', '2026-01-17T19:00:00Z')
    const reached = { visible_from: '2018-01-01', visible_to: '2026-01-17T19:00:00.000Z' }
    const none = { visible_from: null, visible_to: null }
    expect(await summarize(own)).toMatchObject({
      ...{ windows: { sat_cfdi_issued: reached, sat_cfdi_received: reached }, window_state: 'open', as_of: reached.visible_to },
    })
    const half = await summarize(apart(null, ['2018-01-01', '2026-01-17T19:00:00Z']))
    expect(half).toMatchObject({ windows: { sat_cfdi_issued: none, sat_cfdi_received: reached }, window_state: 'bounded' })
    expect((await summarize(contextOf({}, { extractor_count: 1 }))).window_state).toBe('empty')
    await insert(10, '2026-01-17T19:00:00Z', '2026-01-18T19:00:00Z')
    expect((await summarize(own)).window_state).toBe('open')
    expect((await summarize(apart(['2018-01-01', '2026-01-17T19:00:00Z'], ['2018-01-01', '2026-01-18T19:00:00Z']))).window_state).toBe(
      'open',
    )
    expect(await summarize(contextOf())).toMatchObject({
      windows: { sat_cfdi_issued: none, sat_cfdi_received: none },
      window_state: 'open',
    })
  })

  it('counts documents without a rate and leaves their amounts out', async () => {
    const row = rowOf({
      entity: 5,
      uuid: '00000000-0000-0000-0000-000000000001',
      fecha: '2026-01-02T10:00:00',
      currency: 'USD',
      tipo_cambio: null,
    })
    await insertCfdi(env.LEDGER_0, [row])
    await insertMonths(env.LEDGER_0, monthsOf([row]))
    const { data_quality, data } = await summarize(contextOf({ entity: 5 }), { from: '2026-01', to: '2026-01', direction: 'issued' })
    expect(data_quality).toEqual({ cfdi_total: 1, with_xml: 1, missing_rate: 1, not_counted: 0, months_missing: 1, months_downloading: 0 })
    expect(data[0]).toMatchObject({ count: 1, total: '0.00' })
  })
})
