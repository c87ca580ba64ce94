import { applyD1Migrations, env } from 'cloudflare:test'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Cfdi } from '../../../src/cfdi/contract.ts'
import { CfdiSearch, CfdiSumQuery } from '../../../src/cfdi/search/contract.ts'
import { searchCfdi, sumCfdi } from '../../../src/cfdi/search/search.ts'
import type { Ctx } from '../../../src/platform/context.ts'
import { shows, windowsOf } from '../../../src/taxpayers/visibility/window.ts'
import { contextOf, FISCAL_ENTITY, RFC, reaching } from '../../support/context.ts'
import { runs } from '../../support/fuzz.ts'
import { grantedRangesOf } from '../../support/granted-ranges.ts'
import { costOf } from '../../support/meter.ts'
import { randomOf, uuidFrom } from '../../support/random.ts'
import { insertCfdi, type Row, rowOf } from '../support/ledger.ts'

/** Any filters, sorts and limits over a random history give what a plain search gives, and no page is empty while more follow. */

const HISTORY = 50
const IMPORTS = -57
const LARGE = 51
const SEARCHES = runs(16, 6_000)

const NAMES = ['ACEROS DEL NORTE SA DE CV', 'Café de la Peña', 'CAFE\u0301 LA PEN\u0303A', 'Ünïón Ágüila', 'GRUPO 100% NATURAL', null]
const SERIES = ['A', 'FAC', 'b', null]
const TIPOS = ['I', 'I', 'I', 'E', 'P', 'N']
const PARTIES = ['BBB010101BB1', 'CCC010101CC1', 'XAXX010101000', RFC]

const random = randomOf(20_261)
const pickWith =
  (next: () => number) =>
  <T>(list: readonly T[]): T =>
    list[Math.floor(next() * list.length)]!

function documentWith(next: () => number, entity: number): Row {
  const pick = pickWith(next)
  const party = pick(PARTIES)
  const direction = party === RFC ? 0 : pick([0, 1] as const)
  const tipo_comprobante = pick(TIPOS)
  const utc_offset = pick([-360, -360, -360, -300, -420, -480])
  // Few instants, so that many documents have the same one.
  const at = Date.parse('2026-01-01T06:00:00Z') + Math.floor(next() * 900) * 3 * 3_600_000
  const isCancelled = next() < 0.15
  return rowOf({
    ...{ entity, uuid: uuidFrom(next), direction, tipo_comprobante, counterparty_rfc: party, utc_offset },
    fecha: new Date(at + utc_offset * 60_000).toISOString().slice(0, 19),
    estatus: isCancelled ? 'cancelado' : 'vigente',
    cancelled_at: isCancelled ? '2026-03-01T10:00:00-06:00' : null,
    metodo_pago: tipo_comprobante === 'I' ? pick(['PUE', 'PPD']) : null,
    payment_status: tipo_comprobante === 'I' ? pick(['paid', 'partially_paid', 'unpaid'] as const) : null,
    total: pick(['0.10', '9.99', '116.00', '116.00', '1000.00', '20000.5', '-5.00', (next() * 10_000).toFixed(2)]),
    ...{ emisor_nombre: pick(NAMES), receptor_nombre: pick(NAMES), serie: pick(SERIES), folio: String(Math.floor(next() * 500)) },
    currency: pick(['MXN', 'MXN', 'USD']),
    forma_pago: pick(['01', '03', '99']),
  })
}

const OWN = Array.from({ length: 900 }, () => documentWith(random, HISTORY))
for (const row of OWN.slice(0, 8)) Object.assign(row, { total: null, total_micros: null, total_mxn: null })
const IMPORTED = [
  ...OWN.filter((_, n) => n % 3 === 0).map((row) => ({ ...row, entity: IMPORTS })),
  ...Array.from({ length: 80 }, () => documentWith(random, IMPORTS)),
]

beforeAll(async () => {
  await applyD1Migrations(env.LEDGER_0, env.LEDGER_MIGRATIONS)
  await insertCfdi(env.LEDGER_0, [...OWN, ...IMPORTED])
})

type Query = Record<string, string>
const ask = (query: Query) => CfdiSearch.parse({ fiscal_entity_id: FISCAL_ENTITY, ...query })

const plain = (text: string | null | undefined): string => (text ?? '').normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()

