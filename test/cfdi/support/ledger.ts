import { getTableColumns, type Table } from 'drizzle-orm'
import { contentText, lineText } from '../../../src/cfdi/chunks/content.ts'
import { microsOf } from '../../../src/cfdi/columns.ts'
import { addProducts, type Products, writeProducts } from '../../../src/cfdi/products.ts'
import { addSupplier, type Suppliers, shareOf, writeSuppliers } from '../../../src/cfdi/supplier-totals.ts'
import { cfdi, cfdiMonths, cfdiPayments, cfdiSuppliers } from '../../../src/cfdi/tables.ts'
import type { Payable } from '../../../src/cfdi/totals.ts'
import {
  type Applied,
  addTo,
  balanceOf,
  type Cells,
  type Countable,
  cellOf,
  contribution,
  sumDays,
  writeCells,
} from '../../../src/cfdi/totals.ts'
import { type DocumentDetail, newDocument } from '../../../src/cfdi/xml/document.ts'
import type { Ctx } from '../../../src/platform/context.ts'
import { jsonChunks } from '../../../src/platform/db/commit.ts'
import { packed } from '../../../src/platform/db/packed.ts'
import { windowsOf } from '../../../src/taxpayers/visibility/window.ts'
import { RFC } from '../../support/context.ts'
import { randomOf, uuidFrom } from '../../support/random.ts'

/** A row to insert, with micros as numbers. */
export type Row = {
  [K in keyof typeof cfdi.$inferInsert]: NonNullable<(typeof cfdi.$inferInsert)[K]> extends bigint
    ? Exclude<(typeof cfdi.$inferInsert)[K], bigint> | number
    : (typeof cfdi.$inferInsert)[K]
}

/** A stored row of `cfdi` or `cfdi_payments` with its micros as numbers. */
export const numbered = <Stored extends object>(row: Stored): Stored => {
  const entries = Object.entries(row).map(([name, value]) => [name, value !== null && MICROS.has(name) ? Number(value) : value])
  return Object.fromEntries(entries) as Stored
}

const MICROS: ReadonlySet<string> = new Set([cfdi, cfdiPayments].flatMap(microsOf))

/** A row with every column that must not be null; amounts follow `total`. */
export function rowOf(some: Partial<Row> & Pick<Row, 'uuid' | 'fecha'>): Row {
  const utc_offset = some.utc_offset ?? -360
  const direction = some.direction ?? 0
  const other = some.counterparty_rfc ?? 'XAXX010101000'
  const total = some.total ?? '116.00'
  const micros = Math.round(Number(total) * 1e6)
  const tipo = some.tipo_comprobante === undefined ? 'I' : some.tipo_comprobante
  const metodo = some.metodo_pago === undefined ? 'PUE' : some.metodo_pago
  return {
    entity: 1,
    direction,
    cancelled: some.estatus === 'cancelado' ? 1 : 0,
    estatus: 'vigente',
    issued_at: Date.parse(`${some.fecha}Z`) / 1000 - utc_offset * 60,
    utc_offset,
    kind: 'cfdi',
    version: '4.0',
    tipo_comprobante: tipo,
    emisor_rfc: direction === 0 ? RFC : other,
    receptor_rfc: direction === 0 ? other : RFC,
    counterparty_rfc: other,
    metodo_pago: metodo,
    forma_pago: '03',
    uso_cfdi: 'G03',
    currency: 'MXN',
    subtotal: (micros / 1.16 / 1e6).toFixed(2),
    descuento: null,
    tipo_cambio: null,
    total,
    total_micros: micros,
    iva_trasladado: micros - Math.round(micros / 1.16 / 1e4) * 1e4,
    iva_retenido: 0,
    isr_retenido: 0,
    ieps_trasladado: 0,
    total_mxn: micros,
    payment_status: tipo !== 'I' ? null : metodo === 'PUE' ? 'paid' : 'unpaid',
    paid: tipo === 'I' && metodo === 'PUE' ? micros : 0,
    credited: 0,
    updated_at: 1_700_000_000_000,
    substituted_from: null,
    substitutes_from: null,
    ...some,
  }
}

/** Puts rows into a table as they are, many at once. */
export async function insertRows(
  ledger: D1Database,
  table: Table & { _: { name: string } },
  name: string,
  rows: readonly object[],
): Promise<void> {
  const columns = Object.keys(getTableColumns(table))
  const values = columns.map((_, n) => `value->>${n}`).join(', ')
  for (const chunk of jsonChunks(rows.map((row) => columns.map((column) => (row as Record<string, unknown>)[column] ?? null))))
    await ledger
      .prepare(`insert into ${name} (${columns.join(', ')}) select ${values} from json_each(?)`)
      .bind(chunk)
      .run()
}

