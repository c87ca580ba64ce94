import type { ApplicationRow, CfdiRow } from '../columns.ts'
import { type PaymentThresholds, thresholdsOf } from '../payment-thresholds.ts'
import { addProducts, type Products, parseProducts, writeProducts } from '../products.ts'
import { addSupplier, type PartKey, parseSuppliers, type Suppliers, shareOf, writeSuppliers } from '../supplier-totals.ts'
import {
  type Applied,
  addTo,
  type Balance,
  balanceOf,
  type Cells,
  cellOf,
  contribution,
  isDeferred,
  type MonthKey,
  monthKey,
  NOT_SUBSTITUTED,
  parseCells,
  type SubstitutionState,
  substitutionsAmong,
  sumDays,
  writeCells,
} from '../totals.ts'
import { beyondAdvances } from './beyond-advances.ts'
import { type AfterSlice, type AppliedBy, asSeen, directNotes, markNotes } from './credit-notes.ts'
import type { AffectedRows, StoredApplication, StoredRow } from './reads.ts'
import { hasNews, type ReportedCancellation, type StatusColumns, statusOf, withBalance } from './row.ts'
import type { SliceWrites } from './writes.ts'

/** A document that a slice delivers, with its XML or as metadata alone. */
export interface Incoming {
  row: CfdiRow
  /** Its content in a chunk (chunks/content.ts). Null for metadata. */
  content: string | null
  applications: ApplicationRow[]
  /** The UUIDs of the documents that it states to substitute. */
  substitutes: string[]
  /** The UUIDs that it names in a relation 07. */
  advances: string[]
  /** The compressed bytes; null for metadata. */
  packed: Uint8Array | null
}

/** A stored document that has been cancelled: its new status, and everything else as it was before. */
export interface CancelledCfdi extends StoredRow {
  /** The applications to it right before. */
  payments: PaymentThresholds
}

/** The changes of a slice, sorted by what the partition knows already. */
export interface SliceChanges {
  created: Incoming[]
  /** Documents with their XML, where only metadata is stored. */
  completed: Incoming[]
  cancelled: ReportedCancellation[]
  /** Documents that are taken out. One that is also in `created` is replaced. */
  removed: string[]
}

/** Documents outside the slice that its documents pay, credit or substitute. */
export const invoicesOf = ({ created, completed }: Pick<SliceChanges, 'created' | 'completed'>): string[] => {
  const inside = new Set([...created, ...completed].map(({ row }) => row.uuid))
  const named = [...created, ...completed].flatMap(({ applications, substitutes }) => [
    ...applications.map(({ invoice }) => invoice),
    ...substitutes,
  ])
  return [...new Set(named)].filter((uuid) => !inside.has(uuid))
}

/** Invoices that stored documents pay or credit. */
export const relatedTo = (rows: readonly StoredRow[]): string[] => [
  ...new Set(rows.flatMap(({ related }) => (related === null ? [] : (JSON.parse(related) as string[])))),
]

/**
 * Computes the places that documents have among substitutions once the slice is stored: of its own, and of the stored ones that have been
 * read because some relation leads to them.
 */
export function substitutionsAfter(
  { created, completed, cancelled, removed }: SliceChanges,
  { rows, substitutions }: Pick<AffectedRows, 'rows' | 'substitutions'>,
): Map<string, SubstitutionState> {
  const incoming = [...created, ...completed]
  const stated = incoming.flatMap(({ row, substitutes }) => substitutes.map((substituted) => ({ substituted, source: row.uuid })))
  const ends = new Set([...stated, ...substitutions].flatMap(({ substituted, source }) => [substituted, source]))
  if (ends.size === 0) return new Map()
  const gone = new Set(removed)
  const withdrawn = new Set(cancelled.map(({ uuid }) => uuid))
  const stored = new Map(rows.filter(({ uuid }) => !gone.has(uuid)).map((row) => [row.uuid, row]))
  const statusOf = ({ uuid, cancelled }: { uuid: string; cancelled: 0 | 1 }) => (withdrawn.has(uuid) ? 1 : cancelled)
  const documents = new Map([...stored.values(), ...incoming.map(({ row }) => row)].map((row) => [row.uuid, row]))
  return substitutionsAmong(
    // A document that was known from metadata keeps the status that is stored.
    [...documents.values()]
      .filter(({ uuid }) => ends.has(uuid))
      .map((row) => ({ ...row, cancelled: statusOf(stored.get(row.uuid) ?? row) })),
    [...stated, ...substitutions.filter(({ source }) => !gone.has(source))],
  )
}

