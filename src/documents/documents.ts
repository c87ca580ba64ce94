import type { DocumentFile } from '../authority/port/authority.ts'
import { notFound } from '../failures.ts'
import type { Ctx } from '../platform/context.ts'
import { idOfUuid } from '../platform/db/id.ts'
import { openCursor, paginate } from '../platform/paging/cursor.ts'
import { openLedger, type ScopedLedger } from '../visibility/scoped-ledger.ts'
import type { Document, DocumentQuery } from './contract.ts'
import { type DocumentRow, findDocument, knownDocuments, listDocuments, upsertDocuments } from './store.ts'

const view = (ctx: Ctx, row: DocumentRow): Document => ({
  document_id: row.document_id,
  data_source_key: row.source,
  name: row.name,
  title: row.title,
  content_type: row.content_type,
  size: row.size,
  sha256: row.sha256,
  document_date: row.document_date,
  period_end: row.period_end,
  attributes: JSON.parse(row.attributes) as Record<string, string>,
  created_at: new Date(gotAt(ctx.organization.id, ctx.connection?.first_active_at ?? 0, row)).toISOString(),
})

/** When the organization got the document with a run of its own; without one, not before it first had an active connection. */
const gotAt = (organization_id: string, first_active_at: number, { organizations, created_at }: DocumentRow): number =>
  (JSON.parse(organizations) as Record<string, number>)[organization_id] ?? Math.max(created_at, first_active_at)

const objectOf = (sha256: string): string => `documents/${sha256}`

/** Returns a page of the documents of an RFC that the organization may read, newest first. */
export async function listOfDocuments(ctx: Ctx, query: DocumentQuery) {
  const ledger = openLedger(ctx)
  const scope = { list: `documents:${ledger.fiscal_entity_id}`, filters: query }
  const [before] = (await openCursor(ctx, scope, query.cursor)) ?? []
  const rows = await listDocuments(ledger, ctx.organization.id, {
    before: before === undefined ? null : String(before),
    source: query.data_source_key ?? null,
    limit: query.limit + 1,
  })
  return paginate(
    ctx,
    scope,
    query.limit,
    rows,
    (row) => [row.document_id],
    (row) => view(ctx, row),
  )
}

/** Returns a document and its bytes as they were downloaded. Throws Failure 404 document.not_found. */
export async function readDocument(ctx: Ctx, document_id: string): Promise<{ document: Document; content: ReadableStream }> {
  const row = await findDocument(openLedger(ctx), ctx.organization.id, document_id)
  const object = row && (await ctx.env.FILES.get(objectOf(row.sha256)))
  if (!row || !object) throw notFound('document')
  return { document: view(ctx, row), content: object.body }
}

/** A document that an organization may read, as those see it who copy it elsewhere. */
export interface MirroredDocument extends Pick<DocumentRow, 'document_id' | 'source' | 'content_type' | 'size' | 'document_date'> {
  /** When the organization got it, in milliseconds. */
  got_at: number
  /** The object that holds its bytes. */
  object: string
}

/** Returns documents that the organization may read, newest first, after one. */
export const mirroredDocuments = async (ledger: ScopedLedger, after: string | null, limit: number): Promise<MirroredDocument[]> =>
  (await listDocuments(ledger, ledger.organization_id, { before: after, source: null, limit })).map((row) => ({
    ...row,
    got_at: gotAt(ledger.organization_id, ledger.first_active_at, row),
    object: objectOf(row.sha256),
  }))

interface DocumentJob {
  entity: number
  source: string
  job_id: string
}

/** Stores the new files. Returns the statement that stores their rows, to be committed with the end of the job, and how many are new. */
export async function keepDocuments(
  { ledger, files, now }: { ledger: D1Database; files: R2Bucket; now: Date },
  job: DocumentJob,
  delivered: readonly DocumentFile[],
): Promise<{ statements: D1PreparedStatement[]; created: number }> {
  const rows = await Promise.all(delivered.map((file) => rowOf(job, file, now)))
  if (rows.length === 0) return { statements: [], created: 0 }
  const known = await knownDocuments(
    ledger,
    job.entity,
    rows.map(({ document_id }) => document_id),
  )
  const fresh = rows.flatMap((row, n) => (known.has(row.document_id) ? [] : [{ row, bytes: delivered[n]!.bytes }]))
  for (const { row, bytes } of fresh) await files.put(objectOf(row.sha256), bytes)
  return { statements: [upsertDocuments(ledger, rows, job)], created: fresh.length }
}

/** The id is derived from the document, so that the same document is never stored twice. Ids sort by the document's date. */
async function rowOf({ entity, source }: DocumentJob, file: DocumentFile, now: Date): Promise<Omit<DocumentRow, 'organizations'>> {
  const sha256 = (await sha256Of(file.bytes)).toHex()
  const identity = await sha256Of(new TextEncoder().encode(JSON.stringify([entity, source, file.name, sha256])))
  const hex = identity.subarray(0, 10).toHex()
  const time = Date.parse(`${file.document_date}T00:00:00Z`).toString(16).padStart(12, '0')
  const uuid = `${time.slice(0, 8)}-${time.slice(8)}-${hex.slice(0, 4)}-${hex.slice(4, 8)}-${hex.slice(8, 20)}`
  return {
    entity,
    document_id: idOfUuid('doc', uuid),
    source,
    name: file.name,
    title: file.title,
    content_type: file.content_type,
    size: file.bytes.length,
    sha256,
    document_date: file.document_date,
    period_end: file.period_end,
    attributes: JSON.stringify(file.attributes),
    created_at: now.getTime(),
  }
}

const sha256Of = async (bytes: Uint8Array): Promise<Uint8Array> => new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
