import { type Applied, type Balance, balanceOf, isDeferred } from '../balances.ts'
import type { MetadataRow } from '../package/metadata.ts'
import { addSupplier, type PartKey, parseSuppliers, type Suppliers, shareOf, writeSuppliers } from '../supplier-totals.ts'
import { addTo, type Cells, contribution, parseCells, writeCells } from '../totals.ts'
import type { ApplicationRow } from './applications.ts'
import { type Found, type MonthKey, monthKey, type StoredApplication, type StoredRow } from './reads.ts'
import { type CfdiRow, type LineRow, type Status, statusOf, withBalance } from './row.ts'
import type { Writes } from './writes.ts'

/** A document that comes, with its XML or as metadata alone. */
export interface Incoming {
  row: CfdiRow
  lines: LineRow[]
  applications: ApplicationRow[]
  /** The compressed bytes; null for metadata. */
  packed: Uint8Array | null
}

/** A document that was valid and is no longer, as it stood before. */
export interface Cancellation extends Status, Balance {
  uuid: string
  direction: number
  kind: string
  tipo_comprobante: string | null
  metodo_pago: string | null
  emisor_rfc: string
  receptor_rfc: string
  currency: string | null
  total: string | null
  issued_at: number
  utc_offset: number
  fecha: string
  /** Whether it was paid at once (PUE) or a valid payment complement referred to it (decisions.md 7). */
  had_applied_payments: boolean
}

/** What a slice brings, sorted by what the book knows already. */
export interface Change {
  created: Incoming[]
  /** XML of documents of which metadata alone is stored. */
  filled: Incoming[]
  cancelled: MetadataRow[]
}

export interface AppliedChanges {
  writes: Writes
  cancellations: Cancellation[]
}

/** Invoices outside the slice that its documents pay or credit. */
export const invoicesOf = ({ created, filled }: Change): string[] => {
  const inside = new Set([...created, ...filled].map(({ row }) => row.uuid))
  return [...new Set([...created, ...filled].flatMap(({ applications }) => applications.map(({ invoice }) => invoice)))].filter(
    (uuid) => !inside.has(uuid),
  )
}

/** Invoices that stored documents pay or credit. */
export const relatedTo = (rows: readonly StoredRow[]): string[] => [
  ...new Set(rows.flatMap(({ related }) => (related === null ? [] : (JSON.parse(related) as string[])))),
]

/** Everything that follows from a change: pure. `found` holds what `wanted` of settle.ts says. */
export function applyChanges({ created, filled, cancelled }: Change, found: Found): AppliedChanges {
  const stored = new Map(found.rows.map((row) => [row.uuid, row]))
  const merged = filled.map((document) => merge(document, stored.get(document.row.uuid)))
  const documents = [...created, ...merged.map(({ document }) => document)]
  const statuses = new Map(cancelled.filter(({ uuid }) => stored.get(uuid)?.cancelled === 0).map((row) => [row.uuid, statusOf(row)]))
  const applied = applicationsByInvoice(documents, found.applications, statuses)
  for (const { row } of documents) withBalance(row, applied.get(row.uuid) ?? [])
  const inside = new Set(documents.map(({ row }) => row.uuid))
  const counted = countedOf(documents, merged, stored, statuses)
  return {
    writes: {
      rows: documents.map(({ row }) => row),
      moved: merged.filter(({ moved }) => moved).map(({ document }) => document.row),
      lines: documents.flatMap(({ lines }) => lines),
      applications: documents.flatMap(({ applications }) => applications),
      cancelled: [...statuses].map(([uuid, status]) => ({ uuid, ...status })),
      balances: found.rows.filter(({ uuid }) => !inside.has(uuid)).flatMap((row) => rebalanced(row, applied.get(row.uuid) ?? [])),
      months: monthsOf(counted, found),
      suppliers: suppliersOf(counted, found),
    },
    cancellations: [...statuses].flatMap(([uuid, status]) => cancellationOf(stored.get(uuid), status, found.applications)),
  }
}

interface Merged {
  document: Incoming
  before: StoredRow
  moved: boolean
}

const MOVABLE = ['direction', 'issued_at', 'utc_offset', 'fecha', 'tipo_comprobante', 'emisor_rfc', 'receptor_rfc'] as const

/** The XML says everything but the status, which stays as the book has it. */
function merge(document: Incoming, before: StoredRow | undefined): Merged {
  if (before === undefined) throw new Error('A stored document is missing from what was read.')
  const { estatus, cancelled, cancelled_at, cancellation_reason, folio_sustitucion } = before
  const row = { ...document.row, estatus, cancelled, cancelled_at, cancellation_reason, folio_sustitucion }
  return { document: { ...document, row }, before, moved: MOVABLE.some((name) => row[name] !== before[name]) }
}