/** The stored documents that count after the slice although they did not before, or the other way round. */
export const recountedIn = (changes: SliceChanges, affected: Pick<AffectedRows, 'rows' | 'substitutions'>): StoredRow[] => {
  const after = substitutionsAfter(changes, affected)
  return affected.rows.filter((row) => (after.get(row.uuid) ?? row).substituted_from !== row.substituted_from)
}

/** Computes everything that follows from a slice's changes. Pure. `affected` holds the stored rows that they affect (commit-slice.ts). */
export function applyChanges(changes: SliceChanges, affected: AffectedRows): { writes: SliceWrites; cancellations: CancelledCfdi[] } {
  const { created, completed, cancelled, removed } = changes
  const stored = new Map(affected.rows.map((row) => [row.uuid, row]))
  const merged = completed.map((document) => merge(document, stored.get(document.row.uuid)))
  const documents = [...created, ...merged.map(({ document }) => document)]
  const notified = cancelled.filter((row) => stored.has(row.uuid) && hasNews(row, stored.get(row.uuid)!))
  const statuses = new Map(notified.map((row) => [row.uuid, statusOf(row)]))
  const gone = new Set(removed)
  const states = substitutionsAfter(changes, affected)
  const remaining = affected.applications
    .filter(({ source }) => !gone.has(source))
    .map((one) => ({ ...one, cancelled: one.cancelled || statuses.has(one.source), ...states.get(one.source) }))
  for (const { row } of documents) Object.assign(row, states.get(row.uuid) ?? NOT_SUBSTITUTED)
  const inside = new Set(documents.map(({ row }) => row.uuid))
  const others = affected.rows
    .filter(({ uuid }) => !inside.has(uuid) && !gone.has(uuid))
    .map((before) => ({ before, after: { ...before, ...statuses.get(before.uuid), ...states.get(before.uuid) } }))
  const applied = applicationsByInvoice(documents, remaining)
  const stated = documents.flatMap(({ row, advances }) => advances.map((advance) => ({ advance, source: row.uuid })))
  const substitutions = documents.flatMap(({ row, substitutes }) => substitutes.map((substituted) => ({ substituted, source: row.uuid })))
  const after: AfterSlice = {
    documents,
    stored: others.map(({ after }) => after),
    applications: remaining,
    advances: [...affected.advances.filter(({ source }) => !gone.has(source)), ...stated],
    substitutions: [...affected.substitutions.filter(({ source }) => !gone.has(source)), ...substitutions],
    applied,
  }
  const redirected = directNotes(after)
  const beyond = beyondAdvances(after)
  const marked = markNotes(documents, affected.rows, applied, redirected)
  for (const { row } of documents) withBalance(row, applied.get(row.uuid) ?? [])
  const turns = [...merged.map(({ before, document }) => ({ before, after: document.row })), ...others].filter(
    ({ before, after }) => !isSameSubstitution(before, after),
  )
  const counted = [
    ...merged.map(({ before }): Counted => ({ row: before, sign: -1 })),
    ...documents.map(({ row }): Counted => ({ row, sign: 1 })),
    ...others.flatMap(recounted),
    ...removed.flatMap((uuid) => takenOut(stored.get(uuid))),
  ]
  return {
    writes: {
      removed: removed.flatMap((uuid) => stored.get(uuid) ?? []).map((row) => ({ uuid: row.uuid, invoices: relatedTo([row]) })),
      moved: [],
      stored: [],
      documents,
      chunks: [],
      reindexed: merged.filter(({ isReindexed }) => isReindexed).map(({ document }) => document.row),
      applications: documents.flatMap(({ applications }) => applications),
      substitutions,
      substituted: turns.map(({ after }) => after),
      redirected,
      beyond,
      marked,
      advances: stated,
      cancelled: [...statuses].map(([uuid, status]) => ({ uuid, ...status })),
      balances: others.flatMap(({ before }) => changedBalance(before, applied.get(before.uuid) ?? [])),
      turned: {
        ...turnedBy(changes, affected, documents, turns, others, redirected),
        advanced: beyond.map(({ uuid }) => [uuid, stored.get(uuid)!.issued_at]),
      },
      months: monthsOf(counted, affected),
      suppliers: suppliersOf(counted, affected),
    },
    cancellations: [...statuses].flatMap(([uuid, status]) => cancellationOf(stored.get(uuid)!, status, affected.applications)),
  }
}

