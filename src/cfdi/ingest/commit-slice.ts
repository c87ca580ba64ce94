import type { SQL } from 'drizzle-orm'
import { commit, type Statement } from '../../platform/db/commit.ts'
import { isUniqueViolation } from '../../platform/db/guard.ts'
import type { DocumentChange } from '../../taxpayers/visibility/slice-counts.ts'
import { addRechecks, nextDaily } from '../checks/rechecks.ts'
import type { CfdiRow } from '../columns.ts'
import type { Rejection } from '../package/rejections.ts'
import { type PartKey, partKeyOf } from '../supplier-totals.ts'
import { type MonthKey, monthKey } from '../totals.ts'
import { MOST_RELATED } from '../xml/document.ts'
import { packXml, type XmlLocation } from '../xml/xml-store.ts'
import { applyChanges, type CancelledCfdi, type Incoming, invoicesOf, recountedIn, relatedTo, type SliceChanges } from './apply-changes.ts'
import { appliersIn, paysItself } from './beyond-advances.ts'
import { isTurning } from './credit-notes.ts'
import { type AffectedKeys, type AffectedRows, type KnownCfdi, readAffected, readKnown, TooManyApplications } from './reads.ts'
import { cutAdvances, cutEach, cutRelations, MOST_NAMED } from './relation-limits.ts'
import { type ImportSource, type ImportSourcePart, importSourceParts, partsIn, type ReportedCancellation } from './row.ts'
import { type SliceWrites, writeStatements } from './writes.ts'

export type EntryStatus = 'created' | 'updated' | 'unchanged' | 'rejected'

/** The result of one file, or of one row of metadata. */
export interface EntryResult {
  /** Its place in the package, from 0; -1 for the result of an upload as a whole. */
  n: number
  /** A row of metadata has that of its file. */
  name: string
  /** For a row of metadata, the line on which it begins. */
  line?: number
  status: EntryStatus
  uuid: string | null
  code: string | null
  detail: string | null
  /** For a metadata file, the first rows that were not kept. */
  rejected_rows?: Rejection[]
}

/** The changes of a committed slice. */
export interface SliceOutcome {
  entries: EntryResult[]
  created: number
  /** Documents that got their XML. */
  updated: number
  unchanged: number
  cancelled: number
  rejected: number
  cancellations: CancelledCfdi[]
  changes: DocumentChange[]
  /** The import sources that are new; empty for a download. */
  parts: ImportSourcePart[]
  /** What is stored because of them, in bytes. */
  stored_bytes: number
}

/** An entry that has been read: the UUID of its document and perhaps what is left out of it, or why it is rejected. */
export type ReadEntry = Pick<EntryResult, 'n' | 'name' | 'line'> &
  ({ uuid: string; code?: never; detail?: string | null } | { code: string; detail: string; uuid: string | null })

/** The rejections among these entries. */
export const rejectedOf = (entries: readonly EntryResult[]): Rejection[] =>
  entries.flatMap(({ name, line = null, code, uuid }) => (code === null ? [] : [{ name, line, code, uuid }]))

type Changed = Pick<CfdiRow, 'uuid' | 'fecha' | 'issued_at'>

/**
 * Since when a document has been stored, in seconds since 1970, as far as its row says: since its last change, unless it was stamped before.
 * What is stamped comes with the next download.
 */
const storedAt = ({ certified_at, updated_at }: KnownCfdi, { fecha, issued_at }: Changed): number => {
  const changed = Math.floor(updated_at / 1_000)
  const stamped = certified_at === null ? changed : issued_at + (Date.parse(`${certified_at}Z`) - Date.parse(`${fecha}Z`)) / 1_000
  return Math.min(changed, stamped)
}

