import { applyD1Migrations, env } from 'cloudflare:test'
import { beforeAll, describe, expect, it } from 'vitest'
import { getCfdi, listPayments } from '../../../src/cfdi/detail/detail.ts'
import { findCfdi } from '../../../src/cfdi/detail/store.ts'
import { view } from '../../../src/cfdi/read-row.ts'
import { CfdiSearch } from '../../../src/cfdi/search/contract.ts'
import { searchCfdi } from '../../../src/cfdi/search/search.ts'
import { isSituacion } from '../../../src/lists/catalog.ts'
import { writeListed } from '../../../src/lists/listed/listed.ts'
import type { Ctx } from '../../../src/platform/context.ts'
import { openLedger } from '../../../src/taxpayers/visibility/scoped-ledger.ts'
import { shows, windowsOf } from '../../../src/taxpayers/visibility/window.ts'
import { contextOf, FISCAL_ENTITY, RFC, reaching } from '../../support/context.ts'
import { sample } from '../../support/fuzz.ts'
import { applicationsOf, documents, insertApplications, insertCfdi, isSubstitutedFor, type Row, rowOf } from '../support/ledger.ts'

/** Relations of some documents. */
const related = (rows: Row[]): Row[] =>
  rows.map((row, n) => ({ ...row, tipo_relacion: n % 7 === 0 ? '01' : n % 11 === 0 ? '04,07' : null }))
const OWN = related(documents(1, 600, '2026-01-01', 40))
// Half of what was imported is known from the authority too.
const IMPORTED = [...documents(2, 60, '2026-01-01', 60, -9), ...OWN.filter((_, n) => n % 10 === 0).map((row) => ({ ...row, entity: -9 }))]
const STRANGERS = documents(3, 50, '2026-01-01', 40, 2)

beforeAll(async () => {
  await applyD1Migrations(env.LEDGER_0, env.LEDGER_MIGRATIONS)
  await insertCfdi(env.LEDGER_0, [...OWN, ...IMPORTED, ...STRANGERS])
  await insertApplications(env.LEDGER_0, applicationsOf([...OWN, ...IMPORTED]))
})

type Query = Record<string, string>

const ask = (query: Query) => CfdiSearch.parse({ fiscal_entity_id: FISCAL_ENTITY, ...query })

async function walk(ctx: Ctx, query: Query): Promise<{ uuids: string[]; pages: number }> {
  const uuids: string[] = []
  let cursor: string | undefined
  for (let pages = 1; ; pages += 1) {
    const page = await searchCfdi(ctx, ask({ ...query, ...(cursor && { cursor }) }))
    uuids.push(...page.data.map(({ uuid }) => uuid))
    expect(page.data.length).toBeLessThanOrEqual(Number(query['limit'] ?? 25))
    if (!page.has_more) return { uuids, pages }
    cursor = page.next_cursor!
  }
}

const csv = (text: string | undefined, value: string) => text === undefined || text.split(',').includes(value)
const is = (text: string | undefined, value: unknown) => text === undefined || text === value
const day = (text: string) => text.length === 10

/** The counterparties that are on lists. */
const LISTED: Record<string, string[]> = {
  'sat_69_firmes|': ['BBB010101BB1', RFC],
  'sat_69_exigibles|': ['XAXX010101000', 'CCC010101CC1', 'BBB010101BB1', RFC],
  'sat_69b|definitivo': ['CCC010101CC1'],
  'sat_69b|presunto': ['BBB010101BB1'],
}
const STORED = writeListed(
  Object.entries(LISTED).flatMap(([key, rfcs]) => {
    const [source = '', situacion = ''] = key.split('|')
    return rfcs.map((rfc) => ({ rfc, source, situacion: isSituacion(situacion) ? situacion : null }))
  }),
)
const isListed = (text: string | undefined, rfc: string): boolean =>
  text === undefined ||
  Object.entries(LISTED).some(([key, rfcs]) => rfcs.includes(rfc) && key.split('|').some((word) => word !== '' && csv(text, word)))