interface Merged {
  document: Incoming
  before: StoredRow
  isReindexed: boolean
}

const INDEXED = ['direction', 'issued_at', 'utc_offset', 'fecha', 'tipo_comprobante', 'emisor_rfc', 'receptor_rfc'] as const

/** A stored document with its XML. The XML says everything but the status, which stays as it is stored. */
function merge(document: Incoming, before: StoredRow | undefined): Merged {
  if (before === undefined) throw new Error('The stored row of a document was not read.')
  const { estatus, cancelled, cancelled_at, cancellation_reason, folio_sustitucion } = before
  const row = { ...document.row, estatus, cancelled, cancelled_at, cancellation_reason, folio_sustitucion }
  return { document: { ...document, row }, before, isReindexed: INDEXED.some((name) => row[name] !== before[name]) }
}

function applicationsByInvoice(documents: readonly Incoming[], stored: readonly StoredApplication[]) {
  const all = new Map<string, AppliedBy[]>()
  const put = (invoice: string, applied: AppliedBy) => {
    const list = all.get(invoice)
    if (list === undefined) all.set(invoice, [applied])
    else list.push(applied)
  }
  for (const application of stored) put(application.invoice, asSeen(application))
  for (const { row, applications } of documents) {
    const { emisor_rfc, receptor_rfc, issued_at, cancelled, substituted_from } = row
    const source = { emisor_rfc, receptor_rfc, issued_at, cancelled: cancelled === 1, substituted_from }
    for (const application of applications) put(application.invoice, { ...application, ...source })
  }
  return all
}

function changedBalance(row: StoredRow, applications: readonly Applied[]): SliceWrites['balances'] {
  if (!isDeferred(row)) return []
  const balance = balanceOf(row, applications)
  const changed = (Object.keys(balance) as (keyof Balance)[]).some((name) => balance[name] !== row[name])
  return changed ? [{ uuid: row.uuid, isStatusChanged: balance.payment_status !== row.payment_status, ...balance }] : []
}

/** A document as it is now, or with sign -1 as it was before. */
interface Counted {
  row: CfdiRow | StoredRow
  sign: 1 | -1
}

/** A stored document that is not in the slice, before and after it. */
interface Affected {
  before: StoredRow
  after: StoredRow
}

const recounted = ({ before, after }: Affected): Counted[] =>
  before.estatus === after.estatus && before.substituted_from === after.substituted_from
    ? []
    : [
        { row: before, sign: -1 },
        { row: after, sign: 1 },
      ]

const isSameSubstitution = (before: SubstitutionState, after: SubstitutionState): boolean =>
  before.substituted_from === after.substituted_from && before.substitutes_from === after.substitutes_from

/** The least ceiling that shows a reader a change in whether a document is substituted, or substitutes another one. */
const turnedFrom = (name: keyof SubstitutionState, { before, after }: SubstitutionChange): number =>
  before[name] === after[name] ? Number.POSITIVE_INFINITY : Math.min(...[before[name], after[name]].filter((from) => from !== null))

/** A document before and after the slice, with another place among substitutions. */
interface SubstitutionChange {
  before: StoredRow
  after: SubstitutionState & { uuid: string }
}

/**
 * The stored documents outside the slice that a reader may see changed by it: those with another place among substitutions, and invoices
 * with an application that came or went, or whose source is newly or no longer substituted. Their stored balance can be the same.
 */
