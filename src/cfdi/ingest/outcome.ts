import type { DocumentChange } from '../../visibility/slice-counts.ts'
import type { CancelledCfdi, SliceChanges } from './apply-changes.ts'
import type { Holding } from './holdings.ts'

export type EntryStatus = 'created' | 'updated' | 'unchanged' | 'rejected'

/** The result of one file, or of one row of metadata. */
export interface EntryResult {
  /** Its place in the package, from 0; -1 for the result of an upload as a whole. */
  n: number
  name: string
  status: EntryStatus
  uuid: string | null
  code: string | null
  detail: string | null
}

/** A holding, and whether its document was not stored before. */
export type CommittedHolding = Holding & { isNew: boolean }

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
  /** What the import says of each document that it brought; empty for a download. */
  holdings: CommittedHolding[]
}

/** An entry that has been read: the UUID of its document, or why it is rejected. */
export type ReadEntry = Pick<EntryResult, 'n' | 'name'> &
  ({ uuid: string; code?: never } | { code: string; detail: string; uuid: string | null })

/** The outcome of a slice. When several entries have one UUID, the last one has the document's status, and the others are unchanged. */
export function outcomeOf(
  { created, completed }: Pick<SliceChanges, 'created' | 'completed'>,
  read: readonly ReadEntry[],
  cancellations: CancelledCfdi[],
  holdings: CommittedHolding[],
): SliceOutcome {
  const status = new Map<string, EntryStatus>()
  for (const { row } of created) status.set(row.uuid, 'created')
  for (const { row } of completed) status.set(row.uuid, 'updated')
  for (const { uuid } of cancellations) status.set(uuid, 'updated')
  const last = new Map(read.flatMap(({ uuid, code }, i) => (code === undefined ? [[uuid, i] as const] : [])))
  const entries = read.map((entry, i): EntryResult => {
    const { n, name, uuid } = entry
    if (entry.code !== undefined) return { n, name, status: 'rejected', uuid, code: entry.code, detail: entry.detail }
    return { n, name, status: (last.get(entry.uuid) === i && status.get(entry.uuid)) || 'unchanged', uuid, code: null, detail: null }
  })
  const rejected = entries.filter((entry) => entry.status === 'rejected').length
  const changeOf = (what: DocumentChange['what'], { fecha, issued_at }: { fecha: string; issued_at: number }): DocumentChange => ({
    what,
    fecha,
    issued_at,
  })
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
    holdings,
  }
}
