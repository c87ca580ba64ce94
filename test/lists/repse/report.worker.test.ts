import { env } from 'cloudflare:workers'
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { SupplierReport, SupplierReportQuery } from '../../../src/analytics/repse/contract.ts'
import { reportSuppliers } from '../../../src/analytics/repse/report.ts'
import type { Cfdi } from '../../../src/cfdi/contract.ts'
import { CfdiSearch } from '../../../src/cfdi/search/contract.ts'
import { searchCfdi } from '../../../src/cfdi/search/search.ts'
import { sweepLookups } from '../../../src/lists/repse/repse.ts'
import type { Ctx } from '../../../src/platform/context.ts'
import type { Page } from '../../../src/platform/paging/cursor.ts'
import { shows, windowsOf } from '../../../src/taxpayers/visibility/window.ts'
import { documents, insertCfdi, insertSuppliers, isSubstitutedFor, type Row, suppliersOf } from '../../cfdi/support/ledger.ts'
import { contextOf, FISCAL_ENTITY, type GrantedRange, RFC, reaching } from '../../support/context.ts'
import { costOf } from '../../support/meter.ts'
import { randomOf } from '../../support/random.ts'
import { holdMessages, type RepseMessage } from './support/repse.ts'

const NOW = new Date('2026-03-10T18:00:00Z')
const rfcOf = (n: number): string =>
  `PRV${String(100_101 + (n % 28) + 100 * Math.floor(n / 28)).padStart(6, '0')}${'ABCDEFGHIJK'[n % 11]}1${n % 10}`

/** Documents whose received ones are of so many suppliers, some in a currency without a rate, some of which metadata alone is known. */
function received(seed: number, count: number, suppliers: number, entity = 1): Row[] {
  const next = randomOf(seed * 31)
  return documents(seed, count, '2025-11-20', 130, entity).map((row): Row => {
    const [dice, rfc] = [next(), rfcOf(Math.floor(next() ** 2 * suppliers))]
    if (row.direction === 0) return row
    const unknown =
      dice < 0.05 ? { version: null, currency: null, tipo_cambio: null } : dice < 0.1 ? { currency: 'EUR', tipo_cambio: null } : {}
    return {
      ...row,
      ...unknown,
      emisor_rfc: rfc,
      counterparty_rfc: rfc,
      emisor_nombre: `PROVEEDOR ${rfc}`,
      kind: dice > 0.95 ? 'retenciones' : 'cfdi',
    }
  })
}

const OWN = received(21, 900, 60)
const IMPORTED = [...received(22, 80, 70, -9), ...OWN.filter((_, n) => n % 9 === 0).map((row) => ({ ...row, entity: -9 }))]

type Answer = Partial<Record<'is_registered' | 'vigencia_hasta' | 'folio' | 'razon_social', string | number | null>> & {
  checked_at: string
}

/** What the registry has answered, by supplier; of every fifth nothing. */
const ANSWERS = new Map(
  Array.from({ length: 70 }, (_, n): [string, Answer | null] => {
    const registered = { checked_at: '2026-03-10T10:00:00.000Z', is_registered: 1, folio: `F${n}`, razon_social: `REGISTRO ${n}` }
    const kinds: (Answer | null)[] = [
      null,
      { ...registered, vigencia_hasta: '2026-03-10' },
      { ...registered, vigencia_hasta: '2026-03-09' },
      { ...registered, vigencia_hasta: null },
      { checked_at: '2026-03-10T11:00:00.000Z', is_registered: 0 },
    ]
    return [rfcOf(n), kinds[n % 5]!]
  }),
)

let sent: RepseMessage[]
beforeAll(async () => {
  await insertCfdi(env.LEDGER_0, [...OWN, ...IMPORTED])
  await insertSuppliers(env.LEDGER_0, suppliersOf([...OWN, ...IMPORTED]))
})
beforeEach(async () => {
  sent = holdMessages()
  await env.DB.prepare('delete from repse_records').run()
  const known = [...ANSWERS].flatMap(([rfc, answer]) => (answer ? [{ rfc, ...answer, checked_at: Date.parse(answer.checked_at) }] : []))
  await env.DB.prepare(
    `insert into repse_records (rfc, checked_at, is_registered, folio, razon_social, vigencia_hasta, actividades, attempts)
     select value->>'rfc', value->>'checked_at', value->>'is_registered', value->>'folio', value->>'razon_social', value->>'vigencia_hasta', '[]', 0
     from json_each(?)`,
  )
    .bind(JSON.stringify(known))
    .run()
})
afterEach(() => {
  vi.restoreAllMocks()
})

