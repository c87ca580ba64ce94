import { jsonChunks } from '../../platform/db/commit.ts'
import type { Applied, Balance } from '../balances.ts'
import type { Micros } from '../money.ts'
import type { PartKey } from '../supplier-totals.ts'

/** What has to be known of a stored document to see whether it comes again. */
export interface Known {
  uuid: string
  cancelled: number
  /** Null for both when only metadata is known. */
  xml_crc: number | null
  xml_size: number | null
}

/** A stored document as far as totals, balances and facts depend on it. */
export interface StoredRow extends Balance {
  uuid: string
  direction: number
  cancelled: number
  estatus: string
  cancelled_at: string | null
  cancellation_reason: string | null
  folio_sustitucion: string | null
  issued_at: number
  utc_offset: number
  fecha: string
  kind: string
  version: string | null
  tipo_comprobante: string | null
  metodo_pago: string | null
  emisor_rfc: string
  receptor_rfc: string
  counterparty_rfc: string
  currency: string | null
  tipo_cambio: string | null
  subtotal: string | null
  descuento: string | null
  total: string | null
  total_micros: Micros | null
  iva_trasladado: Micros | null
  iva_retenido: Micros | null
  isr_retenido: Micros | null
  ieps_trasladado: Micros | null
  related: string | null
}

/** An application that is stored, with what its source's row says of its status. */
export interface StoredApplication extends Applied {
  invoice: string
  source: string
}

export interface MonthRow {
  month: string
  direction: number
  cells: string
}

export interface SupplierRow {
  month: string
  part: number
  totals: string
}

/** A month and direction, `YYYY-MM|0`. */
export type MonthKey = `${string}|${number}`
export const monthKey = ({ fecha, direction }: { fecha: string; direction: number }): MonthKey => `${fecha.slice(0, 7)}|${direction}`

const MICROS = ['total_micros', 'iva_trasladado', 'iva_retenido', 'isr_retenido', 'ieps_trasladado', 'paid', 'credited'] as const
const PLAIN = [
  ...['uuid', 'direction', 'cancelled', 'estatus', 'cancelled_at', 'cancellation_reason', 'folio_sustitucion', 'issued_at', 'utc_offset'],
  ...['fecha', 'kind', 'version', 'tipo_comprobante', 'metodo_pago', 'emisor_rfc', 'receptor_rfc', 'counterparty_rfc', 'currency'],
  ...['tipo_cambio', 'subtotal', 'descuento', 'total', 'payment_status', 'last_payment_at', 'fully_paid_at', 'applied_until', 'related'],
]

// CROSS JOIN: else the planner walks the book for each element (ingest.md 6.2).
const KNOWN = `select c.uuid, c.cancelled, c.xml_crc, c.xml_size
  from json_each(?2) j cross join cfdi c where c.entity = ?1 and c.uuid = j.value`
const ROWS = `select ${PLAIN.map((name) => `c.${name}`).join(', ')}, ${MICROS.map((name) => `cast(c.${name} as text) as ${name}`).join(', ')}
  from json_each(?2) j cross join cfdi c where c.entity = ?1 and c.uuid = j.value`
const APPLICATIONS = `select p.invoice, p.source, p.kind, cast(p.amount as text) as amount, p.currency, p.tipo_cambio, p.fecha_pago, c.issued_at, c.cancelled
  from json_each(?2) j cross join cfdi_payments p cross join cfdi c
  where p.entity = ?1 and p.invoice = j.value and c.entity = ?1 and c.uuid = p.source`
const MONTHS = `select m.month, m.direction, m.cells
  from json_each(?2) j cross join cfdi_months m where m.entity = ?1 and m.month = j.value->>0 and m.direction = j.value->>1`
const SUPPLIERS = `select s.month, s.part, s.totals
  from json_each(?2) j cross join cfdi_suppliers s where s.entity = ?1 and s.month = j.value->>0 and s.part = j.value->>1`

/** The book's version, null when it has no row yet, and which of the documents are in it. One call. */
export async function readKnown(
  ledger: D1Database,
  entity: number,
  uuids: readonly string[],
): Promise<{ version: number | null; known: Known[] }> {
  const [versions, ...known] = await ledger.batch([
    ledger.prepare('select version from entities where entity = ?1').bind(entity),
    ...each(ledger, KNOWN, entity, uuids),
  ])
  const [row] = (versions?.results ?? []) as { version: number }[]
  return { version: row?.version ?? null, known: rowsOf<Known>(known) }
}

export interface Wanted {
  rows: readonly string[]
  /** Invoices whose applications are wanted. */
  applied: readonly string[]
  months: readonly MonthKey[]
  suppliers: readonly PartKey[]
}

export interface Found {
  rows: StoredRow[]
  applications: StoredApplication[]
  months: MonthRow[]
  suppliers: SupplierRow[]
}

/** What a change has to be reckoned with. One call, and none when nothing is wanted. */
export async function readAround(ledger: D1Database, entity: number, { rows, applied, months, suppliers }: Wanted): Promise<Found> {
  const parts = [
    each(ledger, ROWS, entity, rows),
    each(ledger, APPLICATIONS, entity, applied),
    each(ledger, MONTHS, entity, months.map(pairOf)),
    each(ledger, SUPPLIERS, entity, suppliers.map(pairOf)),
  ]
  const statements = parts.flat()
  const results = statements.length === 0 ? [] : await ledger.batch(statements)
  const take = <Row>(part: D1PreparedStatement[] | undefined): Row[] => rowsOf<Row>(results.splice(0, part?.length ?? 0))
  return {
    rows: take<Record<string, unknown>>(parts[0]).map(storedRow),
    applications: take<Omit<StoredApplication, 'amount' | 'cancelled'> & { amount: string; cancelled: number }>(parts[1]).map((row) => ({
      ...row,
      amount: BigInt(row.amount),
      cancelled: row.cancelled === 1,
    })),
    months: take<MonthRow>(parts[2]),
    suppliers: take<SupplierRow>(parts[3]),
  }
}

const pairOf = (key: MonthKey | PartKey): [string, number] => {
  const [month = '', number] = key.split('|')
  return [month, Number(number)]
}

const each = (ledger: D1Database, sql: string, entity: number, values: readonly unknown[]): D1PreparedStatement[] =>
  jsonChunks(values).map((chunk) => ledger.prepare(sql).bind(entity, chunk))

const rowsOf = <Row>(results: readonly D1Result[]): Row[] => results.flatMap((result) => result.results as Row[])

const storedRow = (row: Record<string, unknown>): StoredRow => {
  for (const name of MICROS) if (row[name] !== null) row[name] = BigInt(row[name] as string)
  return row as unknown as StoredRow
}
