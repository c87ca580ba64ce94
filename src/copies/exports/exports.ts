import { readerOf } from '../../accounts/organization/organization.ts'
import { reserveQuota } from '../../accounts/plans/reserve-quota.ts'
import { fixFilters } from '../../cfdi/search/search.ts'
import { refuseUnknownLists } from '../../lists/custom/known.ts'
import { change } from '../../platform/audit/audit.ts'
import { type AskedContent, openContent } from '../../platform/content.ts'
import type { Ctx } from '../../platform/context.ts'
import { newId } from '../../platform/db/id.ts'
import { readFirst, readRows } from '../../platform/db/statement.ts'
import { Failure, notFound } from '../../platform/failures.ts'
import { countHourly } from '../../platform/locks/hourly.ts'
import { openCursor, paginate } from '../../platform/paging/cursor.ts'
import type { Actor } from '../../platform/tenant/tenant.ts'
import { notActive } from '../../taxpayers/connection.ts'
import { openLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import type { Export, ExportQuery, NewExport } from './contract.ts'
import { nameOf, type Start, startOf, wakeExports } from './start.ts'
import { type ExportRow, exportsUsed, findExport, insertExport, listExportRows, markDeleting } from './store.ts'

export { exportsUsed }

/** Returns the organization's connection when it may read the RFC. Throws Failure 404 fiscal_entity.not_found or .not_active. */
async function readableOf(ctx: Ctx, fiscal_entity_id: string) {
  const reader = await readerOf(ctx, ctx.organization, fiscal_entity_id)
  if (!reader) throw notActive(ctx, null)
  openLedger({ ...ctx, connection: reader.connection })
  return reader.connection
}

/**
 * Begins an export of what the organization can read now. Throws Failure 404 as above, 409 export.plan_limit, and 422 as_of.future
 * and blacklist.unknown.
 */
export async function createExport(
  ctx: Ctx,
  { fiscal_entity_id, kind, format, headings, content, filters = {} }: NewExport,
): Promise<Export> {
  const { organization, now, actor } = ctx
  const connection = await readableOf(ctx, fiscal_entity_id)
  await refuseUnknownLists(ctx, 'filters.blacklist', filters.blacklist)
  await countHourly(ctx, 'exports')
  const start = startOf({ organization, connection }, fixFilters(ctx, filters, 'filters.as_of'), content)
  const export_id = newId('exp')
  const row = {
    ...{ export_id, organization_id: organization.id, fiscal_entity_id, created_by: keyOf(actor), kind, format, headings },
    ...{ filters: JSON.stringify(filters), start: JSON.stringify(start), created_at: now.getTime() },
  }
  await reserveQuota(ctx, 'exports', exportsUsed(organization.id, now), (reserved) =>
    change(ctx, { action: 'export.created', resource_id: export_id }, [...reserved, insertExport(row)]),
  )
  await wakeExports(ctx, [export_id])
  return getExport(ctx, export_id)
}

const keyOf = (actor: Actor): string | null => (actor.kind === 'credential' ? actor.api_key : null)

async function requireExport({ db, organization }: Ctx, export_id: string): Promise<ExportRow> {
  const row = await readFirst(db.$client, findExport(organization, export_id))
  if (!row) throw notFound('export')
  return row
}

/** Returns an export with its progress. Throws Failure 404 export.not_found. */
export const getExport = async (ctx: Ctx, export_id: string): Promise<Export> => view(await requireExport(ctx, export_id), ctx.now)

/** Returns a page of the organization's exports, newest first. */
export async function listExports(ctx: Ctx, query: ExportQuery) {
  const scope = { list: 'exports', filters: query }
  const [before] = (await openCursor(ctx, scope, query.cursor)) ?? []
  const from = before === undefined ? undefined : String(before)
  const rows = await readRows(ctx.db.$client, listExportRows(ctx.organization, from, query.limit + 1))
  return paginate(
    ctx,
    scope,
    query.limit,
    rows,
    (row) => [row.export_id],
    (row) => view(row, ctx.now),
  )
}

/** Deletes an export with its content; one that is being made stops. Throws Failure 404 export.not_found. */
export async function deleteExport(ctx: Ctx, export_id: string): Promise<void> {
  await requireExport(ctx, export_id)
  await change(ctx, { action: 'export.deleted', resource_id: export_id }, [markDeleting(export_id)])
  await wakeExports(ctx, [export_id])
}

const CONTENT_TYPES = {
  csv: 'text/csv; charset=utf-8',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  ndjson: 'application/x-ndjson',
  zip: 'application/zip',
} as const

/**
 * Answers with the content of an export, or with the part that is asked for. Throws Failure 404 export.not_found, export.not_ready,
 * export.expired, 404 when the RFC may not be read any more, and 416.
 */
export async function readContent(ctx: Ctx, export_id: string, asked: AskedContent): Promise<Response> {
  const row = await requireExport(ctx, export_id)
  const { status } = view(row, ctx.now)
  if (status === 'expired') throw new Failure('not_found', 'export.expired', 'The content of this export is deleted. Begin another export.')
  if (status !== 'ready')
    throw new Failure('not_found', 'export.not_ready', `The export is ${status}. Its content can be downloaded once it is ready.`)
  const { rfc } = await readableOf(ctx, row.fiscal_entity_id)
  const content = { object: row.object!, name: nameOf(rfc, row), content_type: CONTENT_TYPES[row.format], size: row.bytes, etag: row.etag! }
  const answer = await openContent(ctx.env.FILES, content, asked)
  if (!answer) throw notFound('export')
  return answer
}

const contentOf = ({ start }: ExportRow): Export['content'] => [...((JSON.parse(start) as Start).content ?? (['xml'] as const))]

const instant = (milliseconds: number | null): string | null => (milliseconds === null ? null : new Date(milliseconds).toISOString())

function view(row: ExportRow, now: Date): Export {
  const { export_id, fiscal_entity_id, created_by, kind, format, headings, rows, documents, without_xml, bytes, error_code } = row
  const isWhole = row.status === 'ready' || row.status === 'expired'
  const isExpired = row.status === 'ready' && row.expires_at! <= now.getTime()
  const filters = Object.entries(JSON.parse(row.filters) as Record<string, string | string[]>)
  return {
    ...{ export_id, fiscal_entity_id, kind, format, headings, content: kind === 'xml' ? contentOf(row) : null },
    filters: Object.fromEntries(filters.map(([name, value]) => [name, String(value)])),
    status: isExpired ? 'expired' : (row.status as Export['status']),
    ...{ rows, documents, documents_without_xml: without_xml },
    scanned_through: isWhole || row.scanned_through === null ? null : instant(row.scanned_through * 1_000),
    ...{ bytes, error_code, created_by },
    created_at: instant(row.created_at)!,
    completed_at: instant(row.completed_at),
    expires_at: instant(row.expires_at),
  }
}