const report = (ctx: Ctx, query: Record<string, string> = {}) =>
  reportSuppliers(ctx, SupplierReportQuery.parse({ fiscal_entity_id: FISCAL_ENTITY, ...query }))

const bounded = (from: string, to: string, imported_at: number | null = null) =>
  contextOf({ ...reaching([from, to]), imported_at }, { extractor_count: 1, now: NOW })

const apart = (issued: GrantedRange, received: GrantedRange, imported_at: number | null = null) =>
  contextOf({ ...reaching(issued, received), imported_at }, { extractor_count: 1, now: NOW })

const WINDOWS: [string, Ctx][] = [
  ['everything', contextOf({}, { now: NOW })],
  ['a ceiling inside a day', bounded('2018-01-01', '2026-01-17T19:23:45.600Z')],
  ['a ceiling while two days are open', bounded('2025-12-11', '2026-01-18T06:30:00Z')],
  ['a ceiling in the first hours of a month', bounded('2025-12-11', '2026-02-01T06:30:00Z')],
  ['a ceiling in the last hours of a month', bounded('2025-12-31', '2026-01-31T23:30:00Z')],
  ['a floor and a ceiling on one day', bounded('2026-01-05', '2026-01-05T20:00:00Z')],
  ['a floor at the first of a month', bounded('2026-01-01', '2026-04-05T20:00:00Z')],
  ['a floor after the ceiling’s month', bounded('2026-02-11', '2026-01-05T20:00:00Z')],
  ['issued ones alone', apart(['2025-12-11', '2026-02-18T06:30:00Z'], null)],
  ['issued ones alone and imports', apart(['2025-12-11', '2026-02-18T06:30:00Z'], null, 1)],
  ['received ones alone', apart(null, ['2025-12-11', '2026-01-18T06:30:00Z'])],
  ['two windows', apart(['2018-01-01', '2026-03-05T12:00:00Z'], ['2026-01-05', '2026-01-17T19:23:45Z'])],
  ['imports', contextOf({ imported_at: 1 }, { now: NOW })],
  ['imports and a window', bounded('2025-12-11', '2026-01-17T19:23:45Z', 1)],
  ['imports only', contextOf({ imported_at: 1 }, { extractor_count: 1, now: NOW })],
  ['nothing yet', contextOf({}, { extractor_count: 1, now: NOW })],
]

const seenBy = ({ organization, connection }: Ctx): Row[] => {
  const { issued, received } = windowsOf(organization.extractor_count, connection!)
  const seen = OWN.filter((row) => shows(row.direction === 0 ? issued : received, row))
  const known = new Set(seen.map(({ uuid }) => uuid))
  return [...seen, ...(connection!.imported_at === null ? [] : IMPORTED.filter(({ uuid }) => !known.has(uuid)))]
}

/** Cents, document by document, with numbers that are exact: no amount here has more than two decimals, no rate more than one. */
function amountOf({ tipo_comprobante, currency, version, total }: Row): number | null {
  if (version === null || currency === 'EUR') return null
  const micros = Math.round(Number(total) * 1e6) * (currency === 'USD' ? 17.5 : 1)
  return tipo_comprobante === 'E' ? -micros : micros
}
const text = (micros: number): string => ((Math.sign(micros) * Math.round(Math.abs(micros) / 1e4)) / 100 + 0).toFixed(2)