function turnedBy(
  { cancelled, removed }: SliceChanges,
  { rows, applications }: AffectedRows,
  documents: readonly Incoming[],
  turns: readonly SubstitutionChange[],
  others: readonly Affected[],
  redirected: SliceWrites['redirected'],
): Omit<SliceWrites['turned'], 'advanced'> {
  const sources = new Map<string, number>()
  const turn = (all: Map<string, number>, uuid: string, from: number) => all.set(uuid, Math.min(all.get(uuid) ?? from, from))
  const withdrawn = new Set([...cancelled.map(({ uuid }) => uuid), ...removed])
  for (const { uuid, issued_at } of [...rows.filter(({ uuid }) => withdrawn.has(uuid)), ...documents.map(({ row }) => row)])
    turn(sources, uuid, issued_at)
  for (const one of turns) turn(sources, one.after.uuid, turnedFrom('substituted_from', one))
  const moved = redirected.flatMap((note) => {
    const row = applications.find(({ source }) => source === note.uuid)
    return row === undefined ? [] : note.applications.map((one) => ({ ...row, ...one }))
  })
  for (const { uuid, from } of redirected) turn(sources, uuid, from)
  const invoices = new Map(others.filter(({ before }) => isDeferred(before)).map(({ before }) => [before.uuid, before]))
  const balances = new Map<string, number>()
  const added = documents.flatMap(({ row, applications: own }) => own.map(({ invoice }) => ({ ...row, invoice, source: row.uuid })))
  for (const { invoice, source, emisor_rfc } of [...applications, ...added, ...moved]) {
    const from = sources.get(source) ?? Number.POSITIVE_INFINITY
    // Documents of another issuer never count.
    if (from < Number.POSITIVE_INFINITY && invoices.get(invoice)?.emisor_rfc === emisor_rfc) turn(balances, invoice, from)
  }
  return {
    substituted: turns.map((one) => [one.after.uuid, Math.min(turnedFrom('substituted_from', one), turnedFrom('substitutes_from', one))]),
    balances: [...balances],
  }
}

const takenOut = (row: StoredRow | undefined): Counted[] => (row === undefined ? [] : [{ row, sign: -1 }])

function monthsOf(counted: readonly Counted[], affected: AffectedRows): SliceWrites['months'] {
  const before = new Map(affected.months.map((row) => [monthKey({ fecha: row.month, direction: row.direction }), row]))
  const months = new Map<MonthKey, { cells: Cells; products: Products | null }>()
  for (const { row, sign } of counted) {
    const adds = contribution(row)
    const key = monthKey(row)
    const stored = before.get(key) ?? EMPTY_MONTH
    const month = months.get(key) ?? { cells: parseCells(stored.cells), products: parseProducts(stored.products) }
    months.set(key, month)
    addTo(month.cells, adds ?? cellOf(row), sign)
    if (adds !== null && month.products !== null) addProducts(month.products, row, adds, sign)
  }
  return [...months].flatMap(([key, { cells, products }]) => {
    const [month = '', direction] = key.split('|')
    const [was, is] = [before.get(key) ?? EMPTY_MONTH, { cells: writeCells(cells), products: writeProducts(products) }]
    if (is.cells === was.cells && is.products === was.products) return []
    return [{ month, direction: Number(direction), sums: writeCells(sumDays(cells)), ...is }]
  })
}

const EMPTY_MONTH = { cells: '{}', products: '{}' }

function suppliersOf(counted: readonly Counted[], affected: AffectedRows): SliceWrites['suppliers'] {
  const before = new Map(affected.suppliers.map(({ month, part, totals }): [PartKey, string] => [`${month}|${part}`, totals]))
  const parts = new Map<PartKey, Suppliers>()
  for (const { row, sign } of counted) {
    const share = shareOf(row)
    if (share === null) continue
    const suppliers = parts.get(share.key) ?? parseSuppliers(before.get(share.key) ?? null)
    parts.set(share.key, suppliers)
    addSupplier(suppliers, share.rfc, share.totals, sign)
  }
  return [...parts].flatMap(([key, suppliers]) => {
    const [month = '', part] = key.split('|')
    const totals = writeSuppliers(suppliers)
    return totals === (before.get(key) ?? '{}') ? [] : [{ month, part: Number(part), totals }]
  })
}

function cancellationOf(row: StoredRow, status: StatusColumns, applications: readonly StoredApplication[]): CancelledCfdi[] {
  // It was cancelled before, and its date came now.
  if (row.cancelled === 1) return []
  const payments = thresholdsOf(row, applications.filter(({ invoice }) => invoice === row.uuid).map(asSeen))
  return [{ ...row, ...status, payments }]
}