const matches = (ctx: Ctx, q: Query, row: Row): boolean =>
  is(q['direction'], row.direction === 0 ? 'issued' : 'received') &&
  is(q['estatus'], row.estatus) &&
  isListed(q['blacklist'], row.counterparty_rfc) &&
  (q['tipo_relacion'] === undefined || (row.tipo_relacion ?? '').split(',').some((one) => csv(q['tipo_relacion'], one))) &&
  csv(q['tipo_comprobante'], row.tipo_comprobante!) &&
  csv(q['payment_status'], row.payment_status ?? 'not_applicable') &&
  is(q['counterparty_rfc'], row.counterparty_rfc) &&
  is(q['emisor_rfc'], row.emisor_rfc) &&
  is(q['receptor_rfc'], row.receptor_rfc) &&
  csv(q['uuid'], row.uuid) &&
  is(q['metodo_pago'], row.metodo_pago) &&
  is(q['forma_pago'], row.forma_pago) &&
  is(q['currency'], row.currency) &&
  is(q['serie'], row.serie) &&
  is(q['has_xml'], String(Boolean(row.xml_object))) &&
  is(q['has_pdf'], String(Boolean(row.xml_object))) &&
  is(q['kind'], row.kind) &&
  is(q['is_substituted'], String(isSubstitutedFor(ctx)(row))) &&
  is(q['to_itself'], String(row.emisor_rfc === row.receptor_rfc)) &&
  (q['total_min'] === undefined || Number(row.total) >= Number(q['total_min'])) &&
  (q['total_max'] === undefined || Number(row.total) <= Number(q['total_max'])) &&
  (q['balance_min'] === undefined || (row.tipo_comprobante === 'I' && row.total_micros! - row.paid >= Number(q['balance_min']) * 1e6)) &&
  from(q['issued_from'], row.fecha, row.issued_at) &&
  to(q['issued_to'], row.fecha, row.issued_at) &&
  ((q['cancelled_from'] === undefined && q['cancelled_to'] === undefined) || row.estatus === 'cancelado') &&
  from(q['cancelled_from'], row.cancelled_at ?? '', Date.parse(row.cancelled_at ?? '') / 1000) &&
  to(q['cancelled_to'], row.cancelled_at ?? '', Date.parse(row.cancelled_at ?? '') / 1000)

const from = (bound: string | undefined, local: string, instant: number) =>
  bound === undefined || (day(bound) ? local.slice(0, 10) >= bound : instant * 1000 >= Date.parse(bound))
const to = (bound: string | undefined, local: string, instant: number) =>
  bound === undefined || (day(bound) ? local.slice(0, 10) <= bound : instant * 1000 <= Date.parse(bound))

function oracle(ctx: Ctx, query: Query): string[] {
  const { organization, connection } = ctx
  const { issued, received } = windowsOf(organization.extractor_count, connection!)
  const seen = OWN.filter((row) => shows(row.direction === 0 ? issued : received, row))
  const known = new Set(seen.map(({ uuid }) => uuid))
  const imported = connection!.imported_at === null ? [] : IMPORTED.filter(({ uuid }) => !known.has(uuid))
  return [...seen, ...imported]
    .filter((row) => matches(ctx, query, row))
    .sort((a, b) => b.issued_at - a.issued_at || (a.uuid < b.uuid ? 1 : -1))
    .map(({ uuid }) => uuid)
}

const WINDOWS: [string, Ctx][] = (
  [
    ['everything', contextOf()],
    ['before the first extraction', contextOf({}, { extractor_count: 2 })],
    ['a floor and a ceiling', contextOf(reaching(['2026-01-10', '2026-01-25T06:30:00.400Z']), { extractor_count: 2 })],
    ['issued ones alone', contextOf(reaching(['2026-01-10', '2026-01-25T06:30:00.400Z'], null), { extractor_count: 2 })],
    ['received ones alone', contextOf(reaching(null, ['2026-01-10', '2026-01-25T06:30:00.400Z']), { extractor_count: 2 })],
    [
      'two windows',
      contextOf(reaching(['2026-01-03', '2026-01-20T18:00:00Z'], ['2026-01-10', '2026-01-25T06:30:00.400Z']), { extractor_count: 2 }),
    ],
    [
      'two windows and imports',
      contextOf(
        { imported_at: 1, ...reaching(['2026-01-12', '2026-01-20T18:00:00Z'], ['2026-01-03', '2026-01-15T06:00:00Z']) },
        { extractor_count: 1 },
      ),
    ],
    ['imports', contextOf({ imported_at: 1 })],
    ['imports only', contextOf({ imported_at: 1 }, { extractor_count: 1 })],
    ['imports and a window', contextOf({ imported_at: 1, ...reaching(['2026-01-12', '2026-01-20T18:00:00Z']) }, { extractor_count: 1 })],
  ] as [string, Ctx][]
).map(([name, ctx]) => [name, { ...ctx, connection: { ...ctx.connection!, listed: STORED } }])

