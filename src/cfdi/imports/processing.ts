import { actingFor, readerOf } from '../../accounts/organization/organization.ts'
import { refreshListed } from '../../lists/listed/counterparties.ts'
import { bytesOfObject } from '../../platform/bytes/bytes.ts'
import { type Ctx, eventsOf, type System } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { log } from '../../platform/log.ts'
import { MemoryLimiter } from '../../platform/memory-limiter.ts'
import { clock } from '../../platform/time/clock.ts'
import { BudgetUsedUp } from '../../platform/work/budget.ts'
import type { Leased } from '../../platform/work/lease.ts'
import { each, ledgerByLedger } from '../../platform/work/pages.ts'
import { openReachedLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import {
  type EntryResult,
  type IngestTarget,
  importPrefix,
  type KnownCfdi,
  partsIn,
  type Room,
  readStored,
  replaceDocuments,
  TooManyApplications,
  type XmlContent,
} from '../ingest/ingest.ts'
import { ingestUpload, type UploadProgress } from '../ingest/upload.ts'
import { announce, type ImportHint, type MarkDue } from './imports.ts'
import {
  claimImport,
  completeImport,
  countThrough,
  deletePart,
  documentsOf,
  extendLease,
  filesWithResult,
  type ImportRow,
  importLease,
  insertFileResults,
  insertImportSources,
  interruptImport,
  PARTS_AT_ONCE,
  partsOfImport,
  readImport,
  readImportSources,
  removeImport,
  unfinishedImports,
  usedByImport,
  visibleContents,
} from './store.ts'
import { beginTurn, isTurnOver, leaveRoom, leaveTurn, openUploads, recordUsage, type Turn, takeImportRoom } from './usage/usage.ts'

/** How many documents one commit takes out, how many bytes of XML they may have together, and how many commits one message makes. */
const SLICE = 250
const SLICE_BYTES = 4 * 1024 * 1024
const STEPS = 10
const OBJECTS_AT_ONCE = 1_000

/** Continues to delete an import, as far as one message may. Returns whether something is left. */
async function continueDeletion(system: System, ledger: D1Database, row: Leased<ImportRow>, markDue: MarkDue): Promise<boolean> {
  let most = SLICE
  for (let step = 0; step < STEPS && (step === 0 || system.budget.allows(SLICE_STATEMENTS)); step++)
    try {
      if (await takeOutSlice(system, ledger, row, most)) continue
      await finish(system, ledger, row, markDue)
      return false
    } catch (error) {
      if (!(error instanceof TooManyApplications) || most === 1) throw error
      most = Math.ceil(most / 4)
    }
  return true
}

/**
 * Takes out some documents of a part: removes those that only this import holds, and leaves the others to other imports. Those of one chunk
 * come together. False when the import holds nothing any more. Throws TooManyApplications for more than one document that too much is applied
 * with.
 */
async function takeOutSlice(system: System, ledger: D1Database, row: Leased<ImportRow>, most: number): Promise<boolean> {
  const { import_id, import_partition } = row
  const own = await partsOfImport(ledger, import_id)
  const [part] = own
  if (part === undefined) return false
  const importSources = await readImportSources(ledger, import_partition, [part])
  const stored = [...(await readStored(ledger, import_partition, [...new Set(importSources.map(({ uuid }) => uuid))])).values()]
    .filter(({ stored }) => partsIn(stored).includes(part))
    .sort((a, b) => (a.chunk ?? 0) - (b.chunk ?? 0))
  const uuids = await withinWeight(ledger, import_partition, own, withinParts(own, stored, most))
  let [heirs, lost]: [Map<string, string[]>, number] = [new Map(), 0]
  await replaceDocuments(
    { ledger, files: system.env.FILES, entity: import_partition, rfc: row.rfc, now: system.now },
    uuids,
    async (known) => {
      const left = await othersOf(ledger, import_partition, own, known)
      heirs = left.heirs
      lost = left.lost
      // Before the commit, so that a crash in between makes documents count twice for a moment, and never not at all.
      await recordHeirs(system, ledger, row, heirs, (uuids) => uuids.length)
      return left
    },
    () => [
      importLease.assertLeased(row),
      ...(uuids.length === stored.length ? deletePart(import_id, import_partition, part) : []),
      countThrough(heirs),
      extendLease(row, -lost),
    ],
  )
  await recordHeirs(system, ledger, row, heirs, () => 0)
  return true
}

/** The import sources of documents in other imports, and which import inherits those that count through this one: the first of each. */
async function othersOf(ledger: D1Database, import_partition: number, own: readonly number[], documents: readonly KnownCfdi[]) {
  const partsOf = new Map(documents.map(({ uuid, stored }) => [uuid, partsIn(stored)]))
  const others = [...new Set([...partsOf.values()].flat())].filter((part) => !own.includes(part))
  const found = await readImportSources(ledger, import_partition, others, (uuid, part) => partsOf.get(uuid)?.includes(part) === true)
  const importSources = Map.groupBy(found, ({ uuid }) => uuid)
  const stored = new Map<string, string>()
  const heirs = new Map<string, string[]>()
  let lost = 0
  for (const [uuid, parts] of partsOf) {
    const left = parts.filter((part) => !own.includes(part))
    const isCounted = own.includes(parts[0]!)
    const heir = importSources.get(uuid)?.[0]
    if (isCounted) lost++
    if (heir === undefined) continue
    stored.set(uuid, [...new Set(isCounted ? [heir.part, ...left] : left)].join())
    if (isCounted) heirs.set(heir.import_id, [...(heirs.get(heir.import_id) ?? []), uuid])
  }
  return { importSources, stored, heirs, lost }
}

async function recordHeirs(
  system: System,
  ledger: D1Database,
  { organization_id }: ImportRow,
  heirs: ReadonlyMap<string, string[]>,
  more: (uuids: string[]) => number,
): Promise<void> {
  if (heirs.size === 0) return
  const documents = await documentsOf(ledger, [...heirs.keys()])
  await recordUsage(system, organization_id, new Map([...documents].map(([heir, n]) => [heir, { documents: n + more(heirs.get(heir)!) }])))
}

/** As many of the documents as one commit takes out, and as lie in few parts of other imports; at least one. */
function withinParts(own: readonly number[], documents: readonly KnownCfdi[], most: number): KnownCfdi[] {
  const parts = new Set(own)
  const end = documents.findIndex(({ stored }, n) => {
    for (const part of partsIn(stored)) parts.add(part)
    return n === most || (n > 0 && parts.size > own.length + PARTS_AT_ONCE)
  })
  return end < 0 ? [...documents] : documents.slice(0, end)
}

/** As many of the documents as may be opened at once, by the largest XML that another import holds of each; at least one. */
async function withinWeight(
  ledger: D1Database,
  import_partition: number,
  own: readonly number[],
  documents: readonly KnownCfdi[],
): Promise<string[]> {
  const { importSources } = await othersOf(ledger, import_partition, own, documents)
  let weight = 0
  return documents.flatMap(({ uuid }, n) => {
    weight += Math.max(0, ...(importSources.get(uuid) ?? []).map(({ xml }) => xml?.xml_size ?? 0))
    return n === 0 || weight <= SLICE_BYTES ? [uuid] : []
  })
}

/** Deletes what is left of an import without documents. The row comes last, because it is what finds the rest. */
async function finish(system: System, ledger: D1Database, row: Leased<ImportRow>, markDue: MarkDue): Promise<void> {
  const { import_id, object, organization_id, fiscal_entity_id } = row
  const { FILES } = system.env
  const events = eventsOf(await actingFor(system, organization_id, 'imports')).$client
  // Its documents are shown as other imports hold them from now on.
  await commit(events, [markDue(organization_id, fiscal_entity_id)])
  await FILES.delete(object)
  for (let isMore = true; isMore; ) {
    const { objects, truncated } = await FILES.list({ prefix: importPrefix(import_id), limit: OBJECTS_AT_ONCE })
    if (objects.length > 0) await FILES.delete(objects.map(({ key }) => key))
    isMore = truncated
  }
  await leaveRoom(system, import_id)
  await commit(ledger, removeImport(row))
}

/** An import on which nobody has worked for this long has lost its message or its worker. */
const STALLED_MS = 60_000
const MAX_ATTEMPTS = 5
/** The most statements of a slice that has to be read again a few times. */
const SLICE_STATEMENTS = 100
const SWEEP_LIMIT = 100
/** Longer than an Idempotency-Key lives. */
const ABANDONED_MS = 25 * 3_600_000

/** Two imports at once in an isolate: each has some megabytes in memory. */
const limiter = new MemoryLimiter(2, 15 * 60_000)
/** How many slices an import may commit before other organizations have their turns, and how many imports a message tries. */
const TURN_SLICES = 10
const MOST_TRIED = 5

/**
 * Gives an import its turn: ingests its upload, or deletes it. A message says that one more turn is due, and not whose: the organizations take
 * turns, so that one with many imports delays no other. A worker that has lost its import to another one, or to its deletion, stops.
 */
export const workOnImport = (system: System, hint: ImportHint, markDue: MarkDue): Promise<void> =>
  limiter.hold(1, async () => {
    for (let tried = 0; tried < MOST_TRIED; tried++) {
      const { next, isWaiting } = await beginTurn(system, hint.import_id)
      // What does not wait for a turn is done, or only the ledger knows of it: a crash interrupted the end of its deletion.
      if (tried === 0 && (next === null || !isWaiting)) await workOn(system, hint, markDue)
      if (next === null || (await workOn(system, next, markDue))) return
      const row = await readImport(system.settings.ledgers[next.shard]!, next.import_id)
      if (row) await settle(system, row)
      await leaveTurn(system, next.import_id, false)
    }
  })

/** Works on an import, if nobody else does. Returns whether it did. */
async function workOn(system: System, turn: Turn, markDue: MarkDue): Promise<boolean> {
  const { import_id, shard } = turn
  const ledger = system.settings.ledgers[shard]!
  const row = await claimImport(ledger, import_id)
  if (!row) {
    await deleteLater(system, ledger, turn)
    return false
  }
  const work = row.status === 'deleting' ? continueDeletion : ingestImport
  if (await importLease.work(ledger, row, () => work(system, ledger, row, markDue))) {
    await leaveTurn(system, import_id, true)
    await announce(system, [{ shard, import_id }])
  }
  return true
}

/** An import whose worker has ended without a word is deleted as soon as its lease ends. */
async function deleteLater(system: System, ledger: D1Database, { import_id, shard }: Turn): Promise<void> {
  const row = await readImport(ledger, import_id)
  const left = row?.status === 'deleting' ? row.lease_until - clock.now() : 0
  if (left > 0) await announce(system, [{ shard, import_id }], Math.ceil(left / 1_000) + 1)
}

/**
 * Ingests an upload into the organization's own partition. When it is repeated after a crash, files that are stored stay unchanged. When
 * the budget ends, the import returns to the queue, and another invocation continues behind the files that have a result and the rows of
 * metadata that are stored. Returns whether that is so.
 */
async function ingestImport(system: System, ledger: D1Database, row: Leased<ImportRow>, markDue: MarkDue): Promise<boolean> {
  const { import_id, checkpoint } = row
  const progress: UploadProgress = {
    done: await filesWithResult(ledger, import_id),
    metadata: checkpoint === null ? null : (JSON.parse(checkpoint) as UploadProgress['metadata']),
    results: [],
  }
  try {
    await ingestRest(system, ledger, row, progress, markDue)
    return false
  } catch (error) {
    if (!(error instanceof BudgetUsedUp)) throw error
    await commit(ledger, [
      importLease.assertLeased(row),
      ...insertFileResults(import_id, progress.results),
      interruptImport(row, JSON.stringify(progress.metadata)),
    ])
    return true
  }
}

/** Ingests what has no result yet, and completes the import. Throws BudgetUsedUp. */
async function ingestRest(
  system: System,
  ledger: D1Database,
  row: Leased<ImportRow>,
  progress: UploadProgress,
  markDue: MarkDue,
): Promise<void> {
  const { import_id } = row
  const importer = await actingFor(system, row.organization_id, 'imports')
  const upload = await system.env.FILES.head(row.object)
  const results =
    !upload || row.attempts > MAX_ATTEMPTS ? [failedUpload(upload === null)] : await ingest(importer, ledger, row, upload.size, progress)
  const events = eventsOf(importer).$client
  // Before the import is completed, so that a crash in between repeats it.
  await refreshListed(system, row.entity)
  await commit(events, [markDue(row.organization_id, row.fiscal_entity_id)])
  const done = await commit<Room>(ledger, [
    // When another consumer has taken the import over, it still needs the upload.
    importLease.assertLeased(row),
    ...insertFileResults(import_id, results),
    completeImport(row, clock.now()),
  ])
  await system.env.FILES.delete(row.object)
  await recordUsage(system, row.organization_id, new Map([[import_id, done.at(-1)!.results[0]!]]), true)
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
 * Makes a function that finds the documents that the organization sees permanently in the authority's partition. Those that it sees only
 * because it has no extractors do not count, since that may end.
 */
async function alreadyVisible(
  system: System,
  { organization_id, fiscal_entity_id }: ImportRow,
): Promise<(uuids: readonly string[]) => Promise<Map<string, XmlContent>>> {
  const reader = await readerOf(system, { id: organization_id }, fiscal_entity_id)
  if (reader?.connection.state !== 'active') return async () => new Map()
  const ledger = openReachedLedger({ settings: system.settings, ...reader })
  return (uuids) => visibleContents(ledger, uuids)
}

/** Imports end in a ledger of this size, of the ten gigabytes that D1 allows: the rest is for what the authority delivers. */
const LEDGER_BYTES = 8_000_000_000

function refuseInFullLedger(system: System, ledger_bytes: number): Room & { detail: string } {
  log.error(system, 'A ledger takes no more imports. Close it to new RFCs, and free some of it.', { ledger_bytes })
  return { documents: 0, bytes: 0, detail: 'There is no more room for imports beside what the tax authority delivers. Tell support.' }
}

/** Ingests an upload. Returns the results that no slice has committed. */
async function ingest(
  importer: Ctx,
  ledger: D1Database,
  row: Leased<ImportRow>,
  size: number,
  progress: UploadProgress,
): Promise<EntryResult[]> {
  let slices = 0
  const target: IngestTarget = {
    ledger,
    files: importer.env.FILES,
    entity: row.import_partition,
    rfc: row.rfc,
    now: importer.now,
    provenance: 'import',
    beforeSlice: async () => {
      importer.budget.require(SLICE_STATEMENTS)
      if (slices > 0 && slices % TURN_SLICES === 0 && (await isTurnOver(importer))) throw new BudgetUsedUp()
      slices++
    },
    import_id: row.import_id,
    parts: new Set(JSON.parse(row.parts) as number[]),
    reserveRoom: async (wanted) => {
      const { ledger_bytes, ...has } = await usedByImport(ledger, row.import_id)
      if (ledger_bytes > LEDGER_BYTES) return refuseInFullLedger(importer, ledger_bytes)
      return takeImportRoom(importer, row.import_id, has, wanted)
    },
    alreadyVisible: await alreadyVisible(importer, row),
    sideStatements: ({ entries, created, parts, stored_bytes }) => [
      importLease.assertLeased(row),
      ...insertFileResults(row.import_id, entries),
      ...insertImportSources(row.import_id, row.import_partition, parts),
      extendLease(row, created, stored_bytes),
    ],
  }
  const bytes = bytesOfObject(importer.env.FILES, row.object, size)
  return ingestUpload(target, bytes, progress).finally(() => bytes.rest())
}

/**
 * Settles the usage of uploads older than a day: those that a crash left without an import use nothing, and no key continues them any more;
 * those whose completion was not recorded use what their import says.
 */
export async function sweepUploads(system: System): Promise<void> {
  const open = await openUploads(system, clock.now() - ABANDONED_MS, SWEEP_LIMIT)
  await each(open, async ({ import_id, shard }) => {
    const row = await readImport(system.settings.ledgers[shard]!, import_id)
    if (row) await settle(system, row)
    else await leaveRoom(system, import_id)
  })
}

/** Records what an import uses whose completion was not recorded. */
async function settle(system: System, { import_id, organization_id, status, object, documents, stored_bytes }: ImportRow): Promise<void> {
  if (status !== 'completed') return
  await system.env.FILES.delete(object)
  await recordUsage(system, organization_id, new Map([[import_id, { documents, bytes: stored_bytes }]]), true)
}

/** Announces the imports that lost their message or their consumer. A task, whose cursor is a ledger. */
export const sweepImports = (system: System, cursor = ''): Promise<string | null> =>
  ledgerByLedger(system, cursor, async (shard, ledger) => {
    const unfinished = await unfinishedImports(ledger, clock.now() - STALLED_MS, SWEEP_LIMIT)
    await announce(
      system,
      unfinished.map(({ import_id }) => ({ shard, import_id })),
    )
  })
