import type { SQL } from 'drizzle-orm'
import { change } from '../../platform/audit/audit.ts'
import type { Ctx, StoredUpload, System } from '../../platform/context.ts'
import { commit, type Statement } from '../../platform/db/commit.ts'
import { newId } from '../../platform/db/id.ts'
import { notFound } from '../../platform/failures.ts'
import { countHourly } from '../../platform/locks/hourly.ts'
import { openCursor, paginate } from '../../platform/paging/cursor.ts'
import type { Connection } from '../../platform/tenant/tenant.ts'
import { clock } from '../../platform/time/clock.ts'
import { sendHints } from '../../platform/work/send.ts'
import { markImported } from '../../taxpayers/taxpayers.ts'
import type { Import, ImportQuery, ImportSummary } from './contract.ts'
import { filesIn } from './results.ts'
import { findImport, type ImportRow, insertImport, listImportRows, markDeleting, referredObjects } from './store.ts'
import { isKnown, reopen, takeUploadRoom } from './usage/usage.ts'

/** Where uploads are in the bucket. */
export const UPLOADS = 'imports/'

const PAGE = 500
const MAX_PAGES = 20
/** A younger upload may belong to a request that has not inserted its row. */
const LEAST_AGE_MS = 24 * 3_600_000

/**
 * Deletes uploads that no unfinished import refers to: those of requests that ended before their rows were inserted, and those of completed
 * imports whose consumer ended before it deleted them. It lists at most 10,000 objects, and fewer with many
 * ledgers, from a random key on, so that the days take turns.
 */
export async function sweepUploadObjects({ env, settings, budget }: System): Promise<void> {
  const before = Date.now() - LEAST_AGE_MS
  let startAfter: string | undefined = UPLOADS + crypto.randomUUID()
  let cursor: string | undefined
  for (let page = 0; page < MAX_PAGES && (page === 0 || budget.allows(settings.ledgers.length)); page++) {
    const listed: R2Objects = await env.FILES.list({
      ...{ prefix: UPLOADS, limit: PAGE },
      ...(cursor === undefined ? {} : { cursor }),
      ...(startAfter === undefined ? {} : { startAfter }),
    })
    const old = listed.objects.filter(({ uploaded }) => uploaded.getTime() < before).map(({ key }) => key)
    const referred = old.length === 0 ? new Set<string>() : await referredObjects(settings.ledgers, old)
    const unused = old.filter((key) => !referred.has(key))
    if (unused.length > 0) await env.FILES.delete(unused)
    if (listed.truncated) cursor = listed.cursor
    else if (startAfter === undefined) return
    else {
      // The keys before the random one come last; some after it come again if there is room for them.
      startAfter = undefined
      cursor = undefined
    }
  }
}

const FILES_SHOWN = 1_000

/** Imports work on a connection in any state; reading documents needs an active one. */
export function connectionOf(ctx: Ctx): Connection {
  if (!ctx.connection) throw notFound('fiscal_entity')
  return ctx.connection
}

/**
 * Accepts an upload whose bytes are stored: takes room for them, inserts the row that refers to them, and announces it. Under an
 * Idempotency-Key the id is committed with the audit row before, and a repetition after a crash continues with the same import: every step
 * can be repeated, and only the bytes that the row refers to are kept. Throws Failure 404 fiscal_entity.not_found, 404 import.not_found when
 * the import was deleted before the repetition, 409 import.plan_limit, and
 * 429 organization.hourly_limit.
 */