const QUERIES: Query[] = [
  {},
  { limit: '7' },
  { limit: '100' },
  { direction: 'received' },
  { direction: 'issued', estatus: 'cancelado' },
  { estatus: 'vigente' },
  { tipo_comprobante: 'E' },
  { tipo_comprobante: 'E,N', direction: 'issued' },
  { tipo_comprobante: 'I,E,P' },
  { tipo_comprobante: 'I', estatus: 'vigente', direction: 'received' },
  { payment_status: 'unpaid' },
  { payment_status: 'unpaid,partially_paid' },
  { payment_status: 'paid,not_applicable' },
  { payment_status: 'unpaid,partially_paid,paid' },
  { counterparty_rfc: 'BBB010101BB1' },
  { counterparty_rfc: 'BBB010101BB1', estatus: 'vigente', tipo_comprobante: 'I' },
  { counterparty_rfc: RFC },
  { emisor_rfc: RFC },
  { emisor_rfc: 'CCC010101CC1' },
  { receptor_rfc: RFC },
  { receptor_rfc: RFC, tipo_comprobante: 'I' },
  { receptor_rfc: RFC, emisor_rfc: 'BBB010101BB1' },
  { receptor_rfc: 'CCC010101CC1', direction: 'received' },
  { metodo_pago: 'PPD', direction: 'issued' },
  { forma_pago: '99', currency: 'USD', serie: 'A' },
  { issued_from: '2026-01-12', issued_to: '2026-01-14' },
  { issued_from: '2026-01-12T06:00:00-06:00', issued_to: '2026-01-14T12:00:00Z', direction: 'issued' },
  { cancelled_from: '2026-01-05', cancelled_to: '2026-01-20T10:00:00-06:00' },
  { blacklist: 'definitivo' },
  { blacklist: 'sat_69_firmes', limit: '7' },
  { blacklist: 'sat_69b,sat_69_exigibles', direction: 'received', estatus: 'vigente' },
  { blacklist: 'sat_69_exigibles', issued_from: '2026-01-12' },
  { blacklist: 'presunto,definitivo', payment_status: 'unpaid', tipo_comprobante: 'I' },
  { blacklist: 'presunto', counterparty_rfc: 'CCC010101CC1' },
  { blacklist: 'presunto', receptor_rfc: RFC },
  { blacklist: 'desvirtuado,sat_csd_sin_efectos' },
  {
    blacklist: 'sat_69b',
    uuid: OWN.slice(0, 40)
      .map(({ uuid }) => uuid)
      .join(','),
  },
  { tipo_relacion: '01' },
  { tipo_relacion: '04,01', direction: 'issued' },
  { tipo_relacion: '07', blacklist: 'sat_69b' },
  { tipo_relacion: '09' },
  { total_min: '5000', total_max: '9000.5' },
  { balance_min: '100' },
  { has_xml: 'true', estatus: 'vigente' },
  { has_pdf: 'true', uuid: OWN[0]!.uuid },
  { has_pdf: 'false', kind: 'cfdi', to_itself: 'false' },
  { to_itself: 'true', limit: '100' },
  { is_substituted: 'true' },
  { is_substituted: 'false', estatus: 'vigente', direction: 'received' },
  {
    uuid: OWN.slice(0, 20)
      .map(({ uuid }) => uuid)
      .join(','),
    limit: '3',
  },
  {
    uuid: [...OWN, ...IMPORTED]
      .filter((_, n) => n % 7 === 0)
      .slice(0, 100)
      .map(({ uuid }) => uuid)
      .join(','),
    direction: 'issued',
    issued_to: '2026-01-15',
  },
]

describe.each(WINDOWS)('GET /v1/cfdi, %s', (name, ctx) => {
  const at = WINDOWS.findIndex(([one]) => one === name)
  it.each(sample(QUERIES, 2, at))('answers what a plain search answers: %j', async (query) => {
    expect((await walk(ctx, query)).uuids).toEqual(oracle(ctx, query))
  })
})

