import { commit } from '../../platform/db/commit.ts'
import { isGuardViolation } from '../../platform/db/guard.ts'
import type { DocumentChange } from '../../visibility/visible-counts.ts'
import { isDeferred } from '../balances.ts'
import type { MetadataRow } from '../package/metadata.ts'
import { type PartKey, partKeyOf } from '../supplier-totals.ts'
import { packXml } from '../xml/xml-store.ts'
import { applyChanges, type Cancellation, type Change, type Incoming, invoicesOf, relatedTo } from './apply-changes.ts'
import { type Found, type Known, type MonthKey, monthKey, readAround, readKnown, type Wanted } from './reads.ts'
import { statementsOf } from './writes.ts'

/** Where documents go, and on whose word. */
export interface Target {
  ledger: D1Database
  files: R2Bucket
  /** The book: the authority's of an RFC, or with a negative number an organization's own. */
  entity: number
  rfc: string
  now: Date
  provenance: 'authority' | 'import'
  /** Committed in the same batch as the slice, or alone when it changes nothing. May be called again after a conflict. */
  sideStatements?: (outcome: SliceOutcome) => D1PreparedStatement[]
  /** Of these UUIDs, those that whom this book is for is shown from another book: they are not kept twice. */
  shownElsewhere?: (uuids: readonly string[]) => Promise<ReadonlySet<string>>
}

export type EntryStatus = 'created' | 'updated' | 'unchanged' | 'rejected'

/** What became of one file, or of one row of metadata. */
export interface EntryResult {
  /** Its place in the package, from 0; -1 for what is said of an upload as a whole. */
  n: number
  name: string
  status: EntryStatus
  uuid: string | null
  code: string | null
  detail: string | null
}

export interface SliceOutcome {
  entries: EntryResult[]
  created: number
  /** Got their XML. */
  updated: number
  unchanged: number
  cancelled: number
  rejected: number
  cancellations: Cancellation[]
  changes: DocumentChange[]
  /** Of what was created, updated or cancelled; seconds since 1970. */
  first_issued_at: number | null
  last_issued_at: number | null
}

/** An entry that was looked at: a document, or why it is none. */
export type Looked = Pick<EntryResult, 'n' | 'name'> &
  ({ uuid: string; code?: never } | { code: string; detail: string; uuid: string | null })

/** Entries of a package that are committed at once. */
export interface Slice {
  /** UUIDs that it may hold, as far as can be told without opening it. */
  uuids: readonly string[]
  /** Opens what is not known; asked again after a conflict, when more is known. Documents by UUID: of two the last. */
  open(known: ReadonlyMap<string, Known>): { documents: Map<string, Incoming>; cancelled: MetadataRow[]; looked: Looked[] }
}

const ATTEMPTS = 8

/**
 * Brings a slice into the book: rows, lines, payments, balances, totals and side statements in one batch, XML in one object before it.
 * Whoever changed the book meanwhile makes the batch fail as a whole; then everything is read again. Throws when that happens too often.
 */
export async function commitSlice(target: Target, slice: Slice): Promise<SliceOutcome> {
  const stored = new Set<string>()
  for (let attempt = 1; ; attempt++) {
    try {
      return await trySlice(target, slice, stored)
    } catch (error) {
      if (!isFenced(error) || attempt === ATTEMPTS) throw error
      await new Promise((resolve) => setTimeout(resolve, 5 + Math.random() * 10 * 2 ** attempt))
    }
  }
}

/** Only the fence's own refusal may be tried again; a side statement's guard is its caller's. */
const isFenced = (error: unknown): boolean =>
  isGuardViolation(error) && /entities\.version/.test(`${error} ${(error as Error).cause ?? ''}`)

async function trySlice(target: Target, slice: Slice, stored: Set<string>): Promise<SliceOutcome> {
  const { ledger, entity, rfc } = target
  const { version, known: first } = await readKnown(ledger, entity, slice.uuids)
  const known = new Map(first.map((row) => [row.uuid, row]))
  const { documents, cancelled, looked } = slice.open(known)
  await learn(target, slice, documents, known)
  for (const uuid of (await target.shownElsewhere?.([...documents.keys()])) ?? []) documents.delete(uuid)
  const change = changeOf(documents, cancelled, known)
  const isNothing = change.created.length + change.filled.length + change.cancelled.length === 0
  if (isNothing) return commitWith(target, outcomeOf(change, looked, []), [])
  const [found] = await Promise.all([gather(target, change), putXml(target.files, change, stored)])
  const { writes, cancellations } = applyChanges(change, found)
  const statements = statementsOf(ledger, { entity, rfc, version }, writes, target.now.getTime())
  return commitWith(target, outcomeOf(change, looked, cancellations), statements)
}

async function commitWith(
  { ledger, sideStatements }: Target,
  outcome: SliceOutcome,
  writes: readonly D1PreparedStatement[],
): Promise<SliceOutcome> {
  const statements = [...writes, ...(sideStatements?.(outcome) ?? [])]
  if (statements.length > 0) await commit(ledger, statements)
  return outcome
}