/** The outcome of a slice. When several entries have one UUID, the first one has the document's status, and the others are unchanged. */
function outcomeOf(
  { created, completed }: Pick<SliceChanges, 'created' | 'completed'>,
  read: readonly ReadEntry[],
  cancellations: CancelledCfdi[],
  parts: ImportSourcePart[],
  known: ReadonlyMap<string, KnownCfdi>,
): SliceOutcome {
  const status = new Map<string, EntryStatus>()
  for (const { row } of created) status.set(row.uuid, 'created')
  for (const { row } of completed) status.set(row.uuid, 'updated')
  for (const { uuid } of cancellations) status.set(uuid, 'updated')
  const entries = read.map((entry): EntryResult => {
    if (entry.code !== undefined) return { ...entry, status: 'rejected' }
    const given = status.get(entry.uuid) ?? 'unchanged'
    status.delete(entry.uuid)
    return { ...entry, status: given, code: null, detail: entry.detail ?? null }
  })
  const rejected = entries.filter((entry) => entry.status === 'rejected').length
  const changeOf = (what: DocumentChange['what'], row: Changed): DocumentChange => {
    const before = known.get(row.uuid)
    return { what, fecha: row.fecha, issued_at: row.issued_at, ...(before && { stored_at: storedAt(before, row) }) }
  }
  const changes = [
    ...created.map(({ row }) => changeOf('created', row)),
    ...completed.map(({ row }) => changeOf('updated', row)),
    ...cancellations.map((row) => changeOf('cancelled', row)),
  ]
  return {
    entries,
    created: created.length,
    updated: completed.length,
    unchanged: entries.length - rejected - changes.length,
    cancelled: cancellations.length,
    rejected,
    cancellations,
    changes,
    parts,
    stored_bytes: 0,
  }
}

const monthsOf = (rows: readonly { fecha: string; direction: number }[]): MonthKey[] => [...new Set(rows.map(monthKey))]
const partsOf = (rows: readonly Parameters<typeof partKeyOf>[0][]): PartKey[] => [...new Set(rows.flatMap((row) => partKeyOf(row) ?? []))]

/** What changes of its own accord: documents that get their XML, and those that are withdrawn, which may have paid something. */
const withdrawnIn = ({ cancelled, removed }: SliceChanges): string[] => [...cancelled.map(({ uuid }) => uuid), ...removed]
const changedIn = (changes: SliceChanges): string[] => [...changes.completed.map(({ row }) => row.uuid), ...withdrawnIn(changes)]

const isInvoice = ({ tipo_comprobante, version }: Pick<CfdiRow, 'tipo_comprobante' | 'version'>): boolean =>
  tipo_comprobante === 'I' && version !== null

/** Credit notes of several invoices lead to these, and on to others. Beyond so many, what is stored of them stays. */
const MOST_SHARED = 10_000

/** How often relations that have been read lead to further ones, 04 and 07 in turns. */
const MOST_TURNS = 6

/** The stored credit notes of several invoices, until one exceeds the limit. */
function notesOfSeveral({ applications }: AffectedRows): Set<string> {
  let invoices = 0
  const notes = new Set<string>()
  for (const { kind, names, source } of applications) {
    if (kind !== 'E' || names < 2 || notes.has(source)) continue
    if (invoices > MOST_SHARED) break
    notes.add(source)
    invoices += names
  }
  return notes
}

/**
 * Reads the stored rows that the changes affect: one call, and more when the rows themselves lead to others. Leaves out relations beyond the
 * limits; `cut` gets the UUIDs of their documents. Throws TooManyApplications when the changes have to be divided: `isAlone` says that they
 * cannot be.
 */
export async function readAffectedBy(
  ledger: D1Database,
  entity: number,
  changes: SliceChanges,
  isAlone: boolean,
  cut: string[] = [],
): Promise<AffectedRows> {
  cut.push(...cutAdvances(changes))
  try {
    const read = await readRounds(ledger, entity, changes, isAlone)
    const gone = new Set(changes.removed)
    const stays = <Relation extends { source: string }>(list: Relation[]) => list.filter(({ source }) => !gone.has(source))
    const { applications, substitutions, advances } = read
    cut.push(
      ...cutRelations(changes, { applications: stays(applications), substitutions: stays(substitutions), advances: stays(advances) }),
    )
    return read
  } catch (error) {
    if (!(error instanceof TooManyApplications && isAlone)) throw error
    const applying = cutEach(changes, () => ({ applications: [] }))
    if (applying.length === 0) throw error
    cut.push(...applying)
    return readAffectedBy(ledger, entity, changes, isAlone, cut)
  }
}

async function readRounds(ledger: D1Database, entity: number, changes: SliceChanges, isAlone: boolean): Promise<AffectedRows> {
  const asked: AffectedKeys = { rows: [], applied: [], linked: [], advances: [], months: [], suppliers: [] }
  const read: AffectedRows = {
    rows: [],
    applications: [],
    substitutions: [],
    advances: [],
    applied_by_others: [],
    months: [],
    suppliers: [],
  }
  let keys = keysOf(changes)
  for (let turn = 1; Object.values(keys).some(({ length }) => length > 0); turn++) {
    append(asked, keys)
    append(read, await readAffected(ledger, entity, keys, isAlone))
    keys = keysOfStored(changes, read, asked)
    if (turn > MOST_TURNS) keys = { ...keys, linked: [], advances: [] }
  }
  return read
}