export async function importFiles(ctx: Ctx, upload: StoredUpload): Promise<Import> {
  const { connection, entity, fiscal_entity_id, rfc, shard } = connectionOf(ctx)
  const import_id = ctx.claim?.begun ?? newId('imp')
  const begin = (room: readonly Statement[]) =>
    change(ctx, { action: 'import.created', resource_id: import_id, begins: true }, [...room, markImported(ctx.db, connection, ctx.now)])
  if (!ctx.claim?.begun) {
    await countHourly(ctx, 'imports')
    await takeUploadRoom(ctx, { import_id, shard, bytes: upload.size }, begin)
  }
  const ledger = ctx.settings.ledgers[shard]!
  const created_at = ctx.now.getTime()
  // From here on a row may refer to the bytes, also when this request fails.
  upload.isKept = true
  const object = await insertImport(ledger, {
    import_id,
    object: upload.key,
    organization_id: ctx.organization.id,
    fiscal_entity_id,
    import_partition: -connection,
    entity,
    rfc,
    bytes: upload.size,
    created_at,
    lease_until: clock.now(),
  })
  // The request that this one repeats had inserted the row, with bytes of its own.
  upload.isKept = object === upload.key
  // The import was deleted between the first request and its repetition: the row that came anew is one to delete.
  if (ctx.claim && ctx.claim.begun !== null && !(await isKnown(ctx, import_id))) {
    await commit(ledger, [markDeleting(import_id)])
    await announce(ctx, [{ shard, import_id }])
    throw notFound('import')
  }
  await announce(ctx, [{ shard, import_id }])
  return getImport(ctx, import_id)
}

/** Returns the statement, for an events shard, that marks what is copied of a fiscal entity as due. */
export type MarkDue = (organization_id: string, fiscal_entity_id: string) => SQL

export interface ImportHint {
  shard: number
  import_id: string
}

/** Sends imports to the queue, perhaps with a delay. The messages are hints: the rows are committed, and the sweep sends them again. */
export const announce = (system: System, hints: readonly ImportHint[], delaySeconds = 0): Promise<void> =>
  sendHints(
    system,
    system.env.IMPORTS,
    hints.map((body) => ({ body, ...(delaySeconds > 0 && { delaySeconds }) })),
  )

/** Returns an import with the results of its first 1,000 files. Throws Failure 404 import.not_found. */
export async function getImport(ctx: Ctx, import_id: string): Promise<Import> {
  const { shard, fiscal_entity_id } = connectionOf(ctx)
  const ledger = ctx.settings.ledgers[shard]!
  const { row, results, counts } = await findImport(ledger, ctx.organization.id, fiscal_entity_id, import_id, FILES_SHOWN)
  if (!row) throw notFound('import')
  return {
    ...summary(row),
    files: filesIn(results, FILES_SHOWN),
    files_total: Object.values(counts).reduce((sum, n) => sum + n, 0),
    counts,
  }
}

const summary = ({ import_id, status, bytes, documents, stored_bytes, created_at, completed_at }: ImportRow): ImportSummary => ({
  import_id,
  status,
  bytes,
  documents,
  stored_bytes,
  created_at: new Date(created_at).toISOString(),
  completed_at: completed_at === null ? null : new Date(completed_at).toISOString(),
})

/** Returns a page of the organization's imports for the RFC, newest first. */
export async function listImports(ctx: Ctx, query: ImportQuery) {
  const { connection, shard, fiscal_entity_id } = connectionOf(ctx)
  const scope = { list: 'imports', filters: { ...query, fiscal_entity_id } }
  const [before] = (await openCursor(ctx, scope, query.cursor)) ?? []
  const from = before === undefined ? undefined : String(before)
  const rows = await listImportRows(ctx.settings.ledgers[shard]!, -connection, from, query.limit + 1)
  return paginate(ctx, scope, query.limit, rows, (row) => [row.import_id], summary)
}

/** Begins to delete an import; a consumer continues. An import that is being processed stops. Throws Failure 404 import.not_found. */
export async function deleteImport(ctx: Ctx, import_id: string): Promise<Import> {
  const { shard, fiscal_entity_id } = connectionOf(ctx)
  const ledger = ctx.settings.ledgers[shard]!
  const { row } = await findImport(ledger, ctx.organization.id, fiscal_entity_id, import_id, 0)
  if (!row) throw notFound('import')
  if (row.status !== 'deleting') {
    await change(ctx, { action: 'import.deleted', resource_id: import_id }, [reopen(import_id)])
    await commit(ledger, [markDeleting(import_id)])
  }
  await announce(ctx, [{ shard, import_id }])
  return getImport(ctx, import_id)
}
