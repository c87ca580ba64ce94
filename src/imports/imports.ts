import type { EntryResult, IngestTarget } from '../cfdi/ingest/ingest.ts'
import { ingestUpload } from '../cfdi/ingest/upload.ts'
import { bytesOfObject } from '../cfdi/package/bytes.ts'
import { notFound } from '../failures.ts'
import { readerOf } from '../identity/organization/acting.ts'
import { change } from '../platform/audit/audit.ts'
import type { Ctx, StoredUpload, System } from '../platform/context.ts'
import { newId } from '../platform/db/id.ts'
import { sendHints } from '../platform/queues/send.ts'
import { Room } from '../platform/room.ts'
import type { Connection } from '../platform/tenant.ts'
import { markImported } from '../taxpayers/taxpayers.ts'
import { openReachedLedger } from '../visibility/scoped-ledger.ts'
import type { Import } from './contract.ts'
import {
  claimImport,
  completeImport,
  extendLease,
  findImport,
  type ImportRow,
  insertFileResults,
  insertImport,
  unfinishedImports,
  visibleUuids,
} from './store.ts'

const LEASE_MS = 60_000
const MAX_ATTEMPTS = 5
const FILES_SHOWN = 1_000
const SWEEP_LIMIT = 100
/** Two uploads at once in an isolate: each has some megabytes in memory. */
const room = new Room(2, 15 * 60_000)

/** Imports work on a connection in any state; reading documents needs an active one. */
function connectionOf(ctx: Ctx): Connection {
  if (!ctx.connection) throw notFound('fiscal_entity')
  return ctx.connection
}

/**
 * Accepts an upload whose bytes are stored: commits its id with the audit row, inserts the row that refers to the bytes, and announces it.
 * Under an Idempotency-Key, a repetition after a crash continues with the same import: every step can be repeated, and only the bytes that
 * the row refers to are kept. Throws Failure 404 fiscal_entity.not_found.
 */
export async function importFiles(ctx: Ctx, upload: StoredUpload): Promise<Import> {
  const { connection, entity, fiscal_entity_id, rfc, shard } = connectionOf(ctx)
  const import_id = ctx.claim?.begun ?? newId('imp')
  if (!ctx.claim || ctx.claim.begun === null)
    await change(ctx, { action: 'import.created', resource_id: import_id, begins: true }, [markImported(ctx.db, connection, ctx.now)])
  const ledger = ctx.settings.ledgers[shard]!
  const created_at = ctx.now.getTime()
  // From here on a row may refer to the bytes, also when this request fails.
  upload.isKept = true
  const object = await insertImport(ledger, {
    import_id,
    object: upload.key,
    organization_id: ctx.organization.id,
    fiscal_entity_id,
    book: -connection,
    entity,
    rfc,
    created_at,
    lease_until: Date.now(),
  })
  // The request that this one repeats had inserted the row, with bytes of its own.
  upload.isKept = object === upload.key
  await announce(ctx, [{ shard, import_id }])
  return getImport(ctx, import_id)
}

interface ImportHint {
  shard: number
  import_id: string
}

/** Sends imports to the queue. The messages are hints: the rows are committed, and the sweep sends them again. */
const announce = (system: System, hints: readonly ImportHint[]): Promise<void> =>
  sendHints(
    system,
    system.env.IMPORTS,
    hints.map((body) => ({ body })),
  )

/** Returns an import with the results of its first 1,000 files. Throws Failure 404 import.not_found. */
export async function getImport(ctx: Ctx, import_id: string): Promise<Import> {
  const { shard, fiscal_entity_id } = connectionOf(ctx)
  const ledger = ctx.settings.ledgers[shard]!
  const { row, files, counts } = await findImport(ledger, ctx.organization.id, fiscal_entity_id, import_id, FILES_SHOWN)
  if (!row) throw notFound('import')
  const countOf = (status: string) => counts.find((count) => count.status === status)?.n ?? 0
  return {
    import_id,
    status: row.status,
    files: files.map(({ name, status, uuid, code, detail }) => ({ name, status, uuid, code, detail })),
    files_total: counts.reduce((sum, { n }) => sum + n, 0),
    counts: { created: countOf('created'), updated: countOf('updated'), unchanged: countOf('unchanged'), rejected: countOf('rejected') },
    created_at: new Date(row.created_at).toISOString(),
    completed_at: row.completed_at === null ? null : new Date(row.completed_at).toISOString(),
  }
}

/** Ingests an upload into the organization's own partition. When it is repeated after a crash, files that are stored stay unchanged. */
export const workOnImport = (system: System, hint: ImportHint): Promise<void> => room.hold(1, () => ingestImport(system, hint))

async function ingestImport(system: System, { shard, import_id }: ImportHint): Promise<void> {
  const ledger = system.settings.ledgers[shard]!
  const token = crypto.randomUUID()
  const row = await claimImport(ledger, import_id, token, Date.now(), Date.now() + LEASE_MS)
  if (!row) return
  const upload = await system.env.FILES.head(row.object)
  const results =
    !upload || row.attempts > MAX_ATTEMPTS ? [failedUpload(upload === null)] : await ingest(system, ledger, row, token, upload.size)
  const done = await ledger.batch([...insertFileResults(ledger, import_id, results), completeImport(ledger, import_id, token, Date.now())])
  // When another consumer has taken the import over, it still needs the upload.
  if (done.at(-1)!.meta.changes > 0) await system.env.FILES.delete(row.object)
}

const failedUpload = (isMissing: boolean): EntryResult => ({
  // Before the files, because some of them may have results already.
  n: -1,
  name: 'upload',
  status: 'rejected',
  uuid: null,
  code: 'import.failed',
  detail: isMissing ? 'The upload is no longer stored. Send it again.' : 'The upload could not be processed. Send it again.',
})

/**
 * Makes a function that tells which documents the organization sees permanently in the authority's partition. What it sees only because it
 * has no extractors does not count, since that may end.
 */
async function alreadyVisible(
  system: System,
  { organization_id, fiscal_entity_id }: ImportRow,
): Promise<(uuids: readonly string[]) => Promise<Set<string>>> {
  const reader = await readerOf(system, organization_id, fiscal_entity_id)
  if (reader?.connection.state !== 'active') return async () => new Set()
  const ledger = openReachedLedger({ settings: system.settings, ...reader })
  return (uuids) => visibleUuids(ledger, uuids)
}

/** Ingests an upload. Returns the results that no slice has committed. */
async function ingest(system: System, ledger: D1Database, row: ImportRow, token: string, size: number): Promise<EntryResult[]> {
  const target: IngestTarget = {
    ledger,
    files: system.env.FILES,
    entity: row.book,
    rfc: row.rfc,
    now: system.now,
    provenance: 'import',
    alreadyVisible: await alreadyVisible(system, row),
    sideStatements: ({ entries }) => [
      ...insertFileResults(ledger, row.import_id, entries),
      extendLease(ledger, row.import_id, token, Date.now() + LEASE_MS),
    ],
  }
  return ingestUpload(target, bytesOfObject(system.env.FILES, row.object, size))
}

/** Announces the imports that lost their message or their consumer. */
export async function sweepImports(system: System): Promise<void> {
  const before = Date.now() - LEASE_MS
  for (const [shard, ledger] of system.settings.ledgers.entries()) {
    const unfinished = await unfinishedImports(ledger, before, SWEEP_LIMIT)
    await announce(
      system,
      unfinished.map(({ import_id }) => ({ shard, import_id })),
    )
  }
}