function append<Lists extends object>(to: Lists, more: Lists): void {
  for (const name of Object.keys(to) as (keyof Lists)[])
    to[name] = [...(to[name] as unknown[]), ...(more[name] as unknown[])] as Lists[typeof name]
}

function keysOf(changes: SliceChanges): AffectedKeys {
  const rows = [...changes.created, ...changes.completed].map(({ row }) => row)
  const invoices = invoicesOf(changes)
  const changed = changedIn(changes)
  return {
    rows: [...new Set([...changed, ...invoices])],
    applied: [...new Set([...invoices, ...rows.filter(isInvoice).map(({ uuid }) => uuid), ...changes.cancelled.map(({ uuid }) => uuid)])],
    linked: [...new Set([...rows.map(({ uuid }) => uuid), ...changed, ...invoices])],
    advances: [
      ...new Set([
        ...[...changes.created, ...changes.completed].flatMap(({ row, advances, substitutes }) => [
          // A note that names it may now lower another one that applies the same advance.
          ...(advances.length === 0 ? [] : [row.uuid]),
          ...advances,
          ...substitutes,
        ]),
        ...paidInForm30(changes),
        ...withdrawnIn(changes),
      ]),
    ],
    months: monthsOf(rows),
    suppliers: partsOf(rows),
  }
}

/** The invoices that documents of a slice pay in form 30, or that say so themselves. */
const paidInForm30 = ({ created, completed }: SliceChanges): string[] =>
  [...created, ...completed].flatMap(({ row, applications }) => [...appliersIn(applications), ...(paysItself(row) ? [row.uuid] : [])])

/** What these invoices name as advances, as far as they are in the slice: relations that are stored lead to them. */
const advancesOf = ({ created, completed }: SliceChanges, appliers: ReadonlySet<string>): string[] =>
  [...created, ...completed].flatMap(({ row, advances }) => (appliers.has(row.uuid) ? advances : []))

/**
 * The keys to which stored rows lead: the documents that a changed one substitutes or that substitute it, the months and suppliers of those
 * that count now or no more, the invoices that these and the withdrawn ones paid, and those among which a credit note is divided.
 */
function keysOfStored(changes: SliceChanges, read: AffectedRows, asked: AffectedKeys): AffectedKeys {
  const changed = new Set(changedIn(changes))
  const withdrawn = new Set(withdrawnIn(changes))
  const recounted = recountedIn(changes, read)
  const created = changes.created.map(({ row }) => row.uuid)
  const before = [...read.rows.filter(({ uuid }) => changed.has(uuid)), ...recounted]
  const advanced = new Set(read.advances.map(({ source }) => source))
  const notes = read.rows.filter((row) => row.tipo_comprobante === 'E' && advanced.has(row.uuid))
  const shared = asked.applied.length > MOST_SHARED ? new Set<string>() : notesOfSeveral(read)
  const related = relatedTo([...read.rows.filter(({ uuid }) => withdrawn.has(uuid) || shared.has(uuid)), ...recounted, ...notes])
  const [substituted, advancing] = [read.substitutions, read.advances].map((list) => [
    ...new Set(list.flatMap((one) => Object.values(one) as string[])),
  ]) as [string[], string[]]
  const appliers = [...paidInForm30(changes), ...appliersIn(read.applications)]
  const covering = advancesOf(changes, new Set(appliers))
  const rows = [...new Set([...shared, ...related, ...except([...substituted, ...advancing, ...covering], created)])]
  return {
    rows: except(rows, asked.rows),
    applied: except(rows, asked.applied),
    linked: except([...new Set([...advancing, ...related, ...covering])], asked.linked),
    advances: except(
      [
        ...new Set([
          ...substituted,
          ...read.applications.filter(isTurning).map(({ source }) => source),
          ...appliers,
          ...read.applied_by_others,
        ]),
      ],
      asked.advances,
    ),
    months: except(monthsOf(before), asked.months),
    suppliers: except(partsOf(before), asked.suppliers),
  }
}

/** The elements of a list that are not in another. */
const except = <T>(list: readonly T[], others: readonly T[]): T[] => {
  const excluded = new Set(others)
  return list.filter((one) => !excluded.has(one))
}