function fits(row: Row, query: Query): boolean {
  const has = (name: string, value: unknown) => query[name] === undefined || query[name].split(',').includes(String(value))
  const q = plain(query['q'])
  const spaced = row.serie === null || row.folio === null ? '' : `${row.serie} ${row.folio}`
  const texts = [row.emisor_nombre, row.receptor_nombre, `${row.serie ?? ''}${row.folio ?? ''}`, spaced].map(plain)
  return (
    has('direction', row.direction === 0 ? 'issued' : 'received') &&
    has('estatus', row.estatus) &&
    has('tipo_comprobante', row.tipo_comprobante) &&
    has('payment_status', row.payment_status ?? 'not_applicable') &&
    has('counterparty_rfc', row.counterparty_rfc) &&
    has('currency', row.currency) &&
    has('forma_pago', row.forma_pago) &&
    has('serie', row.serie) &&
    (query['issued_from'] === undefined || row.fecha.slice(0, 10) >= query['issued_from']) &&
    (query['issued_to'] === undefined || row.fecha.slice(0, 10) <= query['issued_to']) &&
    (query['total_min'] === undefined || (row.total !== null && Number(row.total) >= Number(query['total_min']))) &&
    (query['q'] === undefined ||
      texts.some((text) => text.includes(q)) ||
      texts.slice(0, 2).some((name) => q.split(/\s+/).every((word) => name.includes(word))) ||
      row.uuid.toLowerCase().startsWith(q) ||
      [row.emisor_rfc, row.receptor_rfc].map(plain).includes(q))
  )
}

function oracle(ctx: Ctx, query: Query): string[] {
  const { issued, received } = windowsOf(ctx.organization.extractor_count, ctx.connection!)
  const seen = OWN.filter((row) => shows(row.direction === 0 ? issued : received, row))
  const known = new Set(seen.map(({ uuid }) => uuid))
  const all = [...seen, ...(ctx.connection!.imported_at === null ? [] : IMPORTED.filter(({ uuid }) => !known.has(uuid)))]
  const newest = (a: Row, b: Row) => b.issued_at - a.issued_at || (a.uuid < b.uuid ? 1 : -1)
  const total = (row: Row, missing: number) => (row.total === null || row.total === undefined ? missing : Number(row.total))
  const orders: Record<string, (a: Row, b: Row) => number> = {
    '-issued_at': newest,
    issued_at: (a, b) => -newest(a, b),
    '-total': (a, b) => total(b, Number.NEGATIVE_INFINITY) - total(a, Number.NEGATIVE_INFINITY) || newest(a, b),
    total: (a, b) => {
      const [x, y] = [total(a, Number.MAX_VALUE), total(b, Number.MAX_VALUE)]
      return x === y ? newest(a, b) : x - y
    },
  }
  return all
    .filter((row) => fits(row, query))
    .sort((a, b) => {
      const order = orders[query['sort'] ?? '-issued_at']!(a, b)
      return Number.isNaN(order) ? newest(a, b) : order
    })
    .map(({ uuid }) => uuid)
}

async function walk(ctx: Ctx, query: Query): Promise<Cfdi[]> {
  const all: Cfdi[] = []
  for (let cursor: string | undefined, first = true; ; first = false) {
    const page = await searchCfdi(ctx, ask({ ...query, ...(cursor && { cursor }) }))
    all.push(...page.data)
    const limit = Number(query['limit'] ?? 25)
    expect(page.data.length).toBeLessThanOrEqual(limit)
    // So few documents are never too many to look at.
    if (page.has_more) expect(page.data.length).toBe(limit)
    if (!first) expect(page.data.length).toBeGreaterThan(0)
    expect([page.scanned_through, page.data_status === null]).toEqual([null, !first])
    expect(page.has_more).toBe(page.next_cursor !== null)
    if (!page.has_more) return all
    cursor = page.next_cursor!
  }
}

const bounded = (imported: boolean) =>
  contextOf(
    {
      ...{ entity: HISTORY, connection: 57, imported_at: imported ? 1 : null },
      ...reaching(['2026-01-20', '2026-04-02T18:00:00Z'], ['2026-02-03', '2026-03-20T06:00:00Z']),
    },
    { extractor_count: 2 },
  )
const open = contextOf({ entity: HISTORY, connection: 57 })
const withImports = contextOf({ entity: HISTORY, connection: 57, imported_at: 1 })