describe('the edges of a window', () => {
  const windowed = (from: string, to: string) => contextOf({ entity: 3, ...reaching([from, to]) }, { extractor_count: 1 })
  const uuid = (n: number) => `00000000-0000-0000-0000-00000000000${n}`

  beforeAll(() =>
    insertCfdi(env.LEDGER_0, [
      rowOf({ entity: 3, uuid: uuid(1), fecha: '2026-02-01T00:00:00', utc_offset: -300 }),
      rowOf({ entity: 3, uuid: uuid(2), fecha: '2026-01-31T23:59:59', utc_offset: -480 }),
      rowOf({ entity: 3, uuid: uuid(3), fecha: '2026-02-01T00:00:00', utc_offset: -480 }),
      rowOf({ entity: 3, uuid: uuid(4), fecha: '2026-02-02T12:00:00', utc_offset: -360 }),
      rowOf({ entity: 3, uuid: uuid(5), fecha: '2026-02-02T12:00:01', utc_offset: -360 }),
    ]),
  )

  it.each([
    // The floor is a literal day, whatever the zone: 1 is issued before 2, and is inside.
    ['2026-02-01', '2026-02-02T18:00:01Z', [5, 4, 3, 1]],
    // The ceiling is an instant, inclusive to the second.
    ['2026-02-01', '2026-02-02T18:00:00.999Z', [4, 3, 1]],
    ['2026-02-01', '2026-02-02T17:59:59.999Z', [3, 1]],
    ['2026-01-31', '2026-02-01T07:59:59Z', [2, 1]],
    ['2026-01-31', '2026-02-01T08:00:00Z', [3, 2, 1]],
    ['2026-01-31', '2026-02-01T05:00:00Z', [1]],
    ['2026-02-03', '2026-02-03T00:00:00Z', []],
  ])('from %s to %s shows %j', async (floor, ceiling, expected) => {
    expect((await walk(windowed(floor, ceiling), {})).uuids).toEqual(expected.map(uuid))
  })

  it('goes on from a cursor that a wider window gave without showing more than the window', async () => {
    const first = await searchCfdi(contextOf({ entity: 3 }), ask({ limit: '1' }))
    const bounded = windowed('2026-02-01', '2026-02-01T06:00:00Z')
    const second = await searchCfdi(bounded, ask({ limit: '1', cursor: first.next_cursor! }))
    expect(second.data.map((one) => one.uuid)).toEqual([uuid(1)])
  })

  it('does not show a payment that was issued after the ceiling', async () => {
    const invoice = rowOf({
      entity: 4,
      uuid: uuid(6),
      fecha: '2026-01-10T10:00:00',
      metodo_pago: 'PPD',
      total: '100.00',
      paid: 100e6,
      payment_status: 'paid',
      applied_until: Date.parse('2026-01-20T10:00:00-06:00') / 1_000,
    })
    const payment = (n: number, fecha: string) =>
      rowOf({ entity: 4, uuid: uuid(n), fecha, tipo_comprobante: 'P', metodo_pago: null, total: '0' })
    await insertCfdi(env.LEDGER_0, [invoice, payment(7, '2026-01-12T10:00:00'), payment(8, '2026-01-20T10:00:00')])
    const applied = { entity: 4, invoice: uuid(6), n: 1, kind: 'P', currency: 'MXN' }
    await insertApplications(env.LEDGER_0, [
      { ...applied, source: uuid(7), amount: 40e6, fecha_pago: '2026-01-12T09:00:00' },
      { ...applied, source: uuid(8), amount: 60e6, fecha_pago: '2026-01-12T09:30:00' },
    ])
    const at = (ceiling: string) => contextOf({ entity: 4, ...reaching(['2026-01-01', ceiling]) }, { extractor_count: 1 })
    const shown = async (ceiling: string) => {
      const [item] = (await searchCfdi(at(ceiling), ask({ uuid: uuid(6) }))).data
      const { data: _, ...payments } = await listPayments(at(ceiling), uuid(6))
      const { payment_status, paid_amount, balance } = item!
      expect({ payment_status, paid_amount, balance }).toEqual({
        payment_status: payments.payment_status,
        paid_amount: payments.paid_amount,
        balance: payments.balance,
      })
      expect((await getCfdi(at(ceiling), uuid(6))).aplicaciones).toHaveLength(_.length)
      return [payment_status, paid_amount, balance]
    }
    expect(await shown('2026-01-11T00:00:00Z')).toEqual(['unpaid', '0.00', '100.00'])
    expect(await shown('2026-01-15T00:00:00Z')).toEqual(['partially_paid', '40.00', '60.00'])
    expect(await shown('2026-01-25T00:00:00Z')).toEqual(['paid', '100.00', '0.00'])
    expect((await searchCfdi(at('2026-01-15T00:00:00Z'), ask({ payment_status: 'paid' }))).data).toEqual([])
  })

  it('counts what is dated before the floor, alike in the list and alone, and does not tell of it', async () => {
    const before = rowOf({ entity: 5, uuid: uuid(2), fecha: '2026-01-09T23:00:00', tipo_comprobante: 'P', metodo_pago: null, total: '0' })
    const invoice = rowOf({
      ...{ entity: 5, uuid: uuid(1), fecha: '2026-01-10T01:00:00', metodo_pago: 'PPD', total: '100.00' },
      ...{ paid: 70e6, payment_status: 'partially_paid', last_payment_at: '2026-01-20T10:00:00' },
      applied_until: Date.parse('2026-01-20T10:00:00-06:00') / 1_000,
    })
    const after = rowOf({ ...before, uuid: uuid(3), fecha: '2026-01-20T10:00:00', issued_at: invoice.applied_until! })
    await insertCfdi(env.LEDGER_0, [before, invoice, after])
    const applied = { entity: 5, invoice: uuid(1), n: 1, kind: 'P', currency: 'MXN' }
    await insertApplications(env.LEDGER_0, [
      { ...applied, source: uuid(2), amount: 40e6, fecha_pago: '2026-01-09T23:00:00' },
      { ...applied, source: uuid(3), amount: 30e6, fecha_pago: '2026-01-20T10:00:00' },
    ])
    for (const [ceiling, paid, notified] of [
      ['2026-01-25T00:00:00Z', '70.00', [uuid(3)]],
      ['2026-01-15T00:00:00Z', '40.00', []],
    ] as const) {
      const ctx = contextOf({ entity: 5, ...reaching(['2026-01-10', ceiling]) }, { extractor_count: 1 })
      const [item] = (await searchCfdi(ctx, ask({}))).data.filter((one) => one.uuid === uuid(1))
      const { aplicaciones, ...detail } = await getCfdi(ctx, uuid(1))
      const { data, ...payments } = await listPayments(ctx, uuid(1))
      for (const { paid_amount } of [item!, detail, payments]) expect(paid_amount).toBe(paid)
      for (const list of [aplicaciones, data]) expect(list.map(({ source_uuid }) => source_uuid)).toEqual(notified)
    }
  })
})

