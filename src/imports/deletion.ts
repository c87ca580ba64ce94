import { importPrefix, replaceDocuments } from '../cfdi/ingest/ingest.ts'
import { notFound } from '../failures.ts'
import { change } from '../platform/audit/audit.ts'
import type { Ctx, System } from '../platform/context.ts'
import { commit } from '../platform/db/commit.ts'
import type { Import } from './contract.ts'
import { countThrough, deleteHoldings, documentsOf, markDeleting, otherHoldings, removeImport, someHoldings } from './deletion-store.ts'
import { announce, connectionOf, getImport, type ImportHint, LEASE_MS } from './imports.ts'
import { assertHeld, endLease, extendLease, findImport, type ImportRow } from './store.ts'
import { leaveRoom, recordDocuments } from './usage/usage.ts'

/** How many documents one commit takes out, how many bytes of XML they may have together, and how many commits one message makes. */
const SLICE = 250
const SLICE_BYTES = 4 * 1024 * 1024
const STEPS = 10
const OBJECTS_AT_ONCE = 1_000

/**
 * Begins to delete an import; a consumer goes on with it. An import that is being processed stops. Throws Failure 404 import.not_found.
 */
export async function deleteImport(ctx: Ctx, import_id: string): Promise<Import> {
  const { shard, fiscal_entity_id } = connectionOf(ctx)
  const ledger = ctx.settings.ledgers[shard]!
  const { row } = await findImport(ledger, ctx.organization.id, fiscal_entity_id, import_id, 0)
  if (!row) throw notFound('import')
  if (row.status !== 'deleting') {
    await change(ctx, { action: 'import.deleted', resource_id: import_id }, [])
    await commit(ledger, [markDeleting(ledger, import_id)])
  }
  await announce(ctx, [{ shard, import_id }])
  return getImport(ctx, import_id)
}

/** Goes on deleting an import that this consumer has claimed, as far as one message may, and announces what is left. */
export async function continueDeletion(system: System, hint: ImportHint, row: ImportRow, token: string): Promise<void> {
  const ledger = system.settings.ledgers[hint.shard]!
  for (let step = 0; step < STEPS; step++) if (!(await takeOutSlice(system, ledger, row, token))) return finish(system, ledger, row, token)
  await commit(ledger, [endLease(ledger, row.import_id, token)])
  await announce(system, [hint])
}

/** Takes out some of the documents that only this import holds, and leaves the others to the imports that hold them too. False when there are none. */
async function takeOutSlice(system: System, ledger: D1Database, row: ImportRow, token: string): Promise<boolean> {
  const { import_id, book } = row
  const held = withinWeight(await someHoldings(ledger, import_id, SLICE))
  if (held.length === 0) return false
  const uuids = held.map(({ uuid }) => uuid)
  const counted = new Set(held.filter(({ is_counted }) => is_counted === 1).map(({ uuid }) => uuid))
  let heirs: Map<string, string[]> = new Map()
  await replaceDocuments(
    { ledger, files: system.env.FILES, entity: book, rfc: row.rfc, now: system.now },
    uuids,
    async () => {
      const others = await otherHoldings(ledger, import_id, book, uuids)
      heirs = heirsOf(others, counted)
      // Before the commit, so that a crash in between makes documents count twice for a moment, and never not at all.
      await recordHeirs(system, ledger, row, heirs, (uuids) => uuids.length)
      return { holdings: Map.groupBy(others, ({ uuid }) => uuid) }
    },
    () => [
      assertHeld(ledger, import_id, token),
      deleteHoldings(ledger, import_id, uuids),
      ...countThrough(ledger, heirs),
      extendLease(ledger, import_id, token, Date.now() + LEASE_MS, -counted.size),
    ],
  )
  await recordHeirs(system, ledger, row, heirs, () => 0)
  return true
}

/** The documents that count through another import from now on: the first one that holds each. */
function heirsOf(others: readonly { import_id: string; uuid: string }[], counted: ReadonlySet<string>): Map<string, string[]> {
  const first = new Map<string, string>()
  for (const { import_id, uuid } of others) if (counted.has(uuid) && !first.has(uuid)) first.set(uuid, import_id)
  return new Map([...Map.groupBy(first, ([, heir]) => heir)].map(([heir, pairs]) => [heir, pairs.map(([uuid]) => uuid)]))
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
  await recordDocuments(system, organization_id, new Map([...documents].map(([heir, n]) => [heir, n + more(heirs.get(heir)!)])))
}

/** As many of the documents as may be opened at once; at least one. */
function withinWeight<T extends { size: number }>(held: readonly T[]): T[] {
  let weight = 0
  return held.filter(({ size }, n) => {
    weight += size
    return n === 0 || weight <= SLICE_BYTES
  })
}

/** Deletes what is left of an import without documents. The row comes last, because it is what finds the rest. */
async function finish(system: System, ledger: D1Database, { import_id, object }: ImportRow, token: string): Promise<void> {
  const { FILES } = system.env
  await FILES.delete(object)
  for (let isMore = true; isMore; ) {
    const { objects, truncated } = await FILES.list({ prefix: importPrefix(import_id), limit: OBJECTS_AT_ONCE })
    if (objects.length > 0) await FILES.delete(objects.map(({ key }) => key))
    isMore = truncated
  }
  await leaveRoom(system, import_id)
  await commit(ledger, removeImport(ledger, import_id, token))
}