function applicationsByInvoice(
  documents: readonly Incoming[],
  stored: readonly StoredApplication[],
  statuses: ReadonlyMap<string, Status>,
) {
  const all = new Map<string, Applied[]>()
  const put = (invoice: string, applied: Applied) => {
    const list = all.get(invoice)
    if (list === undefined) all.set(invoice, [applied])
    else list.push(applied)
  }
  for (const application of stored) {
    put(application.invoice, statuses.has(application.source) ? { ...application, cancelled: true } : application)
  }
  for (const { row, applications } of documents) {
    for (const application of applications)
      put(application.invoice, { ...application, issued_at: row.issued_at, cancelled: row.cancelled === 1 })
  }
  return all
}

function rebalanced(row: StoredRow, applications: Parameters<typeof balanceOf>[1]): Writes['balances'] {
  if (!isDeferred(row)) return []
  const balance = balanceOf(row, applications)
  const changed = (Object.keys(balance) as (keyof Balance)[]).some((name) => balance[name] !== row[name])
  return changed ? [{ uuid: row.uuid, turned: balance.payment_status !== row.payment_status, ...balance }] : []
}

/** A document as it stands now, or with sign -1 as it stood before. */
interface Counted {
  row: CfdiRow | StoredRow
  sign: 1 | -1
}

function countedOf(
  documents: readonly Incoming[],
  merged: readonly Merged[],
  stored: ReadonlyMap<string, StoredRow>,
  statuses: ReadonlyMap<string, Status>,
): Counted[] {
  return [
    ...merged.map(({ before }): Counted => ({ row: before, sign: -1 })),
    ...documents.map(({ row }): Counted => ({ row, sign: 1 })),
    ...[...statuses].flatMap(([uuid, { estatus }]): Counted[] => {
      const row = stored.get(uuid) as StoredRow
      return [
        { row, sign: -1 },
        { row: { ...row, estatus }, sign: 1 },
      ]
    }),
  ]
}

function monthsOf(counted: readonly Counted[], found: Found): Writes['months'] {
  const before = new Map(found.months.map((row) => [monthKey({ fecha: row.month, direction: row.direction }), row.cells]))
  const months = new Map<MonthKey, Cells>()
  for (const { row, sign } of counted) {
    const adds = contribution(row)
    if (adds === null) continue
    const key = monthKey(row)
    const cells = months.get(key) ?? parseCells(before.get(key) ?? null)
    months.set(key, cells)
    addTo(cells, adds, sign)
  }
  return changedIn(months, before, writeCells).map(([month, direction, cells]) => ({ month, direction, cells }))
}

function suppliersOf(counted: readonly Counted[], found: Found): Writes['suppliers'] {
  const before = new Map(found.suppliers.map(({ month, part, totals }): [PartKey, string] => [`${month}|${part}`, totals]))
  const parts = new Map<PartKey, Suppliers>()
  for (const { row, sign } of counted) {
    const share = shareOf(row)
    if (share === null) continue
    const suppliers = parts.get(share.key) ?? parseSuppliers(before.get(share.key) ?? null)
    parts.set(share.key, suppliers)
    addSupplier(suppliers, share.rfc, share.totals, sign)
  }
  return changedIn(parts, before, writeSuppliers).map(([month, part, totals]) => ({ month, part, totals }))
}

/** What reads differently from before, as `[month, number, text]`. */
const changedIn = <Key extends MonthKey | PartKey, Value>(
  after: ReadonlyMap<Key, Value>,
  before: ReadonlyMap<Key, string>,
  write: (value: Value) => string,
): [string, number, string][] =>
  [...after].flatMap(([key, value]) => {
    const [month = '', number] = key.split('|')
    const text = write(value)
    return text === (before.get(key) ?? '{}') ? [] : [[month, Number(number), text]]
  })

function cancellationOf(row: StoredRow | undefined, status: Status, applications: readonly StoredApplication[]): Cancellation[] {
  if (row === undefined) return []
  const { uuid, direction, kind, tipo_comprobante, metodo_pago, emisor_rfc, receptor_rfc, currency, total, issued_at, utc_offset, fecha } =
    row
  const { paid, credited, payment_status, last_payment_at, fully_paid_at, applied_until } = row
  const had_applied_payments =
    (tipo_comprobante === 'I' && metodo_pago === 'PUE') ||
    applications.some(({ invoice, kind: by, cancelled }) => invoice === uuid && by === 'P' && !cancelled)
  return [
    {
      ...{ uuid, direction, kind, tipo_comprobante, metodo_pago, emisor_rfc, receptor_rfc, currency, total, issued_at, utc_offset, fecha },
      ...{ paid, credited, payment_status, last_payment_at, fully_paid_at, applied_until },
      ...status,
      had_applied_payments,
    },
  ]
}