/** The report, slowly: over the documents, one supplier after the other. */
function expected(ctx: Ctx, months: number) {
  const from = new Date(Date.UTC(2026, 2 - (months - 1), 1)).toISOString().slice(0, 7)
  const rows = seenBy(ctx).filter(
    (row) =>
      row.direction === 1 &&
      row.estatus === 'vigente' &&
      !isSubstitutedFor(ctx)(row) &&
      row.kind === 'cfdi' &&
      row.emisor_rfc !== RFC &&
      (row.tipo_comprobante === 'I' || row.tipo_comprobante === 'E') &&
      row.fecha.slice(0, 7) >= from &&
      row.fecha.slice(0, 7) <= '2026-03',
  )
  const suppliers = [...new Set(rows.map(({ emisor_rfc }) => emisor_rfc))].map((rfc) => {
    const its = rows.filter(({ emisor_rfc }) => emisor_rfc === rfc)
    const answer = ANSWERS.get(rfc) ?? null
    const isPast = typeof answer?.vigencia_hasta === 'string' && answer.vigencia_hasta < '2026-03-10'
    const status = !answer ? 'unknown' : !answer.is_registered ? 'not_registered' : isPast ? 'expired' : 'registered'
    const amount = its.reduce((sum, row) => sum + (amountOf(row) ?? 0), 0)
    return {
      rfc,
      name: `PROVEEDOR ${rfc}`,
      status,
      amount,
      invoices: its.filter((row) => row.tipo_comprobante === 'I').length,
      its,
      answer,
    }
  })
  suppliers.sort((a, b) => b.amount - a.amount || (a.rfc < b.rfc ? -1 : 1))
  return { rows, suppliers }
}

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

describe.each(WINDOWS)('the supplier report through %s', (_, ctx) => {
  it.each([1, 2, 3, 4, 12, 24])('over %i months is what the documents give one by one', async (months) => {
    const notified = await report(ctx, { months: String(months), limit: '200' })
    expect(SupplierReport.parse(notified)).toEqual(notified)
    const { rows, suppliers } = expected(ctx, months)
    const sum = (status?: string) =>
      text(suppliers.filter((one) => status === undefined || one.status === status).reduce((all, { amount }) => all + amount, 0))
    const count = (status: string) => suppliers.filter((one) => one.status === status).length
    expect(notified).toMatchObject({
      fiscal_entity_id: FISCAL_ENTITY,
      supplier_count: suppliers.length,
      registered_count: count('registered'),
      not_registered_count: count('not_registered'),
      expired_count: count('expired'),
      unknown_count: count('unknown'),
      monto_total: sum(),
      monto_no_registrado: sum('not_registered'),
      monto_vencido: sum('expired'),
      monto_sin_verificar: sum('unknown'),
      truncated: false,
      data_quality: {
        ...{ cfdi_total: rows.length, with_xml: rows.filter(({ version }) => version !== null).length, not_counted: 0 },
        missing_rate: rows.filter((row) => amountOf(row) === null).length,
      },
    })
    expect(notified.suppliers.map(({ drilldown: _, ...one }) => one)).toEqual(
      suppliers.map(({ rfc, name, status, amount, invoices, answer }) => ({
        ...{ rfc, name, status, invoice_count: invoices, total_amount: text(amount) },
        folio: answer?.folio ?? null,
        razon_social: answer?.razon_social ?? null,
        vigencia_hasta: answer?.vigencia_hasta ?? null,
        days_to_expiry: answer?.vigencia_hasta ? (status === 'expired' ? -1 : 0) : null,
        checked_at: answer?.checked_at ?? null,
        is_stale: !answer,
      })),
    )
    for (const { rfc, drilldown } of notified.suppliers.slice(0, 3))
      expect(await found(ctx, drilldown)).toEqual(
        suppliers
          .find((one) => one.rfc === rfc)!
          .its.map(({ uuid }) => uuid)
          .sort(),
      )
  })
})

