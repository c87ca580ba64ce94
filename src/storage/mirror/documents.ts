import { type MirroredDocument, mirroredDocuments } from '../../documents/documents.ts'
import type { ScopedLedger } from '../../visibility/scoped-ledger.ts'
import { MIRRORED_KINDS, type MirroredKind } from '../contract.ts'
import { copiedAmong, type MirrorRow } from './store.ts'

const PAGE = 100

/** A document that is not a CFDI and is to be copied. */
export interface KnownDocument extends MirroredDocument {
  kind: MirroredKind
}

/** The kind of a document; undefined for one that is not mirrored. */
const kindOf = ({ document_kind }: MirroredDocument): MirroredKind | undefined => MIRRORED_KINDS.find((kind) => kind === document_kind)

/** Whether any of these kinds is one of documents that are not CFDIs. */
export const areAny = (kinds: readonly MirroredKind[]): boolean => kinds.some((kind) => kind !== 'cfdi_xml')

/** Reads a page of the documents after one, and returns those that are to be copied. `next` is the last one; null after the last page. */
export async function readDocuments(
  d1: D1Database,
  ledger: ScopedLedger,
  { connector, documents_since }: MirrorRow,
  kinds: readonly MirroredKind[],
  after: string | null,
): Promise<{ found: KnownDocument[]; next: string | null }> {
  const page = await mirroredDocuments(ledger, after, PAGE)
  const meant = page.flatMap((document) => {
    const kind = kindOf(document)
    return kind !== undefined && kinds.includes(kind) && document.got_at > documents_since ? [{ ...document, kind }] : []
  })
  const ids = meant.map(({ document_id }) => document_id)
  const copied = ids.length === 0 ? new Set() : await copiedAmong(d1, connector, ids)
  return {
    found: meant.filter(({ document_id }) => !copied.has(document_id)),
    next: page.length === PAGE ? page.at(-1)!.document_id : null,
  }
}
