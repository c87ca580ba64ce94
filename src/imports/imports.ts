import { type EntryResult, ingestFile, ingestPackage, type Target } from '../cfdi/ingest/ingest.ts'
import { notFound } from '../failures.ts'
import { readerOf } from '../identity/organization/acting.ts'
import { change } from '../platform/audit/audit.ts'
import type { Ctx, System } from '../platform/context.ts'
import { newId } from '../platform/db/id.ts'
import { errorMessage } from '../platform/log.ts'
import type { Connection } from '../platform/tenant.ts'
import { markImported } from '../taxpayers/taxpayers.ts'
import { openReachedLedger } from '../visibility/scoped-ledger.ts'
import type { Import } from './contract.ts'
import {
  claimImport,
  completeImport,
  fileStatements,
  findImport,
  type ImportRow,
  insertImport,
  leftImports,
  prolongImport,
  shownUuids,
} from './store.ts'

const LEASE_MS = 60_000
const MAX_ATTEMPTS = 5
const FILES_SHOWN = 1_000
const SWEEP_LIMIT = 100

const objectOf = (import_id: string): string => `imports/${import_id}`

/** Imports work on a connection in any state; reading the documents needs an active one. */
function managed(ctx: Ctx): Connection {
  if (!ctx.connection) throw notFound('fiscal_entity')
  return ctx.connection
}

/**
 * Takes an upload in: the bytes, its name with its audit row, the row that points at them, then the word. Under an Idempotency-Key the
 * name comes first, and whoever asks again after a crash goes on with the import that was begun: every step bears repetition.
 */
export async function importFiles(ctx: Ctx, bytes: Uint8Array): Promise<Import> {
  const { connection, entity, fiscal_entity_id, rfc, shard } = managed(ctx)
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
  await announce(ctx, { shard, import_id })
  const made = await getImport(ctx, import_id)
  // Kept again, by an attempt that was slower than the consumer.
  if (made.status === 'completed') await ctx.env.FILES.delete(objectOf(import_id))
  return made
}

interface Call {
  shard: number
  import_id: string
}

/** Says that there is an import to be worked on. A hint: the row is committed, and the sweep says it again. */
async function announce(system: System, call: Call): Promise<void> {
  try {
    await system.env.IMPORTS.send(call)
  } catch (error) {
    const message = 'An import is left to the sweep.'
    console.error(
      JSON.stringify({ level: 'error', request_id: system.requestId, message, import_id: call.import_id, error: errorMessage(error) }),
    )
  }
}

/** An import with the results of its files. */
export async function getImport(ctx: Ctx, import_id: string): Promise<Import> {
  const { shard, fiscal_entity_id } = managed(ctx)
  const { row, files, counts } = await findImport(
    ctx.settings.ledgers[shard]!,
    ctx.organization.id,
    fiscal_entity_id,
    import_id,
    FILES_SHOWN,
  )
  if (!row) throw notFound('import')
  const of = (status: string) => counts.find((count) => count.status === status)?.n ?? 0
  return {
    import_id,
    status: row.status,
    files: files.map(({ name, status, uuid, code, detail }) => ({ name, status, uuid, code, detail })),
    files_total: counts.reduce((sum, { n }) => sum + n, 0),
    counts: { created: of('created'), updated: of('updated'), unchanged: of('unchanged'), rejected: of('rejected') },
    created_at: new Date(row.created_at).toISOString(),
    completed_at: row.completed_at === null ? null : new Date(row.completed_at).toISOString(),
  }
}

/** Brings an upload's files into the organization's own book. Repeated after a crash it goes on where the rows say it was. */
export async function workOnImport(system: System, { shard, import_id }: Call): Promise<void> {
  const ledger = system.settings.ledgers[shard]!
  const token = crypto.randomUUID()
  const row = await claimImport(ledger, import_id, token, Date.now(), Date.now() + LEASE_MS)
  if (!row) return
  const upload = await system.env.FILES.get(objectOf(import_id))
  const result =
    !upload || row.attempts > MAX_ATTEMPTS
      ? [failedUpload(upload === null)]
      : await ingestUpload(system, ledger, row, token, await upload.bytes())
  const done = await ledger.batch([...fileStatements(ledger, import_id, result), completeImport(ledger, import_id, token, Date.now())])
  // Whoever took the import over meanwhile still needs the upload.
  if (done.at(-1)!.meta.changes > 0) await system.env.FILES.delete(objectOf(import_id))
}

const failedUpload = (isGone: boolean): EntryResult => ({
  // Before all files, for some of them may have their results already.
  n: -1,
  name: 'upload',
  status: 'rejected',
  uuid: null,
  code: 'import.failed',
  detail: isGone ? 'The upload is no longer there.' : 'The upload could not be worked on. Send it again.',
})

/** What the authority's book shows the organization already and for good: having no extractors shows everything, but may end. */
async function shownByAuthority(
  system: System,
  { organization_id, fiscal_entity_id }: ImportRow,
): Promise<(uuids: readonly string[]) => Promise<Set<string>>> {
  const reader = await readerOf(system, organization_id, fiscal_entity_id)
  if (reader?.connection.state !== 'active') return async () => new Set()
  const books = openReachedLedger({ settings: system.settings, ...reader })
  return (uuids) => shownUuids(books, uuids)
}

const isZip = (bytes: Uint8Array): boolean => bytes[0] === 0x50 && bytes[1] === 0x4b

/** The results that no slice has committed. */
async function ingestUpload(system: System, ledger: D1Database, row: ImportRow, token: string, bytes: Uint8Array): Promise<EntryResult[]> {
  const target: Target = {
    ledger,
    files: system.env.FILES,
    entity: row.book,
    rfc: row.rfc,
    now: system.now,
    provenance: 'import',
    shownElsewhere: await shownByAuthority(system, row),
    sideStatements: ({ entries }) => [
      ...fileStatements(ledger, row.import_id, entries),
      prolongImport(ledger, row.import_id, token, Date.now() + LEASE_MS),
    ],
  }
  return isZip(bytes) ? ingestPackage(target, bytes) : ingestFile(target, bytes)
}

/** Announces again the imports whose message is lost or whose worker died. */
export async function sweepImports(system: System): Promise<void> {
  const before = Date.now() - LEASE_MS
  for (const [shard, ledger] of system.settings.ledgers.entries()) {
    const left = await leftImports(ledger, before, SWEEP_LIMIT)
    for (const { import_id } of left) await announce(system, { shard, import_id })
  }
}