function searchWith(next: () => number): Query {
  const pick = pickWith(next)
  const maybe = (share: number, query: () => Query): Query => (next() < share ? query() : {})
  const days = ['2026-01-15', '2026-02-01', '2026-02-28', '2026-03-20'] as const
  const words = [
    'peña',
    'PENA',
    'cafe',
    'café de',
    'norte sa',
    'aguila',
    'unión ag',
    'norte ACEROS',
    'peña cafe',
    'la  pena, cafe',
    'agui uni',
    'cafe norte',
    'fac 12',
    'yucuná ceño øæ',
    '100%',
    'FAC1',
    'a12',
    'b4',
    'a 12',
    'b 4',
    PARTIES[0]!,
    PARTIES[1]!.toLowerCase(),
    'no existe',
    '_a',
    '%%',
  ]
  return {
    limit: pick(['1', '3', '10', '25', '100']),
    ...maybe(0.5, () => ({ sort: pick(['issued_at', '-issued_at', 'total', '-total']) })),
    ...maybe(0.35, () => ({
      q:
        next() < 0.2
          ? pick(OWN)
              .uuid.slice(0, pick([2, 5, 8, 12]))
              .toLowerCase()
          : pick(words),
    })),
    ...maybe(0.3, () => ({ direction: pick(['issued', 'received']) })),
    ...maybe(0.3, () => ({ estatus: pick(['vigente', 'cancelado']) })),
    ...maybe(0.3, () => ({ tipo_comprobante: pick(['I', 'E', 'E,N', 'I,P']) })),
    ...maybe(0.2, () => ({ payment_status: pick(['unpaid', 'paid,unpaid', 'partially_paid,not_applicable']) })),
    ...maybe(0.2, () => ({ counterparty_rfc: pick(PARTIES) })),
    ...maybe(0.3, () => ({ currency: 'USD' })),
    ...maybe(0.2, () => ({ forma_pago: pick(['01', '98']) })),
    ...maybe(0.1, () => ({ serie: pick(['A', 'b']) })),
    ...maybe(0.15, () => ({ total_min: pick(['116', '9999.99']) })),
    ...maybe(0.3, () => ({ issued_from: pick(days.slice(0, 2)) })),
    ...maybe(0.3, () => ({ issued_to: pick(days.slice(2)) })),
  }
}

/** The rows of the sums of documents, out of their amounts in cents. */
function sumsOf(found: readonly Cfdi[]) {
  const alike = ({ direction, kind, tipo_comprobante, estatus, is_substituted, currency }: Cfdi) =>
    ({ direction, kind, tipo_comprobante, estatus, is_substituted, currency }) as const
  const sum = (amounts: (string | null)[]) => (amounts.reduce((all, one) => all + Math.round(Number(one) * 100), 0) / 100).toFixed(2)
  return [...Map.groupBy(found, (one) => JSON.stringify(Object.values(alike(one))))]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, own]) => ({
      ...alike(own[0]!),
      count: own.length,
      total: sum(own.map(({ total }) => total)),
      balance: own.some(({ balance }) => balance !== null) ? sum(own.map(({ balance }) => balance)) : null,
    }))
}

describe('any search over a random history', () => {
  const next = randomOf(77)
  const contexts: [string, Ctx][] = [
    ['everything', open],
    ['imports too', withImports],
    ['two windows', bounded(false)],
    ['two windows and imports', bounded(true)],
  ]
  it.each(contexts)('pages of %s are what a plain search finds', { timeout: 240_000 }, async (_, ctx) => {
    for (let n = 0; n < SEARCHES / contexts.length; n++) {
      const query = searchWith(next)
      const found = await walk(ctx, query)
      expect(
        found.map(({ uuid }) => uuid),
        JSON.stringify(query),
      ).toEqual(oracle(ctx, query))
      const { limit: _, sort: __, ...filters } = query
      expect(await sumCfdi(ctx, CfdiSumQuery.parse({ fiscal_entity_id: FISCAL_ENTITY, ...filters })), JSON.stringify(filters)).toEqual({
        ...{ fiscal_entity_id: FISCAL_ENTITY, count: found.length, scanned_through: null, has_more: false, next_cursor: null },
        data: sumsOf(found),
      })
    }
  })
})