describe('the list', () => {
  it('is cut at the limit, what is counted is not', async () => {
    const [whole, cut] = [await report(WINDOWS[0]![1], { limit: '200' }), await report(WINDOWS[0]![1], { limit: '7' })]
    expect(whole.suppliers.length).toBeGreaterThan(40)
    expect(cut).toEqual({ ...whole, truncated: true, suppliers: whole.suppliers.slice(0, 7) })
    const { suppliers, truncated } = await report(WINDOWS[0]![1], { limit: String(whole.suppliers.length) })
    expect([suppliers.length, truncated]).toEqual([whole.suppliers.length, false])
  })

  it('has those alone that are on a list, and counts and sums these', async () => {
    const [, ctx] = WINDOWS[0]!
    const whole = await report(ctx, { limit: '200' })
    const [first, second, third] = whole.suppliers.map(({ rfc }) => rfc)
    const listed = { 'sat_69b|definitivo': [first, 'ZZZ010101AAA'], 'sat_69b|desvirtuado': [second], 'sat_69_firmes|': [third] }
    const reading = { ...ctx, connection: { ...ctx.connection!, listed: JSON.stringify(listed) } }
    const found = async (blacklist: string, limit = '200') => {
      const notified = await report(reading, { limit, blacklist })
      expect(notified.supplier_count).toBe(
        notified.registered_count + notified.not_registered_count + notified.expired_count + notified.unknown_count,
      )
      return [notified.suppliers.map(({ rfc }) => rfc), notified.monto_total]
    }
    const amountsOf = (...rfcs: (string | undefined)[]) =>
      text(
        whole.suppliers.filter(({ rfc }) => rfcs.includes(rfc)).reduce((sum, one) => sum + Math.round(Number(one.total_amount) * 1e6), 0),
      )
    expect(await found('sat_69b')).toEqual([[first], amountsOf(first)])
    expect(await found('sat_69b,sat_69_firmes')).toEqual([[first, third], amountsOf(first, third)])
    expect(await found('sat_69b,sat_69_firmes', '1')).toEqual([[first], amountsOf(first, third)])
    expect(await found('desvirtuado')).toEqual([[second], amountsOf(second)])
    expect(await found('sat_69b_bis')).toEqual([[], '0.00'])
    await expect(report(reading, { blacklist: 'custom:nada' })).rejects.toMatchObject({ code: 'blacklist.unknown' })
    expect(SupplierReportQuery.safeParse({ fiscalEntityId: FISCAL_ENTITY, blacklist: 'nada' }).success).toBe(false)
  })

  it('has 50 of the last 12 months when nothing is said, and takes no more than 200 of 24', () => {
    expect(SupplierReportQuery.parse({ fiscalEntityId: FISCAL_ENTITY })).toMatchObject({ months: 12, limit: 50 })
    for (const wrong of [{ months: '25' }, { months: '0' }, { limit: '201' }, { limit: '0' }, { months: '1.5' }, { month: '3' }])
      expect(SupplierReportQuery.safeParse({ fiscalEntityId: FISCAL_ENTITY, ...wrong }).success).toBe(false)
  })
})

describe('suppliers that the registry was not asked about', () => {
  const asked = () => sent.splice(0).flatMap((message) => ('rfcs' in message ? message.rfcs : []))
  const answer = (rfcs: readonly string[]) =>
    env.DB.prepare(
      `update repse_records set checked_at = ?2, is_registered = 0, due_at = null where rfc in (select value from json_each(?1))`,
    )
      .bind(JSON.stringify(rfcs), NOW.getTime())
      .run()

  it('are looked up, the greatest amounts first, in batches, until none is unknown', async () => {
    await env.DB.prepare('delete from repse_records').run()
    const ctx = WINDOWS[0]![1]
    const { supplier_count, suppliers } = await report(ctx, { limit: '200' })
    const first = asked()
    expect(first).toEqual(suppliers.slice(0, 50).map(({ rfc }) => rfc))
    // Those that are wanted already are not wanted again. The sweep goes on with the rest by itself.
    const unknown = [(await report(ctx)).unknown_count]
    expect(asked()).toEqual([])
    await env.DB.prepare('update repse_records set due_at = null where rfc in (select value from json_each(?))')
      .bind(JSON.stringify(first))
      .run()
    const later = vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 61_000)
    await sweepLookups(ctx)
    later.mockRestore()
    const second = asked()
    expect([...first, ...second].sort()).toEqual(suppliers.map(({ rfc }) => rfc).sort())
    for (const batch of [first, second]) {
      await answer(batch)
      unknown.push((await report(ctx)).unknown_count)
    }
    expect(unknown).toEqual([supplier_count, supplier_count - 50, 0])
    expect(asked()).toEqual([])
  })

  it('are looked up before those whose answer is older than a day, and those before nothing', async () => {
    const ctx = contextOf({}, { now: new Date('2026-03-11T10:30:00Z') })
    const { suppliers } = await report(ctx, { limit: '200' })
    const of = (checked_at: string | null) => suppliers.filter((one) => one.checked_at === checked_at).map(({ rfc }) => rfc)
    const [unknown, stale] = [of(null), of('2026-03-10T10:00:00.000Z')]
    expect(
      suppliers
        .filter(({ is_stale }) => is_stale)
        .map(({ rfc }) => rfc)
        .sort(),
    ).toEqual([...unknown, ...stale].sort())
    const wanted = asked()
    expect(wanted.slice(0, unknown.length)).toEqual(unknown)
    expect(wanted.slice(unknown.length).every((rfc) => stale.includes(rfc))).toBe(true)
    expect(wanted.length).toBe(Math.min(50, unknown.length + stale.length))
  })

  it('carry the name that the authority’s documents give them, and no name of an import', async () => {
    await env.DB.prepare('delete from repse_records').run()
    await report(bounded('2026-01-01', '2026-01-12T00:00:00Z', 1), { limit: '1' })
    const { results } = await env.DB.prepare('select rfc, name from repse_records').all<{ rfc: string; name: string | null }>()
    const shown = new Set(
      seenBy(bounded('2026-01-01', '2026-01-12T00:00:00Z'))
        .filter((row) => row.direction === 1)
        .map((row) => row.emisor_rfc),
    )
    expect(results.some(({ rfc }) => shown.has(rfc)) && results.some(({ rfc }) => !shown.has(rfc))).toBe(true)
    for (const { rfc, name } of results) expect([rfc, name]).toEqual([rfc, shown.has(rfc) ? `PROVEEDOR ${rfc}` : null])
  })

  it('whose RFC is none stay unknown and are not asked about', async () => {
    const rows = ['XAXX010101000', 'XEXX010101000', 'NADA', 'ABC991399AB1'].map((rfc, n): Row => {
      const row = OWN.find((one) => one.direction === 1 && one.estatus === 'vigente' && one.tipo_comprobante === 'I')!
      return {
        ...row,
        entity: 77,
        uuid: crypto.randomUUID().toUpperCase(),
        emisor_rfc: rfc,
        counterparty_rfc: rfc,
        kind: 'cfdi',
        substituted_from: null,
        total: String(n),
      }
    })
    await insertCfdi(env.LEDGER_0, rows)
    await insertSuppliers(env.LEDGER_0, suppliersOf(rows))
    expect(await report(contextOf({ entity: 77 }, { now: NOW }))).toMatchObject({ supplier_count: 4, unknown_count: 4 })
    expect(asked()).toEqual([])
  })
})

