import type { System } from '../../platform/context.ts'
import type { DocumentFile } from '../port/authority.ts'
import type { MailboxNotification } from '../port/mailbox.ts'
import type { fetches } from './tables.ts'

/** Why a fetcher could not bring something, besides a refused login. */
export const FETCH_ERRORS = ['account_locked', 'sat_unavailable', 'rate_limited', 'not_delivered'] as const
export type FetchError = (typeof FETCH_ERRORS)[number]

/** An object of the bucket that a fetcher uploaded. */
export interface FetchedFile {
  key: string
  size: number
  sha256: string
}

/** A fetcher's description of a document, with the number of its upload. */
type FetchedDocument = Omit<DocumentFile, 'size' | 'sha256' | 'read'> & { n: number }

/** A fetcher's description of a notification. Instants are in ISO 8601. */
interface FetchedNotification extends Omit<MailboxNotification, 'sent_at' | 'opened_at'> {
  sent_at: string
  opened_at: string | null
  document: { n: number; name: string; content_type: string } | null
}

/** A fetcher's result for a document source. The upload named `list-0` has it as JSON. */
export interface FetchedList {
  documents: readonly FetchedDocument[]
  notifications: readonly FetchedNotification[]
}

/** A fetch as it is stored. */
export type FetchRow = typeof fetches.$inferSelect

/** The uploads of a fetch by their names: `metadata-0`, `xml-12`, `document-3`. */
export const filesOf = ({ files }: Pick<FetchRow, 'files'>): Record<string, FetchedFile> => JSON.parse(files) as Record<string, FetchedFile>

/** The files of a kind in the order of their numbers. */
export const filesOfKind = (row: Pick<FetchRow, 'files'>, kind: string): FetchedFile[] =>
  Object.entries(filesOf(row))
    .map(([name, file]) => ({ name: name.split('-'), file }))
    .filter(({ name }) => name[0] === kind)
    .sort((one, other) => Number(one.name[1]) - Number(other.name[1]))
    .map(({ file }) => file)

export async function deleteUploads({ env }: System, row: { files: string }): Promise<void> {
  const keys = Object.values(filesOf(row)).map(({ key }) => key)
  for (let at = 0; at < keys.length; at += 1_000) await env.FILES.delete(keys.slice(at, at + 1_000))
}
