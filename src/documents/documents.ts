import type { SQL } from 'drizzle-orm'
import type { DocumentFile } from '../authority/port/authority.ts'
import type { CertificateList, ComplianceOpinion, DocumentFields } from '../authority/port/fields-contract.ts'
import { documentKeys, inactiveWarnings } from '../authority/sources.ts'
import { type AskedContent, openContent } from '../platform/content.ts'
import type { Ctx, System } from '../platform/context.ts'
import { idOfUuid } from '../platform/db/id.ts'
import { readFirst, readRows } from '../platform/db/statement.ts'
import { notFound } from '../platform/failures.ts'
import { log } from '../platform/log.ts'
import { openCursor, paginate } from '../platform/paging/cursor.ts'
import { clock } from '../platform/time/clock.ts'
import { openLedger, type ScopedLedger } from '../taxpayers/visibility/scoped-ledger.ts'
import { changesOf, keptFields } from './changes.ts'
import type { Document, DocumentQuery, TaxProfile } from './contract.ts'
import {
  insertCertificates,
  insertObligationRules,
  type KeptRow,
  knownDocuments,
  notifyRead,
  retireStatement,
  upsertDocuments,
} from './keep-store.ts'
import {
  basesOf,
  type DocumentRow,
  findDocument,
  latestRead,
  latestReadStatement,
  listDocuments,
  type ReadVersion,
  type VersionRow,
} from './store.ts'

/** The state and fields of a document. */
export type Reading = Pick<DocumentRow, 'fields_status' | 'fields' | 'fields_reason'>

/** Kinds whose fields are in the text of their PDFs. */
const PDF_KINDS: readonly DocumentFile['kind'][] = ['csf', 'opinion_32d']
/** How long a PDF may take, and the largest one that is read, in bytes. */
const READ_WITHIN_MS = 8_000
const MAX_PDF_BYTES = 5_000_000

export const PENDING: Reading = { fields_status: 'pending', fields: null, fields_reason: null }
const NONE: Reading = { fields_status: 'none', fields: null, fields_reason: null }

export const unreadable = (fields_reason: string): Reading => ({ fields_status: 'unreadable', fields: null, fields_reason })

/**
 * Returns the fields of a document, as the authority delivered them or as its PDF has them. Pending when the reader of PDFs does not
 * answer.
 */
export async function readFields(
  system: System,
  file: Pick<DocumentFile, 'kind' | 'content_type' | 'size' | 'read' | 'fields'>,
): Promise<Reading> {
  if (file.fields !== null) return { fields_status: 'read', fields: JSON.stringify(file.fields), fields_reason: null }
  if (!PDF_KINDS.includes(file.kind)) return NONE
  if (file.content_type !== 'application/pdf') return unreadable('The document is not a PDF.')
  if (file.size > MAX_PDF_BYTES) return unreadable('The PDF is too large to be read.')
  try {
    const answer = await system.env.PDF.fetch(`https://pdf/${file.kind}`, {
      method: 'POST',
      body: await file.read(),
      signal: AbortSignal.timeout(READ_WITHIN_MS),
    })
    const { fields, reason } = await answer.json<{ fields?: unknown; reason?: string }>()
    if (answer.status === 200) return { fields_status: 'read', fields: JSON.stringify(fields), fields_reason: null }
    if (answer.status === 422) return unreadable(reason ?? 'The PDF cannot be read.')
    throw new Error(`The reader of PDFs answered ${answer.status}.`)
  } catch (error) {
    log.error(system, 'A PDF could not be read. It is tried again.', { kind: file.kind, bytes: file.size }, error)
    return PENDING
  }
}

export const objectOf = (sha256: string): string => `documents/${sha256}`

interface DocumentJob {
  entity: number
  rfc: string
  source: string
  job_id: string
}

/**
 * Stores the new files and reads their fields, each after `beforeFile`. Returns the statements that store their rows, for the commit of the
 * end of the job, and the number of new rows. A PDF that could not be read when it came is tried again.
 */