/** The partition that documents are ingested into, and where they come from. */
export interface IngestTarget {
  ledger: D1Database
  files: R2Bucket
  /** The number of the partition: an RFC's, or the negative number of an organization's imports. */
  entity: number
  rfc: string
  now: Date
  provenance: 'authority' | 'import'
  /** Statements to commit in the batch of each slice, or alone when it changes nothing. Called again when a slice is retried. */
  sideStatements?: (outcome: SliceOutcome) => Statement[] | Promise<Statement[]>
  /** Called before each slice. What it throws ends the ingestion; slices before it stay. */
  beforeSlice?: () => void | Promise<void>
  /** Whether stored documents are left out before slices are formed, for a source whose first part has been ingested. */
  passesOverStored?: boolean
  /**
   * The import to which the documents belong. It keeps a copy of each XML in objects of its own, so that they can be deleted with it, and
   * outcomes list its import sources.
   */
  import_id?: string
  /** The parts of the import. Commits add theirs. */
  parts?: Set<number>
  /** Takes room for further documents and bytes. Returns how many of each fit, and what the others learn. */
  reserveRoom?: (wanted: Room) => Promise<Room & { detail: string }>
  /** Which of these documents the organization already sees in the authority's partition. They are not stored again. */
  alreadyVisible?: (uuids: readonly string[]) => Promise<ReadonlyMap<string, XmlContent>>
}

/** How many documents count, and how many bytes are stored. */
export interface Room {
  documents: number
  bytes: number
}

/** The CRC and size of a document's XML, which identify it; null where only metadata is known. */
export type XmlContent = Pick<KnownCfdi, 'xml_crc' | 'xml_size'>

/** The content of a slice. Where several XML files have one UUID, the first one is in `documents`. */
export interface SliceContent {
  documents: Map<string, Incoming>
  cancelled: ReportedCancellation[]
  entries: ReadEntry[]
  /** The import sources; empty for a download. The locations of XML are not set yet. */
  importSources: Map<string, SliceImportSource>
}

/** An import source with the compressed bytes of its XML, and what is stored because of it, in bytes. */
export interface SliceImportSource extends ImportSource {
  packed: Uint8Array | null
  bytes: number
}

/** Entries of a package that are committed together. */
export interface Slice {
  /** The UUIDs that are known without opening the entries. */
  uuids: readonly string[]
  /**
   * Opens the entries that are not known. `visible` holds what the organization sees in the authority's partition. Called again when more
   * is known, and after a conflict.
   */
  read(known: ReadonlyMap<string, KnownCfdi>, visible: ReadonlyMap<string, XmlContent>): Promise<SliceContent>
  /** Forgets what has been opened, once the statements hold it. It is opened again after a conflict. */
  forget?(): void
  /** How many of its files or rows are in the slice. It is known once the slice has been read. */
  taken(): number
  /** Leaves half of them to the next slice. */
  divide?(): void
}

const MAX_ATTEMPTS = 8
/** What the result of a document says with the repair `related_cut`. */
export const RELATED_CUT = `The document names or pays more than ${MOST_RELATED} documents, more than ${MOST_NAMED} by relation 07, or some that too many others name. It does not act on the others.`
/** The code of a file or row for whose document the plan leaves no room. */
export const QUOTA_EXCEEDED = 'import.quota_exceeded'

/** The prefix of the keys of an import's XML objects. */
export const importPrefix = (import_id: string): string => `xml/${import_id}/`

/**
 * Stores a slice: its XML in one object, then rows, lines, applications, balances, totals and side statements in one batch. When somebody
 * else has changed the partition, the fence refuses the batch, and the slice is read and committed again; throws after 8 attempts.
 */
export async function commitSlice(target: IngestTarget, slice: Slice): Promise<SliceOutcome> {
  await target.beforeSlice?.()
  const storedObjects = new Set<string>()
  for (;;)
    try {
      return await retryFenced(() => tryCommit(target, slice, storedObjects))
    } catch (error) {
      if (!(error instanceof TooManyApplications) || slice.taken() < 2) throw error
      slice.divide?.()
    }
}

/** Repeats an attempt to read, compute and commit while somebody else changes the partition; throws after 8 attempts. */
export async function retryFenced<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      // A guard among the side statements is not retried here: the caller that added it decides.
      if (!isUniqueViolation(error, 'cfdi_commits.') || attempt === MAX_ATTEMPTS) throw error
      await new Promise((resolve) => setTimeout(resolve, 5 + Math.random() * 10 * 2 ** attempt))
    }
  }
}