/** Two RFCs with the same documents up to the ceiling. Of one, more was downloaded later: payments that change a third of the invoices. */
describe('pages under a ceiling', () => {
  const INVOICES = 36
  const BEFORE = '2026-02-01T12:00:00Z'
  const [ALONE, SHARED] = [40, 41]
  const uuid = (kind: number, n: number) => `00000000-0000-0000-000${kind}-0000000000${String(n).padStart(2, '0')}`
  const fecha = (n: number) => `2026-01-${String(1 + (n % 28)).padStart(2, '0')}T10:${String(n).padStart(2, '0')}:00`
  const payment = (entity: number, n: number, when: string) => ({
    ...rowOf({ entity, uuid: uuid(entity === ALONE ? 1 : 2, n), fecha: when, tipo_comprobante: 'P', metodo_pago: null, total: '0' }),
  })

  beforeAll(async () => {
    for (const entity of [ALONE, SHARED]) {
      const rows = Array.from({ length: INVOICES }, (_, n) => {
        const [now, later] = [n % 2 === 0 ? 0 : 40e6, entity === SHARED && n % 3 === 0 ? (n % 4 === 0 ? 60e6 : 10e6) : 0]
        const paid = now + later
        const status = paid === 0 ? 'unpaid' : paid === 100e6 ? 'paid' : 'partially_paid'
        const until = later > 0 ? '2026-02-10T10:00:00-06:00' : now > 0 ? '2026-01-30T10:00:00-06:00' : null
        return rowOf({
          ...{ entity, uuid: uuid(0, n), fecha: fecha(n), metodo_pago: 'PPD', total: '100.00', paid, payment_status: status },
          last_payment_at: until === null ? null : until.slice(0, 19),
          applied_until: until === null ? null : Date.parse(until) / 1_000,
        })
      })
      const sources = [
        payment(entity, 98, '2026-01-30T10:00:00'),
        ...(entity === SHARED ? [payment(entity, 99, '2026-02-10T10:00:00')] : []),
      ]
      await insertCfdi(env.LEDGER_0, [...rows, ...sources])
      const apply = (source: number, n: number, amount: number) => ({
        ...{ entity, invoice: uuid(0, n), source: uuid(entity === ALONE ? 1 : 2, source), n, kind: 'P', currency: 'MXN', amount },
        fecha_pago: fecha(n),
      })
      const numbers = Array.from({ length: INVOICES }, (_, n) => n)
      await insertApplications(env.LEDGER_0, [
        ...numbers.filter((n) => n % 2 === 1).map((n) => apply(98, n, 40e6)),
        ...(entity === SHARED ? numbers.filter((n) => n % 3 === 0).map((n) => apply(99, n, n % 4 === 0 ? 60e6 : 10e6)) : []),
      ])
    }
  })

  async function notified(entity: number, query: Query): Promise<unknown[]> {
    const ctx = contextOf({ entity, ...reaching(['2026-01-01', BEFORE]) }, { extractor_count: 1 })
    const pages: unknown[] = []
    for (let cursor: string | undefined; pages.length < 100; ) {
      const { data, has_more, next_cursor } = await searchCfdi(ctx, ask({ ...query, ...(cursor && { cursor }) }))
      const position = next_cursor && atob(next_cursor.split('.')[1]!.replaceAll('-', '+').replaceAll('_', '/'))
      pages.push([data.map(({ uuid: one, payment_status }) => [one, payment_status]), has_more, position])
      if (!has_more) return pages
      cursor = next_cursor!
    }
    throw new Error('The pages never end.')
  }

  const QUERIES: Query[] = [
    ...['paid', 'partially_paid', 'unpaid', 'paid,unpaid', 'paid,partially_paid,unpaid'].map((payment_status) => ({ payment_status })),
    { payment_status: 'paid', currency: 'MXN' },
    { payment_status: 'unpaid', issued_to: '2026-01-20' },
    { balance_min: '50.00' },
    { balance_min: '99999999' },
    { paid_from: '2026-01-01' },
    { paid_from: '2026-01-31' },
    { paid_to: '2026-02-20' },
    ...['paid', 'unpaid', 'partially_paid'].map((payment_status) => ({
      ...{ payment_status, uuid: Array.from({ length: INVOICES }, (_, n) => uuid(0, n)).join(',') },
    })),
  ]

  it.each(QUERIES)('%j tell nothing of payments after it', async (query) => {
    for (const limit of ['1', '2', '5', '50'])
      expect(await notified(SHARED, { ...query, limit })).toEqual(await notified(ALONE, { ...query, limit }))
  })
})

