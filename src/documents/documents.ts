import { documentKeys, inactiveWarnings } from '../authority/sources.ts'
import { type AskedContent, openContent } from '../platform/content.ts'
import type { Ctx } from '../platform/context.ts'
import { notFound } from '../platform/failures.ts'
import { openCursor, paginate } from '../platform/paging/cursor.ts'
import { openLedger, type ScopedLedger } from '../taxpayers/visibility/scoped-ledger.ts'
import type { Document, DocumentQuery } from './contract.ts'
import { objectOf } from './keep.ts'
import { type DocumentRow, findDocument, listDocuments, type VersionRow } from './store.ts'

const view = (ctx: Ctx, row: VersionRow): Document => ({
  document_id: row.document_id,
  data_source_key: row.source,
  kind: row.kind,
  series: row.series,
  version: row.version,
  is_latest: row.version === row.versions,
  name: row.name,
  title: row.title,
  content_type: row.content_type,
  size: row.size,
  sha256: row.sha256,
  document_date: row.document_date,
  period_end: row.period_end,
  attributes: JSON.parse(row.attributes) as Record<string, string>,
  fields_status: row.fields_status,
  fields: row.all_fields === null ? null : (JSON.parse(row.all_fields) as Document['fields']),
  fields_reason: row.fields_reason,
  created_at: gotAt(ctx, row),
})

/** When the organization got the document with a run of its own; without one, not before it first had an active connection. */
const gotAtMs = (organization_id: string, first_active_at: number, row: Pick<DocumentRow, 'organizations' | 'created_at'>): number =>
  (JSON.parse(row.organizations) as Record<string, number>)[organization_id] ?? Math.max(row.created_at, first_active_at)

export const gotAt = ({ organization, connection }: Ctx, row: Pick<DocumentRow, 'organizations' | 'created_at'>): string =>
  new Date(gotAtMs(organization.id, connection?.first_active_at ?? 0, row)).toISOString()

/** Returns a page of the documents of an RFC that the organization may read, newest first. */
export async function listOfDocuments(ctx: Ctx, query: DocumentQuery) {
  const ledger = openLedger(ctx)
  const scope = { list: `documents:${ledger.fiscal_entity_id}`, filters: query }
  const [before] = (await openCursor(ctx, scope, query.cursor)) ?? []
  const rows = await listDocuments(ledger, {
    before: before === undefined ? null : String(before),
    source: query.data_source_key ?? null,
    kind: query.kind ?? null,
    from: query.from ?? null,
    to: query.to ?? null,
    isLatest: query.version === 'latest',
    limit: query.limit + 1,
  })
  const page = await paginate(
    ctx,
    scope,
    query.limit,
    rows,
    (row) => [row.document_id],
    (row) => view(ctx, row),
  )
  return { ...page, warnings: inactiveWarnings(ctx, query.data_source_key ? [query.data_source_key] : documentKeys) }
}

/** Returns a document as the list has it. Throws Failure 404 document.not_found. */
export async function getDocument(ctx: Ctx, document_id: string): Promise<Document> {
  const [row] = await listDocuments(openLedger(ctx), { document_id, before: null, limit: 1 })
  if (!row) throw notFound('document')
  return view(ctx, row)
}

/** A document that an organization may read, as those see it who copy it elsewhere. */
export interface MirroredDocument extends Pick<DocumentRow, 'document_id' | 'content_type' | 'size' | 'document_date'> {
  document_kind: DocumentRow['kind']
  /** When the organization got it, in milliseconds. */
  got_at: number
  /** The object that holds its bytes. */
  object: string
}

/** Returns documents that the organization may read, newest first, after one. */
export const mirroredDocuments = async (ledger: ScopedLedger, after: string | null, limit: number): Promise<MirroredDocument[]> =>
  (await listDocuments(ledger, { before: after, limit })).map((row) => ({
    ...row,
    document_kind: row.kind,
    got_at: gotAtMs(ledger.organization_id, ledger.first_active_at, row),
    object: objectOf(row.sha256),
  }))

/**
 * Answers with a document as it was downloaded, or with what is asked for of it. Throws Failure 404 document.not_found and
 * 416 document.range_not_satisfiable.
 */
export async function readDocument(ctx: Ctx, document_id: string, asked: AskedContent): Promise<Response> {
  const document = await findDocument(openLedger(ctx), document_id)
  const answer =
    document && (await openContent(ctx.env.FILES, { ...document, object: objectOf(document.sha256), etag: document.sha256 }, asked))
  if (!answer) throw notFound('document')
  return answer
}