export async function keepDocuments(
  system: System,
  ledger: D1Database,
  job: DocumentJob,
  delivered: readonly DocumentFile[],
  beforeFile: () => Promise<void>,
): Promise<{ statements: SQL[]; created: number }> {
  const now = clock.now()
  const rows = await Promise.all(delivered.map((file) => rowOf(job, file, now)))
  if (rows.length === 0) return { statements: [], created: 0 }
  const known = await knownDocuments(
    ledger,
    job.entity,
    rows.map(({ document_id }) => document_id),
  )
  let created = 0
  const certificates: CertificateList['certificates'] = []
  const [late, obliging]: [string[], string[]] = [[], []]
  for (const [n, row] of rows.entries()) {
    const file = delivered[n]!
    const status = known.get(row.document_id)
    if (status !== undefined && status !== 'pending') continue
    await beforeFile()
    if (status === undefined) {
      created++
      await system.env.FILES.put(objectOf(row.sha256), await file.read())
      if (file.fields && 'certificates' in file.fields) certificates.push(...file.fields.certificates)
    }
    Object.assign(row, await readFields(system, file))
    if (namesObligations(row)) obliging.push(row.document_id)
    if (status === 'pending' && row.fields_status !== 'pending') late.push(row.document_id)
  }
  await shorten(ledger, job, rows)
  const statements = [
    ...notifyRead(job.entity, late, now),
    upsertDocuments(rows, job),
    ...insertObligationRules(job.entity, obliging),
    ...(created > 0 ? [retireStatement(job, rows)] : []),
    ...(certificates.length > 0 ? [insertCertificates(job.entity, certificates)] : []),
  ]
  return { statements, created }
}

/** Removes the fields that the rows share with earlier documents of their series. */
async function shorten(ledger: D1Database, job: DocumentJob, rows: readonly KeptRow[]): Promise<void> {
  const read = rows.filter(({ fields }) => fields !== null)
  if (read.length === 0) return
  const bases = await basesOf(
    ledger,
    job,
    read.map(({ series }) => series),
  )
  for (const row of read) Object.assign(row, keptFields(row.fields, bases.get(row.series)))
}

const namesObligations = ({ kind }: Pick<KeptRow, 'kind'>): boolean => kind === 'csf' || kind === 'obligations'

/**
 * The id is derived from the document, so that the same document is never stored twice, and only from parts that all its readers see: it is
 * the same for all of them and reveals none of the others. Ids sort by the document's date.
 */
async function rowOf({ entity, rfc, source }: DocumentJob, file: DocumentFile, created_at: number): Promise<KeptRow> {
  const { kind, series, name, title, content_type, size, sha256, document_date, period_end, attributes } = file
  const identity = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(JSON.stringify([rfc, source, name, sha256])))
  const hex = new Uint8Array(identity, 0, 10).toHex()
  const time = Date.parse(`${document_date}T00:00:00Z`).toString(16).padStart(12, '0')
  const uuid = `${time.slice(0, 8)}-${time.slice(8)}-${hex.slice(0, 4)}-${hex.slice(4, 8)}-${hex.slice(8, 20)}`
  return {
    ...{ entity, document_id: idOfUuid('doc', uuid), source, kind, series, name, title, content_type, size, sha256 },
    ...{ document_date, period_end, attributes: JSON.stringify(attributes), created_at, ...PENDING, fields_base: null },
  }
}

function view(ctx: Ctx, row: VersionRow): Document {
  const { document_id, source, kind, series, version, name, title, content_type, size, sha256, document_date, period_end } = row
  const { fields_status, fields_reason } = row
  return {
    ...{ document_id, data_source_key: source, kind, series, version, is_latest: version === row.versions },
    ...{ name, title, content_type, size, sha256, document_date, period_end },
    attributes: JSON.parse(row.attributes) as Record<string, string>,
    fields_status,
    fields: row.all_fields === null ? null : (JSON.parse(row.all_fields) as Document['fields']),
    fields_reason,
    created_at: gotAt(ctx, row),
  }
}

/** When the organization got the document with a run of its own; without one, not before it first had an active connection. */
const gotAtMs = (organization_id: string, first_active_at: number, row: Pick<DocumentRow, 'organizations' | 'created_at'>): number =>
  (JSON.parse(row.organizations) as Record<string, number>)[organization_id] ?? Math.max(row.created_at, first_active_at)

const gotAt = ({ organization, connection }: Ctx, row: Pick<DocumentRow, 'organizations' | 'created_at'>): string =>
  new Date(gotAtMs(organization.id, connection?.first_active_at ?? 0, row)).toISOString()

