import type { DocumentChange } from '../../taxpayers/visibility/slice-counts.ts'
import type { CfdiRow } from '../columns.ts'
import type { Rejection } from '../package/rejections.ts'
import type { CancelledCfdi, SliceChanges } from './apply-changes.ts'
import type { HoldingPart } from './holdings.ts'
import type { KnownCfdi } from './reads.ts'

export type EntryStatus = 'created' | 'updated' | 'unchanged' | 'rejected'

/** The result of one file, or of one row of metadata. */
export interface EntryResult {
  /** Its place in the package, from 0; -1 for the result of an upload as a whole. */
  n: number
  /** A row of metadata has that of its file. */
  name: string
  /** Of a row of metadata: the line on which it begins. */
  line?: number
  status: EntryStatus
  uuid: string | null
  code: string | null
  detail: string | null
  /** Of a metadata file: the first rows that were not kept. */
  rejected_rows?: Rejection[]
}

/** What a committed slice changed. */
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
  /** What the import says of documents and did not say before; empty for a download. */
  parts: HoldingPart[]
}

/** An entry that has been read: the UUID of its document, or why it is rejected. */
export type ReadEntry = Pick<EntryResult, 'n' | 'name' | 'line'> &
  ({ uuid: string; code?: never } | { code: string; detail: string; uuid: string | null })

/** What was not kept of these entries. */
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
export function outcomeOf(
  { created, completed }: Pick<SliceChanges, 'created' | 'completed'>,
  read: readonly ReadEntry[],
  cancellations: CancelledCfdi[],
  parts: HoldingPart[],
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
    return { ...entry, status: given, code: null, detail: null }
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
  }
}
