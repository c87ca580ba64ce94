import { type EntryResult, type IngestTarget, ingestFile, ingestPackage, type UploadProgress } from '../cfdi/ingest/ingest.ts'
import { notFound } from '../failures.ts'
import { readerOf } from '../identity/organization/acting.ts'
import { change } from '../platform/audit/audit.ts'
import type { Ctx, System } from '../platform/context.ts'
import { BudgetUsedUp } from '../platform/db/budget.ts'
import { newId } from '../platform/db/id.ts'
import { sendHints } from '../platform/queues/send.ts'
import type { Connection } from '../platform/tenant.ts'
import { markImported } from '../taxpayers/taxpayers.ts'
import { openReachedLedger } from '../visibility/scoped-ledger.ts'
import type { Import } from './contract.ts'
import {
  claimImport,
  completeImport,
  extendLease,
  filesWithResult,
  findImport,
  type ImportRow,
  insertFileResults,
  insertImport,
  interruptImport,
  unfinishedImports,
  visibleUuids,
} from './store.ts'

const LEASE_MS = 60_000
/** The most statements of a slice that has to be read again a few times. */
const SLICE_STATEMENTS = 100
const MAX_ATTEMPTS = 5
const FILES_SHOWN = 1_000
const SWEEP_LIMIT = 100

const objectOf = (import_id: string): string => `imports/${import_id}`

/** Imports work on a connection in any state; reading documents needs an active one. */
function connectionOf(ctx: Ctx): Connection {
  if (!ctx.connection) throw notFound('fiscal_entity')
  return ctx.connection
}

/**
 * Accepts an upload: commits its id with the audit row, stores the bytes, inserts the row that refers to them, and announces it. Under an
 * Idempotency-Key the id is committed before the bytes are stored, and a repetition after a crash continues with the same import: every
 * step can be repeated. Throws Failure 404 fiscal_entity.not_found.
 */
export async function importFiles(ctx: Ctx, bytes: Uint8Array): Promise<Import> {
  const { connection, entity, fiscal_entity_id, rfc, shard } = connectionOf(ctx)
  const import_id = ctx.claim?.begun ?? newId('imp')
  const begin = () =>
    change(ctx, { action: 'import.created', resource_id: import_id, begins: true }, [markImported(ctx.db, connection, ctx.now)])
  if (ctx.claim?.begun === null) await begin()
  await ctx.env.FILES.put(objectOf(import_id), bytes)
  if (!ctx.claim) await begin()
  const ledger = ctx.settings.ledgers[shard]!
  const created_at = ctx.now.getTime()
  await insertImport(ledger, {
    import_id,
    organization_id: ctx.organization.id,
    fiscal_entity_id,
    book: -connection,
    entity,
    rfc,
    created_at,
    lease_until: Date.now(),
  })
  await announce(ctx, [{ shard, import_id }])
  const created = await getImport(ctx, import_id)
  // A repetition that was slower than the consumer has stored the bytes again.
  if (created.status === 'completed') await ctx.env.FILES.delete(objectOf(import_id))
  return created
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

/**
 * Ingests an upload into the organization's own partition. When it is repeated after a crash, files that are stored stay unchanged. When the
 * budget ends, the import returns to the queue, and another invocation continues behind the files that have a result and the rows of metadata
 * that are stored.
 */
export async function workOnImport(system: System, { shard, import_id }: ImportHint): Promise<void> {
  const ledger = system.settings.ledgers[shard]!
  const token = crypto.randomUUID()
  const row = await claimImport(ledger, import_id, token, Date.now(), Date.now() + LEASE_MS)
  if (!row) return
  const progress: UploadProgress = {
    done: await filesWithResult(ledger, import_id),
    metadata: row.place === null ? null : (JSON.parse(row.place) as UploadProgress['metadata']),
    results: [],
  }
  try {
    await ingestClaimed(system, ledger, row, token, progress)
  } catch (error) {
    if (!(error instanceof BudgetUsedUp)) throw error
    const interrupt = interruptImport(ledger, import_id, token, JSON.stringify(progress.metadata), Date.now())
    await ledger.batch([...insertFileResults(ledger, import_id, progress.results), interrupt])
    await announce(system, [{ shard, import_id }])
  }
}

async function ingestClaimed(system: System, ledger: D1Database, row: ImportRow, token: string, progress: UploadProgress): Promise<void> {
  const { import_id } = row
  const upload = await system.env.FILES.get(objectOf(import_id))
  const results =
    !upload || row.attempts > MAX_ATTEMPTS
      ? [failedUpload(upload === null)]
      : await ingestUpload(system, ledger, row, token, await upload.bytes(), progress)
  const done = await ledger.batch([...insertFileResults(ledger, import_id, results), completeImport(ledger, import_id, token, Date.now())])
  // When another consumer has taken the import over, it still needs the upload.
  if (done.at(-1)!.meta.changes > 0) await system.env.FILES.delete(objectOf(import_id))
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

const isZip = (bytes: Uint8Array): boolean => bytes[0] === 0x50 && bytes[1] === 0x4b

/** Ingests an upload. Returns the results that no slice has committed. */
async function ingestUpload(
  system: System,
  ledger: D1Database,
  row: ImportRow,
  token: string,
  bytes: Uint8Array,
  progress: UploadProgress,
): Promise<EntryResult[]> {
  const target: IngestTarget = {
    ledger,
    files: system.env.FILES,
    entity: row.book,
    rfc: row.rfc,
    now: system.now,
    provenance: 'import',
    beforeSlice: () => system.budget.require(SLICE_STATEMENTS),
    alreadyVisible: await alreadyVisible(system, row),
    sideStatements: ({ entries }) => [
      ...insertFileResults(ledger, row.import_id, entries),
      extendLease(ledger, row.import_id, token, Date.now() + LEASE_MS),
    ],
  }
  return isZip(bytes) ? ingestPackage(target, bytes, progress) : ingestFile(target, bytes, progress)
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
