import { actingFor } from '../../accounts/organization/acting.ts'
import { eventsOf, type System } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { importPrefix, type KnownCfdi, partsIn, readStored, replaceDocuments } from '../ingest/ingest.ts'
import { countThrough, deletePart, documentsOf, PARTS_AT_ONCE, partsOfImport, readHoldings, removeImport } from './deletion-store.ts'
import { announce, type ImportHint, LEASE_MS, type MarkDue } from './imports.ts'
import { assertHeld, endLease, extendLease, type ImportRow } from './store.ts'
import { leaveRoom, recordDocuments } from './usage/usage.ts'

/** How many documents one commit takes out, how many bytes of XML they may have together, and how many commits one message makes. */
const SLICE = 250
const SLICE_BYTES = 4 * 1024 * 1024
const STEPS = 10
const OBJECTS_AT_ONCE = 1_000

/** Goes on deleting an import that this consumer has claimed, as far as one message may, and announces what is left. */
export async function continueDeletion(system: System, hint: ImportHint, row: ImportRow, token: string, markDue: MarkDue): Promise<void> {
  const ledger = system.settings.ledgers[hint.shard]!
  for (let step = 0; step < STEPS; step++)
    if (!(await takeOutSlice(system, ledger, row, token))) return finish(system, ledger, row, token, markDue)
  await commit(ledger, [endLease(ledger, row.import_id, token)])
  await announce(system, [hint])
}

/**
 * Takes out some of the documents of a part that only this import holds, and leaves the others to the imports that hold them too. Those of
 * one chunk come together. False when the import holds nothing any more.
 */
async function takeOutSlice(system: System, ledger: D1Database, row: ImportRow, token: string): Promise<boolean> {
  const { import_id, book } = row
  const own = await partsOfImport(ledger, import_id)
  const [part] = own
  if (part === undefined) return false
  const holdings = await readHoldings(ledger, book, [part])
  const stored = [...(await readStored(ledger, book, [...new Set(holdings.map(({ uuid }) => uuid))])).values()]
    .filter(({ held }) => partsIn(held).includes(part))
    .sort((a, b) => (a.chunk ?? 0) - (b.chunk ?? 0))
  const uuids = await withinWeight(ledger, book, own, withinParts(own, stored))
  let [heirs, lost]: [Map<string, string[]>, number] = [new Map(), 0]
  await replaceDocuments(
    { ledger, files: system.env.FILES, entity: book, rfc: row.rfc, now: system.now },
    uuids,
    async (known) => {
      const left = await othersOf(ledger, book, own, known)
      heirs = left.heirs
      lost = left.lost
      // Before the commit, so that a crash in between makes documents count twice for a moment, and never not at all.
      await recordHeirs(system, ledger, row, heirs, (uuids) => uuids.length)
      return left
    },
    () => [
      assertHeld(ledger, import_id, token),
      ...(uuids.length === stored.length ? deletePart(ledger, import_id, book, part) : []),
      countThrough(ledger, heirs),
      extendLease(ledger, import_id, token, Date.now() + LEASE_MS, -lost),
    ],
  )
  await recordHeirs(system, ledger, row, heirs, () => 0)
  return true
}

/** What other imports hold of documents, and which of them inherit those that count through this one: the first of each. */
async function othersOf(ledger: D1Database, book: number, own: readonly number[], documents: readonly KnownCfdi[]) {
  const partsOf = new Map(documents.map(({ uuid, held }) => [uuid, partsIn(held)]))
  const others = [...new Set([...partsOf.values()].flat())].filter((part) => !own.includes(part))
  const found = await readHoldings(ledger, book, others, (uuid, part) => partsOf.get(uuid)?.includes(part) === true)
  const holdings = Map.groupBy(found, ({ uuid }) => uuid)
  const held = new Map<string, string>()
  const heirs = new Map<string, string[]>()
  let lost = 0
  for (const [uuid, parts] of partsOf) {
    const left = parts.filter((part) => !own.includes(part))
    const isCounted = own.includes(parts[0]!)
    const heir = holdings.get(uuid)?.[0]
    if (isCounted) lost++
    if (heir === undefined) continue
    held.set(uuid, [...new Set(isCounted ? [heir.part, ...left] : left)].join())
    if (isCounted) heirs.set(heir.import_id, [...(heirs.get(heir.import_id) ?? []), uuid])
  }
  return { holdings, held, heirs, lost }
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

/** As many of the documents as one commit takes out, and as lie in few parts of other imports; at least one. */
function withinParts(own: readonly number[], documents: readonly KnownCfdi[]): KnownCfdi[] {
  const parts = new Set(own)
  const end = documents.findIndex(({ held }, n) => {
    for (const part of partsIn(held)) parts.add(part)
    return n === SLICE || (n > 0 && parts.size > own.length + PARTS_AT_ONCE)
  })
  return end < 0 ? [...documents] : documents.slice(0, end)
}

/** As many of the documents as may be opened at once, by the largest XML that another import holds of each; at least one. */
async function withinWeight(ledger: D1Database, book: number, own: readonly number[], documents: readonly KnownCfdi[]): Promise<string[]> {
  const { holdings } = await othersOf(ledger, book, own, documents)
  let weight = 0
  return documents.flatMap(({ uuid }, n) => {
    weight += Math.max(0, ...(holdings.get(uuid) ?? []).map(({ xml }) => xml?.xml_size ?? 0))
    return n === 0 || weight <= SLICE_BYTES ? [uuid] : []
  })
}

/** Deletes what is left of an import without documents. The row comes last, because it is what finds the rest. */
async function finish(system: System, ledger: D1Database, row: ImportRow, token: string, markDue: MarkDue): Promise<void> {
  const { import_id, object, organization_id, fiscal_entity_id } = row
  const { FILES } = system.env
  const events = eventsOf(await actingFor(system, organization_id, 'imports')).$client
  // What other imports hold of its documents is shown from now on.
  await commit(events, [markDue(events, organization_id, fiscal_entity_id)])
  await FILES.delete(object)
  for (let isMore = true; isMore; ) {
    const { objects, truncated } = await FILES.list({ prefix: importPrefix(import_id), limit: OBJECTS_AT_ONCE })
    if (objects.length > 0) await FILES.delete(objects.map(({ key }) => key))
    isMore = truncated
  }
  await leaveRoom(system, import_id)
  await commit(ledger, removeImport(ledger, import_id, token))
}