/** What would be told without it: when a stranger first downloaded a document. */
describe('updated_at', () => {
  const uuid = (n: number) => `00000000-0000-0000-0000-0000000000a${n}`
  const EARLIER = Date.parse('2026-01-05T12:00:00Z')
  const FIRST = '2026-01-20T18:00:00.000Z'
  const LATER = Date.parse('2026-01-25T09:00:00Z')
  const row = (n: number, updated_at: number, entity = 6) => rowOf({ entity, uuid: uuid(n), fecha: `2026-01-0${n}T10:00:00`, updated_at })

  beforeAll(() => insertCfdi(env.LEDGER_0, [row(1, EARLIER), row(2, LATER), row(3, EARLIER, -8)]))

  const ctx = contextOf({ entity: 6, connection: 8, imported_at: 1, first_active_at: Date.parse(FIRST) })
  const listed = async () => (await searchCfdi(ctx, ask({}))).data.map((one) => [one.uuid, one.updated_at])

  it('is not before the connection first became active, alike in the list and alone', async () => {
    const imported = [uuid(3), new Date(EARLIER).toISOString()]
    const [changed, known] = [
      [uuid(2), new Date(LATER).toISOString()],
      [uuid(1), FIRST],
    ]
    expect(await listed()).toEqual([imported, changed, known])
    for (const [one, updated_at] of [imported, changed, known]) expect((await getCfdi(ctx, one!)).updated_at).toBe(updated_at)
  })

  it('stands alone: no answer says when the service first had a document', async () => {
    for (const one of [(await searchCfdi(ctx, ask({}))).data[0]!, await getCfdi(ctx, uuid(1))])
      expect(one).not.toHaveProperty('first_seen_at')
  })
})