async function tryCommit(target: IngestTarget, slice: Slice, storedObjects: Set<string>): Promise<SliceOutcome> {
  const { ledger, entity, rfc } = target
  const { sequence, known: rows } = await readKnown(ledger, entity, slice.uuids)
  const known = new Map(rows.map((row) => [row.uuid, row]))
  const content = await readSlice(target, slice, known)
  let entries = await refuseWithoutRoom(target, content, known)
  const changes = changesOf(content.documents, content.cancelled, known)
  const added = newImportSources(target, content.importSources, known)
  const parts = importSourceParts(added, sequence)
  const isUnchanged = changes.created.length + changes.completed.length + changes.cancelled.length + parts.length === 0
  if (isUnchanged) return commitOutcome(target, outcomeOf(changes, entries, [], [], known), [])
  const cut: string[] = []
  const [affected] = await Promise.all([
    readAffectedBy(ledger, entity, changes, slice.taken() < 2, cut),
    target.import_id === undefined ? putXml(target.files, changes, storedObjects) : putStoredXml(target, content, storedObjects),
  ])
  if (cut.length > 0)
    entries = entries.map((entry) => (entry.code === undefined && cut.includes(entry.uuid) ? { ...entry, detail: RELATED_CUT } : entry))
  const { writes, cancellations } = applyChanges(changes, affected)
  const stored = hold(changes, parts)
  const statements = writeStatements({ entity, rfc, sequence }, { ...writes, stored }, target.now.getTime())
  statements.push(...recheckStatements(target, changes))
  slice.forget?.()
  const stored_bytes = bytesOf(added)
  const outcome = await commitOutcome(target, { ...outcomeOf(changes, entries, cancellations, parts, known), stored_bytes }, statements)
  for (const { part } of parts) target.parts?.add(part)
  return outcome
}

/** A slice with more documents without XML needs no recheck: a part of the download is missing. */
const MOST_UNPROVEN = 20

/**
 * Received documents that metadata lists as valid, and that the package of valid ones did not hold: they may have been cancelled in between.
 * The authority is asked about them.
 */
function recheckStatements({ entity, provenance, now }: IngestTarget, { created }: SliceChanges): SQL[] {
  if (provenance === 'import') return []
  const unproven = created.filter(({ row, packed }) => packed === null && row.direction === 1 && row.cancelled === 0 && row.kind === 'cfdi')
  if (unproven.length === 0 || unproven.length > MOST_UNPROVEN) return []
  const due_at = nextDaily(now.getTime())
  return addRechecks(unproven.map(({ row }) => ({ entity, uuid: row.uuid, due_at, recheck: 'unproven' })))
}

/** Reads a slice, and again when only its documents revealed what is known of them. */
async function readSlice(target: IngestTarget, slice: Slice, known: Map<string, KnownCfdi>): Promise<SliceContent> {
  const content = await slice.read(known, new Map())
  const isMore = await addKnown(target, slice, content.documents, known)
  const visible = await target.alreadyVisible?.([...new Set(content.entries.flatMap(({ uuid }) => uuid ?? []))])
  return isMore || visible?.size ? slice.read(known, visible ?? new Map()) : content
}

/**
 * The import sources that are new: metadata that lists a valid document adds nothing to what the import holds of it. The import's own parts
 * are known from those of the documents.
 */
const newImportSources = ({ parts }: IngestTarget, importSources: SliceContent['importSources'], known: ReadonlyMap<string, KnownCfdi>) =>
  [...importSources.values()].filter(
    ({ uuid, xml, metadata }) =>
      xml !== null || metadata!.cancelled || !partsIn(known.get(uuid)?.stored ?? null).some((part) => parts?.has(part)),
  )

/** Sets the parts of new documents, and returns those to add to stored ones. */
function hold({ created }: SliceChanges, parts: readonly ImportSourcePart[]): SliceWrites['stored'] {
  const stored = new Map(parts.flatMap(({ part, importSources }) => importSources.map(({ uuid }) => [uuid, String(part)])))
  for (const { row } of created) {
    row.stored = stored.get(row.uuid) ?? null
    stored.delete(row.uuid)
  }
  return [...stored].map(([uuid, part]) => ({ uuid, stored: part }))
}

const bytesOf = (importSources: readonly SliceImportSource[]): number => importSources.reduce((sum, { bytes }) => sum + bytes, 0)