/** What breaks without it: a report of a large company reads all of its documents. */
describe('rows that D1 reads', () => {
  const SIZES = { 31: 3_000, 32: 24_000 }
  const rows = new Map(
    Object.entries(SIZES).map(([entity, size]) => [Number(entity), received(40 + Number(entity), size, 300, Number(entity))]),
  )
  beforeAll(async () => {
    for (const some of rows.values()) {
      await insertCfdi(env.LEDGER_0, some)
      await insertSuppliers(env.LEDGER_0, suppliersOf(some))
    }
  })

  const costs = async (entity: number, from: string, to: string) => {
    const ctx = contextOf({ entity, ...reaching([from, to]) }, { extractor_count: 1, now: NOW })
    // What is looked up now is not looked up again.
    await report(ctx)
    const { cost, result } = await costOf(env.LEDGER_0, env.FILES, () => report(ctx, { limit: '50' }))
    expect(cost.d1_calls).toBeLessThanOrEqual(5)
    // The registry's rows; four rows a month; the latest document of each that is listed or looked up: its index row and its own.
    const most = 2 * result.supplier_count + 4 * 5 + 3 * 100
    return { rows_read: cost.rows_read, most, suppliers: result.supplier_count }
  }

  it('are of suppliers and months, not of documents', async () => {
    for (const entity of rows.keys()) {
      const { rows_read, most, suppliers } = await costs(entity, '2025-11-01', '2026-04-15T00:00:00Z')
      expect(suppliers).toBeGreaterThan(180)
      expect(rows_read).toBeLessThanOrEqual(most)
    }
  })

  it('are besides of the documents that the window hides in the months that it cuts', async () => {
    for (const [entity, some] of rows) {
      const { rows_read, most } = await costs(entity, '2025-12-04', '2026-03-28T00:00:00Z')
      const hidden = some.filter(
        ({ direction, cancelled, fecha }) => direction === 1 && cancelled === 0 && (/^2025-12-0[123]/.test(fecha) || fecha >= '2026-03-27'),
      )
      expect(rows_read).toBeLessThanOrEqual(most + 2 * hidden.length)
    }
  })
})
