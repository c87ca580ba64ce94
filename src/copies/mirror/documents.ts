import { mirroredDocuments } from '../../documents/documents.ts'
import { mirroredNotifications } from '../../documents/mailbox/mirrored.ts'
import type { ScopedLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import { MIRRORED_KINDS, type MirroredKind } from '../kinds.ts'
import { doneAmong, type MirrorRow } from './store.ts'

const PAGE = 100

/** A document that is not a CFDI and is to be copied. */
export interface KnownDocument {
  kind: MirroredKind
  document_id: string
  document_date: string
  content_type: string
  size: number
  /** The object that holds its bytes. */
  object: string
}

/** A page of what the organization may read, newest first, and whether each of them is one that can be copied. */
async function readPage(ledger: ScopedLedger, of: 'sources' | 'mailbox', after: string | null) {
  if (of === 'sources')
    return (await mirroredDocuments(ledger, after, PAGE)).map((one) => ({
      ...one,
      kind: MIRRORED_KINDS.find((kind) => kind === one.document_kind),
    }))
  return (await mirroredNotifications(ledger, after, PAGE)).map((one) => ({ ...one, kind: 'buzon' as const }))
}

type Row = Awaited<ReturnType<typeof readPage>>[number]
const isKnown = (row: Row): row is Row & KnownDocument => row.kind !== undefined && row.object !== null && row.content_type !== null

/** Reads a page of documents after one, and returns those that are to be copied. `next` is the last one; null after the last page. */
export async function readDocuments(
  d1: D1Database,
  ledger: ScopedLedger,
  mirror: MirrorRow,
  of: 'sources' | 'mailbox',
  kinds: readonly MirroredKind[],
  after: string | null,
): Promise<{ found: KnownDocument[]; next: string | null }> {
  const page = await readPage(ledger, of, after)
  const meant = page.filter(isKnown).filter(({ kind, got_at }) => kinds.includes(kind) && got_at > mirror.documents_since)
  const ids = meant.map(({ document_id }) => document_id)
  const done = ids.length === 0 ? new Set() : await doneAmong(d1, mirror, ids)
  return {
    found: meant.filter(({ document_id }) => !done.has(document_id)),
    next: page.length === PAGE ? page.at(-1)!.document_id : null,
  }
}