/** Takes out what has no room, the last ones first, and says so in the entries. */
async function refuseWithoutRoom(target: IngestTarget, content: SliceContent, known: ReadonlyMap<string, KnownCfdi>): Promise<ReadEntry[]> {
  const { documents, importSources, entries } = content
  const added = target.reserveRoom === undefined ? [] : newImportSources(target, importSources, known)
  if (added.length === 0) return entries
  const documentsIn = ({ uuid }: SliceImportSource): number => (documents.has(uuid) && !known.has(uuid) ? 1 : 0)
  const wanted = { documents: added.reduce((sum, one) => sum + documentsIn(one), 0), bytes: bytesOf(added) }
  const { detail, ...left } = await target.reserveRoom!(wanted)
  const refused = new Set<string>()
  for (const one of added) {
    if (documentsIn(one) > left.documents || one.bytes > left.bytes) refused.add(one.uuid)
    else {
      left.documents -= documentsIn(one)
      left.bytes -= one.bytes
    }
  }
  if (refused.size === 0) return entries
  for (const uuid of refused) {
    documents.delete(uuid)
    importSources.delete(uuid)
  }
  content.cancelled = content.cancelled.filter(({ uuid }) => !refused.has(uuid))
  return entries.map((entry) => (entry.code === undefined && refused.has(entry.uuid) ? { ...entry, code: QUOTA_EXCEEDED, detail } : entry))
}

async function commitOutcome(
  { ledger, sideStatements }: IngestTarget,
  outcome: SliceOutcome,
  writes: readonly SQL[],
): Promise<SliceOutcome> {
  const statements = [...writes, ...((await sideStatements?.(outcome)) ?? [])]
  if (statements.length > 0) await commit(ledger, statements)
  return outcome
}

/** Adds what is stored of the documents that revealed their UUIDs only when they were opened. Returns whether there is any. */
async function addKnown(
  { ledger, entity }: IngestTarget,
  slice: Slice,
  documents: ReadonlyMap<string, Incoming>,
  known: Map<string, KnownCfdi>,
): Promise<boolean> {
  const more = except([...documents.keys()], slice.uuids)
  if (more.length === 0) return false
  // These rows may be newer than the commit that was read last. That is harmless, because the fence then refuses the batch.
  const found = (await readKnown(ledger, entity, more)).known
  for (const row of found) known.set(row.uuid, row)
  return found.length > 0
}

function changesOf(
  documents: ReadonlyMap<string, Incoming>,
  cancelled: ReportedCancellation[],
  known: ReadonlyMap<string, KnownCfdi>,
): SliceChanges {
  const changes: SliceChanges = { created: [], completed: [], cancelled, removed: [] }
  for (const [uuid, document] of documents) {
    const row = known.get(uuid)
    if (row === undefined) changes.created.push(document)
    else if (row.xml_crc === null && document.packed !== null) changes.completed.push(document)
  }
  return changes
}

/** Stores the new documents' compressed bytes as one object and sets its key and their offsets in their rows. */
async function putXml(files: R2Bucket, { created, completed }: SliceChanges, storedObjects: Set<string>): Promise<void> {
  const documents = [...created, ...completed].flatMap(({ row, packed }) => (packed === null ? [] : [{ location: row, packed }]))
  await putObject(files, 'xml/', documents, storedObjects)
}

/** Stores the compressed XML of import sources as one object of its own, and sets the locations in import sources and rows. */
async function putStoredXml({ files, import_id }: IngestTarget, { documents, importSources }: SliceContent, storedObjects: Set<string>) {
  const stored = [...importSources.values()].flatMap(({ xml, packed }) =>
    xml === null || packed === null ? [] : [{ location: xml, packed }],
  )
  await putObject(files, importPrefix(import_id!), stored, storedObjects)
  for (const { row } of documents.values()) {
    const { xml } = importSources.get(row.uuid)!
    if (xml !== null) Object.assign(row, { xml_object: xml.xml_object, xml_offset: xml.xml_offset })
  }
}

async function putObject(
  files: R2Bucket,
  prefix: string,
  documents: readonly { location: Partial<XmlLocation> | CfdiRow; packed: Uint8Array }[],
  storedObjects: Set<string>,
): Promise<void> {
  if (documents.length === 0) return
  const { hash, bytes, offsets } = await packXml(documents.map(({ packed }) => packed))
  const key = prefix + hash
  documents.forEach(({ location }, i) => {
    Object.assign(location, { xml_object: key, xml_offset: offsets[i] })
  })
  if (!storedObjects.has(key)) await files.put(key, bytes)
  storedObjects.add(key)
  // Frees the memory at once. The engine would let several of these objects pile up before it collects them.
  bytes.buffer.transfer(0)
}