/** Asks for the documents whose UUID could not be told from outside. */
async function learn({ ledger, entity }: Target, slice: Slice, documents: ReadonlyMap<string, Incoming>, known: Map<string, Known>) {
  const asked = new Set(slice.uuids)
  const unasked = [...documents.keys()].filter((uuid) => !asked.has(uuid))
  if (unasked.length === 0) return
  // An older version than these rows is harmless: the fence then refuses.
  for (const row of (await readKnown(ledger, entity, unasked)).known) known.set(row.uuid, row)
}

function changeOf(documents: ReadonlyMap<string, Incoming>, cancelled: MetadataRow[], known: ReadonlyMap<string, Known>): Change {
  const change: Change = { created: [], filled: [], cancelled }
  for (const [uuid, document] of documents) {
    const row = known.get(uuid)
    if (row === undefined) change.created.push(document)
    else if (row.xml_crc === null && document.packed !== null) change.filled.push(document)
  }
  return change
}

/** Reads what the change is to be reckoned with: one call, or two when stored documents are cancelled. */
async function gather({ ledger, entity }: Target, change: Change): Promise<Found> {
  const documents = [...change.created, ...change.filled]
  const old = [...change.filled.map(({ row }) => row.uuid), ...change.cancelled.map(({ uuid }) => uuid)]
  const invoices = invoicesOf(change)
  const deferred = documents.filter(({ row }) => isDeferred(row)).map(({ row }) => row.uuid)
  const monthsOf = (rows: readonly { fecha: string; direction: number }[]): MonthKey[] => [...new Set(rows.map(monthKey))]
  const partsOf = (rows: readonly Parameters<typeof partKeyOf>[0][]): PartKey[] => [...new Set(rows.flatMap((row) => partKeyOf(row) ?? []))]
  const wanted: Wanted = {
    rows: [...new Set([...old, ...invoices])],
    applied: [...new Set([...invoices, ...deferred, ...change.cancelled.map(({ uuid }) => uuid)])],
    months: monthsOf(documents.map(({ row }) => row)),
    suppliers: partsOf(documents.map(({ row }) => row)),
  }
  const found = await readAround(ledger, entity, wanted)
  const changed = new Set(old)
  const before = found.rows.filter(({ uuid }) => changed.has(uuid))
  const turned = new Set(change.cancelled.map(({ uuid }) => uuid))
  const related = relatedTo(before.filter(({ uuid }) => turned.has(uuid)))
  const more: Wanted = {
    rows: without(related, wanted.rows),
    applied: without(related, wanted.applied),
    months: without(monthsOf(before), wanted.months),
    suppliers: without(partsOf(before), wanted.suppliers),
  }
  const rest = await readAround(ledger, entity, more)
  return {
    rows: [...found.rows, ...rest.rows],
    applications: [...found.applications, ...rest.applications],
    months: [...found.months, ...rest.months],
    suppliers: [...found.suppliers, ...rest.suppliers],
  }
}

const without = <T>(list: readonly T[], others: readonly T[]): T[] => {
  const had = new Set(others)
  return list.filter((it) => !had.has(it))
}

/** Puts the new documents' bytes as one object, and says in their rows where. */
async function putXml(files: R2Bucket, { created, filled }: Change, stored: Set<string>): Promise<void> {
  const documents = [...created, ...filled].flatMap(({ row, packed }) => (packed === null ? [] : [{ row, packed }]))
  if (documents.length === 0) return
  const { key, bytes, offsets } = await packXml(documents.map(({ packed }) => packed))
  documents.forEach(({ row }, i) => {
    Object.assign(row, { xml_object: key, xml_offset: offsets[i] })
  })
  if (!stored.has(key)) await files.put(key, bytes)
  stored.add(key)
}

function outcomeOf({ created, filled }: Change, looked: readonly Looked[], cancellations: Cancellation[]): SliceOutcome {
  const status = new Map<string, EntryStatus>()
  for (const { row } of created) status.set(row.uuid, 'created')
  for (const { row } of filled) status.set(row.uuid, 'updated')
  for (const { uuid } of cancellations) status.set(uuid, 'updated')
  const last = new Map(looked.flatMap(({ uuid, code }, i) => (code === undefined ? [[uuid, i] as const] : [])))
  const entries = looked.map((it, i): EntryResult => {
    const { n, name, uuid } = it
    if (it.code !== undefined) return { n, name, status: 'rejected', uuid, code: it.code, detail: it.detail }
    return { n, name, status: (last.get(it.uuid) === i && status.get(it.uuid)) || 'unchanged', uuid, code: null, detail: null }
  })
  const rejected = entries.filter((entry) => entry.status === 'rejected').length
  const brought = (what: DocumentChange['what'], { fecha, issued_at }: { fecha: string; issued_at: number }): DocumentChange => ({
    what,
    fecha,
    issued_at,
  })
  const changes = [
    ...created.map(({ row }) => brought('created', row)),
    ...filled.map(({ row }) => brought('updated', row)),
    ...cancellations.map((it) => brought('cancelled', it)),
  ]
  const instants = changes.map(({ issued_at }) => issued_at)
  return {
    entries,
    created: created.length,
    updated: filled.length,
    unchanged: entries.length - rejected - changes.length,
    cancelled: cancellations.length,
    rejected,
    cancellations,
    changes,
    first_issued_at: instants.length === 0 ? null : instants.reduce((a, b) => Math.min(a, b)),
    last_issued_at: instants.length === 0 ? null : instants.reduce((a, b) => Math.max(a, b)),
  }
}