describe('what a page says', () => {
  it('has only the fields that are asked for, also while the cursor goes on without them', async () => {
    const page = await searchCfdi(open, ask({ fields: 'uuid,total,uuid', limit: '2' }))
    expect(page.data.map((one) => Object.keys(one))).toEqual([
      ['uuid', 'total'],
      ['uuid', 'total'],
    ])
    const next = await searchCfdi(open, ask({ limit: '1', cursor: page.next_cursor! }))
    expect(next.data[0]).toHaveProperty('receptor_nombre')
  })

  it('refuses a cursor of another sort or search', async () => {
    const { next_cursor } = await searchCfdi(open, ask({ limit: '1' }))
    for (const query of [{ sort: 'issued_at' }, { sort: '-total' }, { q: 'cafe' }] as Query[])
      await expect(searchCfdi(open, ask({ ...query, cursor: next_cursor! }))).rejects.toMatchObject({ code: 'cursor.invalid' })
    expect((await searchCfdi(open, ask({ sort: '-issued_at', cursor: next_cursor! }))).data).toHaveLength(25)
  })

  it('has what is left to pay in MXN, and the day on which it is due', async () => {
    const billed = { entity: 52, metodo_pago: 'PPD', payment_status: 'unpaid' as const, fecha: '2026-01-30T23:00:00' }
    await insertCfdi(env.LEDGER_0, [
      rowOf({ ...billed, uuid: uuidFrom(random), total: '100.00', terms_days: 30 }),
      rowOf({ ...billed, uuid: uuidFrom(random), total: '200.00', currency: 'USD', tipo_cambio: '17.5', paid: 50e6 }),
      rowOf({ ...billed, uuid: uuidFrom(random), total: '300.00', currency: 'EUR', terms_days: 0 }),
    ])
    const { data } = await searchCfdi(contextOf({ entity: 52 }), ask({ sort: 'total' }))
    expect(data.map(({ balance, balance_mxn, due_date }) => [balance, balance_mxn, due_date])).toEqual([
      ['100.00', '100.00', '2026-03-01'],
      ['150.00', '2625.00', null],
      ['300.00', null, '2026-01-30'],
    ])
  })
})

it('finds what has been due for so many days, by its own terms or those of the rule, and nothing that nobody owes', async () => {
  const billed = { entity: 55, metodo_pago: 'PPD', payment_status: 'unpaid' as const, fecha: '2026-01-10T23:59:00', terms_days: 20 }
  const rows = {
    stated: rowOf({ ...billed, uuid: uuidFrom(random) }),
    later: rowOf({ ...billed, uuid: uuidFrom(random), terms_days: 21 }),
    unstated: rowOf({ ...billed, uuid: uuidFrom(random), fecha: '2025-12-31T00:00:00', terms_days: null }),
    unstatedLater: rowOf({ ...billed, uuid: uuidFrom(random), fecha: '2026-01-01T00:00:00', terms_days: null }),
    partly: rowOf({ ...billed, uuid: uuidFrom(random), payment_status: 'partially_paid', paid: 16e6 }),
    cancelled: rowOf({ ...billed, uuid: uuidFrom(random), estatus: 'cancelado', cancelled_at: '2026-01-11T10:00:00-06:00' }),
    paid: rowOf({ ...billed, uuid: uuidFrom(random), payment_status: 'paid', paid: 116e6 }),
    atOnce: rowOf({ ...billed, uuid: uuidFrom(random), metodo_pago: 'PUE', payment_status: 'paid' }),
    note: rowOf({ ...billed, uuid: uuidFrom(random), tipo_comprobante: 'E', payment_status: null, metodo_pago: null }),
    metadata: rowOf({ ...billed, uuid: uuidFrom(random), version: null, metodo_pago: null, payment_status: null }),
  }
  await insertCfdi(env.LEDGER_0, Object.values(rows))
  const nameOf = new Map(Object.entries(rows).map(([name, { uuid }]) => [uuid, name]))
  const due = async (now: string, query: Query) => {
    const { data } = await searchCfdi(contextOf({ entity: 55 }, { now: new Date(now) }), ask(query))
    return data.map(({ uuid }) => nameOf.get(uuid)!).sort()
  }
  // Due on 30 January; the first minutes of 1 March in UTC are of 28 February in Mexico.
  const [before, after] = ['2026-02-28T05:59:59Z', '2026-03-01T05:59:59Z']
  expect(await due(after, { overdue_days_min: '29' })).toEqual(['partly', 'stated', 'unstated'])
  expect(await due(before, { overdue_days_min: '29' })).toEqual([])
  expect(await due(after, { overdue_days_min: '28' })).toEqual(['later', 'partly', 'stated', 'unstated', 'unstatedLater'])
  expect(await due(after, { overdue_days_min: '9999' })).toEqual([])
  expect(
    await due('2026-06-01T12:00:00Z', { overdue_days_min: '29', as_of: '2026-02-28', payment_status: 'unpaid,partially_paid,paid' }),
  ).toEqual(['paid', 'partly', 'stated', 'unstated'])
  // What is chosen goes before what is meant.
  expect(await due(after, { overdue_days_min: '29', payment_status: 'partially_paid' })).toEqual(['partly'])
  expect(await due(after, { overdue_days_min: '29', estatus: 'cancelado' })).toEqual(['cancelled'])
  for (const days of ['0', '-1', '1.5', '10000', 'x'])
    expect(CfdiSearch.safeParse({ fiscal_entity_id: FISCAL_ENTITY, overdue_days_min: days }).success).toBe(false)
})