describe('a document of a page', () => {
  it('has every character and digit that is stored, with and without a scan, as a row of columns has', async () => {
    const exactRow = '"A\\B" \t\u2028\u0001 ñ 😀 \u{1F9FE}</x>'
    const rows = documents(20, 40, '2026-01-01', 10, 20).map((row, n) =>
      n % 2 === 0
        ? row
        : { ...row, serie: exactRow, receptor_nombre: exactRow, total: '9'.repeat(18), total_micros: `${'9'.repeat(18)}000000` },
    )
    await insertCfdi(env.LEDGER_0, rows as Row[])
    const ctx = contextOf({ entity: 20 })
    const [plain, scanned] = await Promise.all([searchCfdi(ctx, ask({ limit: '40' })), searchCfdi(ctx, ask({ limit: '40', kind: 'cfdi' }))])
    expect(plain.data).toHaveLength(40)
    expect(scanned).toEqual({ ...plain, next_cursor: scanned.next_cursor })
    expect(plain.data.filter(({ serie, receptor_nombre }) => serie === exactRow && receptor_nombre === exactRow)).toHaveLength(20)
    for (const one of plain.data) {
      const { row, partition } = (await findCfdi(openLedger(ctx), one.uuid))!
      expect(view(row, { fiscal_entity_id: FISCAL_ENTITY, partition })).toEqual(one)
    }
  })
})

describe('what is refused', () => {
  it('refuses a cursor that was changed, or is of another query or organization', async () => {
    const cursor = (await searchCfdi(contextOf(), ask({}))).next_cursor!
    const malformed = expect.objectContaining({ kind: 'malformed', code: 'cursor.invalid' })
    const again = (ctx: Ctx, query: Query) => searchCfdi(ctx, ask(query))
    await expect(again(contextOf(), { cursor: cursor.replace(/.(?=.{9}$)/, (one) => (one === 'A' ? 'B' : 'A')) })).rejects.toEqual(
      malformed,
    )
    await expect(again(contextOf(), { cursor: `2${cursor.slice(1)}` })).rejects.toEqual(malformed)
    await expect(again(contextOf(), { cursor, direction: 'issued' })).rejects.toEqual(malformed)
    await expect(again(contextOf({}, { organization: 'org_01kabcdefghjkmnpqrstvwxyz1' }), { cursor })).rejects.toEqual(malformed)
    await expect(again(contextOf({ fiscal_entity_id: 'fe_01kabcdefghjkmnpqrstvwxyz1' }), { cursor })).rejects.toEqual(malformed)
  })

  it('is 404 without an active connection', async () => {
    const refused = (code: string) => expect.objectContaining({ kind: 'not_found', code })
    await expect(searchCfdi(contextOf(null), ask({}))).rejects.toEqual(refused('fiscal_entity.not_found'))
    await expect(searchCfdi(contextOf({ state: 'paused' }), ask({}))).rejects.toEqual(refused('fiscal_entity.not_active'))
  })

  it.each(['include', 'estado', 'order'])('knows no filter %s', (name) => {
    expect(CfdiSearch.safeParse({ fiscal_entity_id: FISCAL_ENTITY, [name]: 'x' }).success).toBe(false)
  })

  it.each([
    { tipo_comprobante: 'I,X' },
    { blacklist: 'sat_70' },
    { blacklist: 'custom:No' },
    { tipo_relacion: '1' },
    { tipo_comprobante: '' },
    { uuid: 'nope' },
    { issued_from: '2026-02-30' },
    { issued_from: '2026-02-01T00:00:00' },
    { total_min: '1e3' },
    { paid_from: '2026-02-01T00:00:00Z' },
    { limit: '101' },
    { q: 'x' },
    { q: 'x'.repeat(101) },
    { sort: 'fecha' },
    { fields: 'uuid,nothing' },
    { fiscalEntityId: 'fe_01kabcdefghjkmnpqrstvwxyz1' },
  ])('refuses %j', (query) => {
    expect(CfdiSearch.safeParse({ fiscal_entity_id: FISCAL_ENTITY, ...query }).success).toBe(false)
  })
})