/** Puts a chunk of these contents into a ledger, in this order. */
export async function insertContents(ledger: D1Database, entity: number, chunk: number, contents: readonly Partial<DocumentDetail>[]) {
  const texts = contents.map((one) => contentText({ ...newDocument('cfdi', '4.0'), ...one }, (one.conceptos ?? []).map(lineText)))
  const data = packed(`[${texts.join(',')}]`)
  await ledger.prepare('insert into cfdi_chunks (entity, chunk, data) values (?, ?, unhex(?))').bind(entity, chunk, data).run()
}

/** A payment for every invoice (PPD) that has one: its source is as visible as the invoice, being itself. */
export const applicationsOf = (rows: readonly Row[]) =>
  rows
    .filter(({ metodo_pago, paid }) => metodo_pago === 'PPD' && paid > 0)
    .map(({ entity, uuid, paid, fecha }) => ({
      entity,
      invoice: uuid,
      source: uuid,
      n: 1,
      kind: 'P',
      amount: paid,
      currency: 'MXN',
      fecha_pago: fecha,
    }))

/** Whether a valid row is known to be substituted to the organization. No ceiling hides what substitutes an imported one. */
export const isSubstitutedFor =
  ({ organization, connection }: Ctx) =>
  ({ entity, direction, substituted_from }: Row): boolean => {
    const { ceiling } = windowsOf(organization.extractor_count, connection!)[direction === 0 ? 'issued' : 'received']
    return substituted_from != null && (entity < 0 || ceiling === null || substituted_from * 1_000 <= ceiling)
  }

/** The month rows that ingest would have kept. */
export function monthsOf(rows: readonly Row[]) {
  const months = new Map<string, { cells: Cells; products: Products }>()
  for (const row of rows) {
    const adds = contribution(row as Countable)
    const key = `${row.entity}|${row.fecha.slice(0, 7)}|${row.direction}`
    const month = months.get(key) ?? { cells: new Map(), products: new Map() }
    months.set(key, month)
    addTo(month.cells, adds ?? cellOf(row as Countable), 1)
    if (adds) addProducts(month.products, { ...(row as Countable), products: row.products ?? null }, adds, 1)
  }
  return [...months].map(([key, { cells, products }]) => {
    const [entity, month, direction] = key.split('|')
    const said = { sums: writeCells(sumDays(cells)), cells: writeCells(cells), products: writeProducts(products) }
    return { entity: Number(entity), month, direction: Number(direction), ...said }
  })
}

/** The supplier rows that ingest would have kept. */
export function suppliersOf(rows: readonly Row[]) {
  const parts = new Map<string, Suppliers>()
  for (const row of rows) {
    const share = shareOf(row as Countable & { direction: number })
    if (!share) continue
    const key = `${row.entity}|${share.key}`
    const suppliers = parts.get(key) ?? new Map()
    parts.set(key, suppliers)
    addSupplier(suppliers, share.rfc, share.totals)
  }
  return [...parts].map(([key, suppliers]) => {
    const [entity, month, part] = key.split('|')
    return { entity: Number(entity), month, part: Number(part), totals: writeSuppliers(suppliers) }
  })
}

/** Invoices (PPD) with payments and credit notes in the weeks after them, some cancelled, and balances as ingest would have kept them. */
export function invoices(seed: number, count: number, firstDay: string, days: number, entity: number) {
  const next = randomOf(seed)
  const start = Date.parse(`${firstDay}T00:00:00Z`)
  const dated = (day: number) => new Date(start + Math.floor(day * 86_400) * 1_000).toISOString().slice(0, 19)
  const rows: Row[] = []
  const applications: (Pick<Applied, 'kind' | 'currency' | 'tipo_cambio' | 'fecha_pago' | 'issued_at'> & {
    entity: number
    invoice: string
    source: string
    n: number
    amount: number
  })[] = []
  for (let n = 0; n < count; n++) {
    const day = next() * days
    const direction = next() < 0.5 ? 0 : 1
    const counterparty_rfc = PARTIES[Math.floor(next() * 3)]!
    const invoice = rowOf({
      entity,
      uuid: uuidFrom(next),
      fecha: dated(day),
      metodo_pago: 'PPD',
      total: '100.00',
      direction,
      counterparty_rfc,
    })
    const sources = Array.from({ length: Math.floor(next() * 3) }, (): Applied & { source: Row } => {
      const kind = next() < 0.8 ? 'P' : 'E'
      const fecha = dated(day + next() * 20)
      const estatus = next() < 0.15 ? 'cancelado' : 'vigente'
      const source = rowOf({
        entity,
        uuid: uuidFrom(next),
        fecha,
        tipo_comprobante: kind,
        metodo_pago: null,
        direction,
        counterparty_rfc,
        estatus,
      })
      const amount = BigInt([20, 50, 100][Math.floor(next() * 3)]!) * 1_000_000n
      const { issued_at } = source
      return {
        ...{ kind, amount, currency: 'MXN', tipo_cambio: null, fecha_pago: fecha, issued_at },
        ...{ emisor_rfc: source.emisor_rfc, receptor_rfc: source.receptor_rfc },
        ...{ cancelled: estatus === 'cancelado', substituted_from: null, source },
      }
    })
    const { paid, credited, ...balance } = balanceOf({ ...invoice, total_micros: 100_000_000n } as Payable, sources)
    rows.push({ ...invoice, ...balance, paid: Number(paid), credited: Number(credited) }, ...sources.map(({ source }) => source))
    for (const { source, kind, amount, currency, tipo_cambio, fecha_pago, issued_at } of sources)
      applications.push({
        ...{ kind, currency, tipo_cambio, fecha_pago, issued_at },
        entity,
        invoice: invoice.uuid,
        source: source.uuid,
        n: 1,
        amount: Number(amount),
      })
  }
  return { rows, applications }
}