it.each(['a c e i n o u y ø æ çñÿ', Array.from({ length: 50 }, (_, n) => String.fromCharCode(0xe0 + (n % 30))).join(' ')])(
  'takes all letters and many words: %s',
  async (q) => {
    // The past and a ceiling make the deepest statements.
    const deep = { q, serie: 'A', tipo_relacion: '01', is_substituted: 'false', balance_min: '1', overdue_days_min: '1', total_min: '1' }
    for (const ctx of [open, withImports, bounded(true)])
      for (const more of [
        {},
        { as_of: '2026-02-20', paid_from: '2026-01-01' },
        { paid_to: '2026-03-01', issued_to: '2026-02-20' },
      ] as Query[]) {
        expect((await walk(ctx, { ...deep, ...more })).map(({ uuid }) => uuid)).toEqual([])
        const asked = { fiscal_entity_id: FISCAL_ENTITY, ...deep, ...more }
        expect(await sumCfdi(ctx, CfdiSumQuery.parse(asked))).toMatchObject({ count: 0, data: [] })
      }
    expect((await walk(open, { q })).map(({ uuid }) => uuid)).toEqual(oracle(open, { q }))
  },
)

describe('the data status of a search', () => {
  const AT = Date.parse('2026-02-20T18:00:00Z')
  const entity = 54
  const grantedRanges = grantedRangesOf([[AT, '2026-01-05']])
  const ctx = contextOf(
    {
      entity,
      ...reaching(['2026-01-05', '2026-02-20T18:00:00Z']),
      issued_granted_ranges: grantedRanges,
      received_granted_ranges: grantedRanges,
    },
    { extractor_count: 1, now: new Date('2026-02-21T00:00:00Z') },
  )
  const statusOf = async (query: Query = {}, of = ctx) => (await searchCfdi(of, ask(query))).data_status
  const covered = (source: string, months: object) =>
    env.LEDGER_0.prepare('insert or replace into coverage (entity, source, months) values (?, ?, ?)')
      .bind(entity, source, JSON.stringify(months))
      .run()

  it('is the severest of the months and directions that are asked for and shown', async () => {
    expect(await statusOf()).toBe('missing')
    await covered('sat_cfdi_issued', { '2026-01': [[AT, 'over']], '2026-02': [[AT, 'so_far']] })
    await covered('sat_cfdi_received', { '2026-01': [[AT, 'over']], '2026-02': [[AT, 'incomplete']] })
    expect(await statusOf()).toBe('downloading')
    expect(await statusOf({ sort: '-total' })).toBe('downloading')
    expect(await statusOf({ direction: 'issued' })).toBe('complete')
    expect(await statusOf({ issued_to: '2026-01-31' })).toBe('complete')
    expect(await statusOf({ issued_from: '2026-02-01' })).toBe('downloading')
    // The window shows nothing of these, whatever lies in them.
    for (const days of [
      ['2025-01-01', '2025-12-31'],
      ['2025-12-31', '2026-01-31'],
      ['2026-01-01', '2026-01-04'],
      ['2016-01-01', '2017-01-31'],
    ])
      expect([days, await statusOf({ direction: 'issued', issued_from: days[0]!, issued_to: days[1]! })]).toEqual([days, 'missing'])
    for (const issued_from of ['2026-02-21', '2026-03-01', '2030-01-01'])
      expect([issued_from, await statusOf({ direction: 'issued', issued_from })]).toEqual([issued_from, 'missing'])
    expect(await statusOf({ direction: 'issued', issued_to: '2025-12-31' })).toBe('missing')
    expect(await statusOf({ direction: 'issued', issued_from: '2025-12-31T23:00:00-06:00' })).toBe('missing')
    // A month that the floor divides has its own status, and what is yet to come lacks nothing.
    expect(await statusOf({ direction: 'issued', issued_from: '2026-01-01', issued_to: '2026-01-31' })).toBe('complete')
    expect(await statusOf({ direction: 'issued', issued_from: '2026-01-05', issued_to: '2030-12-31' })).toBe('complete')
    const later = contextOf(
      {
        entity,
        ...reaching(['2026-01-05', '2026-02-20T18:00:00Z']),
        issued_granted_ranges: grantedRanges,
        received_granted_ranges: grantedRanges,
      },
      { extractor_count: 1, now: new Date('2026-04-21T00:00:00Z') },
    )
    expect(await statusOf({ direction: 'issued', issued_to: '2026-04-20' }, later)).toBe('missing')
    expect(await statusOf({ direction: 'issued', issued_to: '2026-02-28' }, later)).toBe('complete')
    expect(
      await statusOf(
        { issued_from: '2026-01-05', issued_to: '2026-01-31', direction: 'issued' },
        contextOf({ entity }, { extractor_count: 1 }),
      ),
    ).toBe('missing')
    // Nobody has downloaded what came before, and without extractors it would be shown.
    expect(await statusOf({ direction: 'issued' }, contextOf({ entity }))).toBe('missing')
    expect(await statusOf({}, contextOf({ entity }, { extractor_count: 1 }))).toBe('missing')
  })
})