/** Returns a page of the documents of an RFC that the organization may read, newest first. */
export async function listOfDocuments(ctx: Ctx, query: DocumentQuery) {
  const ledger = openLedger(ctx)
  const scope = { list: `documents:${ledger.fiscal_entity_id}`, filters: query }
  const [before] = (await openCursor(ctx, scope, query.cursor)) ?? []
  const rows = await readRows(
    ledger.d1,
    listDocuments(ledger, {
      before: before === undefined ? null : String(before),
      source: query.data_source_key ?? null,
      kind: query.kind ?? null,
      from: query.from ?? null,
      to: query.to ?? null,
      isLatest: query.version === 'latest',
      limit: query.limit + 1,
    }),
  )
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
  const ledger = openLedger(ctx)
  const [row] = await readRows(ledger.d1, listDocuments(ledger, { document_id, before: null, limit: 1 }))
  if (!row) throw notFound('document')
  return view(ctx, row)
}

/** A document that an organization may read, for those that copy it elsewhere. */
export interface MirroredDocument extends Pick<DocumentRow, 'document_id' | 'kind' | 'content_type' | 'size' | 'document_date'> {
  /** When the organization got it, in milliseconds. */
  got_at: number
  /** The object that holds its bytes. */
  object: string
}

/** Returns documents that the organization may read, newest first, after one. */
export const mirroredDocuments = async (ledger: ScopedLedger, after: string | null, limit: number): Promise<MirroredDocument[]> =>
  (await readRows(ledger.d1, listDocuments(ledger, { before: after, limit }))).map((row) => ({
    ...row,
    got_at: gotAtMs(ledger.organization_id, ledger.first_active_at, row),
    object: objectOf(row.sha256),
  }))

/**
 * Answers with a document as it was downloaded, or with the part that is asked for. Throws Failure 404 document.not_found and 416
 * document.range_not_satisfiable.
 */
export async function readDocument(ctx: Ctx, document_id: string, asked: AskedContent): Promise<Response> {
  const ledger = openLedger(ctx)
  const document = await readFirst(ledger.d1, findDocument(ledger, document_id))
  const answer =
    document && (await openContent(ctx.env.FILES, { ...document, object: objectOf(document.sha256), etag: document.sha256 }, asked))
  if (!answer) throw notFound('document')
  return answer
}

const KINDS = { tax_status: 'csf', opinion: 'opinion_32d', obligations: 'obligations', certificates: 'certificates' } as const
/** The sources of these, in the same order. */
const SOURCES = ['sat_csf', 'sat_opinion_32d', 'sat_obligations', 'sat_certificates'] as const

/** Returns the contents of the latest documents of an RFC that the organization may read, with the changes since the version before. */
export async function getTaxProfile(ctx: Ctx): Promise<TaxProfile> {
  const ledger = openLedger(ctx)
  const rows = await latestRead(ledger, Object.values(KINDS))
  const part = (kind: string) => {
    const row = rows.find((one) => one.kind === kind)
    return row ? partOf(ctx, row) : null
  }
  return {
    fiscal_entity_id: ledger.fiscal_entity_id,
    rfc: ledger.rfc,
    ...(Object.fromEntries(Object.entries(KINDS).map(([name, kind]) => [name, part(kind)])) as Pick<TaxProfile, keyof typeof KINDS>),
    warnings: inactiveWarnings(ctx, SOURCES),
  }
}

/** Selects the latest compliance opinion (32-D) that the organization may read, for `opinionIn`. */
export const opinionStatement = (ledger: ScopedLedger): SQL => latestReadStatement(ledger, [KINDS.opinion])

/** Reads the opinion in these rows. Null without one. */
export function opinionIn(rows: readonly unknown[]): { document_id: string; sense: ComplianceOpinion['sense'] } | null {
  const [row] = rows as ReadVersion[]
  return row ? { document_id: row.document_id, sense: (JSON.parse(row.fields) as ComplianceOpinion).sense } : null
}

function partOf(ctx: Ctx, row: ReadVersion) {
  const fields = JSON.parse(row.fields) as DocumentFields
  return {
    source: {
      document_id: row.document_id,
      data_source_key: row.source,
      version: row.version,
      is_latest: row.version === row.versions,
      document_date: row.document_date,
      created_at: gotAt(ctx, row),
    },
    fields,
    changes: changesOf(row.before === null ? null : (JSON.parse(row.before) as DocumentFields), fields),
  }
}