export const insertApplications = (ledger: D1Database, rows: readonly object[]) => insertRows(ledger, cfdiPayments, 'cfdi_payments', rows)
export const insertMonths = (ledger: D1Database, rows: readonly object[]) => insertRows(ledger, cfdiMonths, 'cfdi_months', rows)
export const insertSuppliers = (ledger: D1Database, rows: readonly object[]) => insertRows(ledger, cfdiSuppliers, 'cfdi_suppliers', rows)
export const insertCfdi = (ledger: D1Database, rows: readonly Row[]) => insertRows(ledger, cfdi, 'cfdi', rows)

const TIPOS = ['I', 'I', 'I', 'E', 'P', 'N', 'T'] as const
export const PARTIES = ['BBB010101BB1', 'CCC010101CC1', 'XAXX010101000', RFC] as const
const OFFSETS = [-360, -360, -360, -300, -420, -480] as const

/** Documents of all kinds over some days, with ties in issued_at. */
export function documents(seed: number, count: number, firstDay: string, days: number, entity = 1): Row[] {
  const next = randomOf(seed)
  const pick = <T>(values: readonly T[]): T => values[Math.floor(next() * values.length)]!
  return Array.from({ length: count }, () => {
    const tipo = pick(TIPOS)
    const counterparty_rfc = pick(PARTIES)
    const estatus = next() < 0.2 ? 'cancelado' : 'vigente'
    const start = Date.parse(`${firstDay}T00:00:00Z`)
    const fecha = new Date(start + Math.floor(next() * days * 24) * 3_600_000 + (next() < 0.3 ? 0 : Math.floor(next() * 3600) * 1000))
      .toISOString()
      .slice(0, 19)
    const metodo_pago = tipo === 'I' ? pick(['PUE', 'PPD']) : null
    const total = (Math.floor(next() * 1_000_000) / 100).toFixed(2)
    const paid = estatus === 'vigente' ? pick([0, 0.5, 1]) : 0
    const micros = Math.round(Number(total) * 1e6)
    const uuid = uuidFrom(next)
    const utc_offset = pick(OFFSETS)
    // One in eight is substituted, up to a third of the days later. Those that pay themselves (applicationsOf) are not.
    const [isDrawn, later] = [uuid < '2', (Number(`0x${uuid.slice(2, 5)}`) / 0xfff) * days * 28_800]
    const issued_at = Date.parse(`${fecha}Z`) / 1000 - utc_offset * 60
    const substituted_from = isDrawn && estatus === 'vigente' && metodo_pago !== 'PPD' ? issued_at + Math.round(later) : null
    return rowOf({
      entity,
      uuid,
      fecha,
      utc_offset,
      substituted_from,
      direction: counterparty_rfc === RFC || next() < 0.5 ? 0 : 1,
      counterparty_rfc,
      estatus,
      tipo_comprobante: tipo,
      metodo_pago,
      total,
      currency: pick(['MXN', 'MXN', 'USD']),
      tipo_cambio: '17.5',
      forma_pago: pick(['01', '03', '99']),
      serie: pick(['A', 'B', null]),
      ...(metodo_pago === 'PPD' && {
        paid: Math.floor(micros * paid),
        payment_status: paid === 0 ? 'unpaid' : paid === 1 ? 'paid' : 'partially_paid',
      }),
      ...(estatus === 'cancelado' && { cancelled_at: `${fecha}-06:00`, cancellation_reason: '02' }),
      ...(next() < 0.5 && { xml_object: 'xml/x', xml_offset: 0, xml_length: 1, xml_method: 0 }),
      updated_at: 1_700_000_000_000 + Math.floor(next() * 1e9),
    })
  })
}