describe('while documents are stored', () => {
  it.each(['-issued_at', 'issued_at', '-total', 'total'])('a walk by %s loses none of those before it', async (sort) => {
    const entity = 60 + ['-issued_at', 'issued_at', '-total', 'total'].indexOf(sort)
    const next = randomOf(entity)
    const before = Array.from({ length: 120 }, () => documentWith(next, entity))
    await insertCfdi(env.LEDGER_0, before)
    const seen: string[] = []
    for (let cursor: string | undefined; ; ) {
      const page = await searchCfdi(contextOf({ entity }), ask({ sort, limit: '7', ...(cursor && { cursor }) }))
      seen.push(...page.data.map(({ uuid }) => uuid))
      if (!page.has_more) break
      cursor = page.next_cursor!
      await insertCfdi(
        env.LEDGER_0,
        Array.from({ length: 3 }, () => documentWith(next, entity)),
      )
    }
    expect(new Set(seen).size).toBe(seen.length)
    for (const { uuid } of before) expect(seen).toContain(uuid)
  })
})

/** Rows that authentication reads. */
const CONTROL_ROWS = 3

describe('more documents than a page looks at', () => {
  const SIZE = 10_500
  const large = contextOf({ entity: LARGE })
  const rare = new Set<string>()

  beforeAll(async () => {
    const rows = Array.from({ length: SIZE }, (_, n) =>
      rowOf({
        ...{ entity: LARGE, uuid: uuidFrom(random), direction: (n % 2) as 0 | 1, estatus: n % 5 === 0 ? 'cancelado' : 'vigente' },
        fecha: new Date(Date.parse('2025-01-01T00:00:00Z') + n * 3_600_000).toISOString().slice(0, 19),
        serie: n === 100 ? 'RARA' : 'A',
      }),
    )
    rare.add(rows[100]!.uuid)
    await insertCfdi(env.LEDGER_0, rows)
  })

  it.each(['-issued_at', 'issued_at'])('a page by %s is short only after 5,000, says so, and costs limit + 10,011 rows', async (sort) => {
    const shorts: number[] = []
    const found: string[] = []
    for (let cursor: string | undefined; ; ) {
      const { cost, result } = await costOf(env.LEDGER_0, env.FILES, () =>
        searchCfdi(large, ask({ serie: 'RARA', sort, limit: '25', ...(cursor && { cursor }) })),
      )
      expect(cost.rows_read + CONTROL_ROWS).toBeLessThanOrEqual(25 + 10_011)
      expect(cost.d1_calls).toBeLessThanOrEqual(2)
      found.push(...result.data.map(({ uuid }) => uuid))
      expect(result.scanned_through === null).toBe(!result.has_more)
      if (!result.has_more) break
      shorts.push(Date.parse(result.scanned_through!))
      cursor = result.next_cursor!
    }
    expect(found).toEqual([...rare])
    expect(shorts).toHaveLength(2)
    const begin = Date.parse('2025-01-01T06:00:00Z')
    const at = (n: number) => begin + n * 3_600_000
    expect(shorts).toEqual(sort === 'issued_at' ? [at(4_999), at(9_999)] : [at(SIZE - 5_000), at(SIZE - 10_000)])
  })

  it('a page of a common filter reads few rows', async () => {
    const { cost, result } = await costOf(env.LEDGER_0, env.FILES, () => searchCfdi(large, ask({ serie: 'A', limit: '100' })))
    expect([result.data.length, result.has_more, cost.d1_calls]).toEqual([100, true, 1])
    expect(cost.rows_read).toBeLessThanOrEqual(100 + 250 + 20)
  })

  it('the sums of a search are those of the newest 5,000, in one call', async () => {
    const sums = (query: Query) => sumCfdi(large, CfdiSumQuery.parse({ fiscal_entity_id: FISCAL_ENTITY, ...query }))
    const { cost, result } = await costOf(env.LEDGER_0, env.FILES, () => sums({}))
    expect([cost.d1_calls, result.scanned_through !== null, result.count]).toEqual([1, true, 5_001])
    expect(cost.rows_read).toBeLessThanOrEqual(5_001 + 9)
    const scanned = await costOf(env.LEDGER_0, env.FILES, () => sums({ serie: 'RARA' }))
    expect([scanned.cost.d1_calls, scanned.result.scanned_through !== null, scanned.result.data]).toEqual([1, true, []])
    expect(scanned.cost.rows_read + CONTROL_ROWS).toBeLessThanOrEqual(10_011)
    // 2,100 of 10,500 are cancelled.
    const cancelled = await sums({ estatus: 'cancelado' })
    expect(cancelled).toMatchObject({ count: 2_100, scanned_through: null })
    expect(cancelled.data.map(({ direction, count, total }) => [direction, count, total])).toEqual([
      ['issued', 1_050, '121800.00'],
      ['received', 1_050, '121800.00'],
    ])
  })

  it('says nothing of more when exactly as many are there as are looked at', async () => {
    await insertCfdi(
      env.LEDGER_0,
      Array.from({ length: 5_000 }, (_, n) => rowOf({ entity: 53, uuid: uuidFrom(random), fecha: `2026-01-0${1 + (n % 9)}T10:00:00` })),
    )
    const query = { serie: 'NONE', limit: '10' }
    expect(await searchCfdi(contextOf({ entity: 53 }), ask(query))).toMatchObject({ data: [], has_more: false, scanned_through: null })
    const ceiling = contextOf({ entity: 53, ...reaching(['2018-01-01', '2027-01-01T00:00:00Z']) }, { extractor_count: 1 })
    for (const more of [{ balance_min: '999' }, { payment_status: 'unpaid', balance_min: '1' }] as Query[])
      expect(await searchCfdi(ceiling, ask({ ...more, limit: '10' }))).toMatchObject({ data: [], has_more: false, scanned_through: null })
    const sorted = await searchCfdi(contextOf({ entity: 53 }), ask({ sort: 'total', limit: '10' }))
    expect([sorted.data.length, sorted.has_more]).toEqual([10, true])
  })

  it('sorts at most 5,000 by total, at the cost of a scan', async () => {
    await expect(searchCfdi(large, ask({ sort: '-total' }))).rejects.toMatchObject({
      ...{ kind: 'invalid', code: 'cfdi.too_many_to_sort', extra: { errors: [{ path: 'sort' }] } },
    })
    await expect(searchCfdi(large, ask({ sort: 'total', balance_min: '1' }))).rejects.toMatchObject({ code: 'cfdi.too_many_to_sort' })
    const { cost, result } = await costOf(env.LEDGER_0, env.FILES, () =>
      searchCfdi(large, ask({ sort: 'total', estatus: 'cancelado', limit: '100' })),
    )
    expect(result.data).toHaveLength(100)
    expect(cost.rows_read + CONTROL_ROWS).toBeLessThanOrEqual(100 + 10_011)
  })
})
