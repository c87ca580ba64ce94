import { findOrganization } from '../../accounts/organization/organization.ts'
import { lastCommits } from '../../cfdi/mirrored/mirrored.ts'
import { fetchedSince } from '../../documents/mailbox/mirrored.ts'
import type { System } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { uuidOf } from '../../platform/db/id.ts'
import { isReadable } from '../../taxpayers/connection.ts'
import { type ConnectionRow, listConnections, storedReachesOf } from '../../taxpayers/taxpayers.ts'
import { boundsAt, parseReaches } from '../../taxpayers/visibility/reaches.ts'
import { type Windows, windowsOf } from '../../taxpayers/visibility/window.ts'
import { type Copied, legsTo, type Now } from './round.ts'
import { findMirrors, insertMirrors, type MirrorRow, markMirrors, markRefused, type WorkRow } from './store.ts'

/** Connections of a page. */
const PAGE = 500
/** The review is daily: a document of the mailbox that was fetched since then may be one that no event told of. */
const FETCHED_MS = 2 * 86_400_000
const NOTHING: Copied = { sequence: 0, import_sequence: 0, windows: null, all_until: 0 }

/** What a mirror has dealt with. */
export const copiedOf = ({ sequence, import_sequence, windows, all_until }: MirrorRow): Copied => ({
  ...{ sequence, import_sequence, all_until },
  windows: windows === null ? null : (JSON.parse(windows) as Windows),
})

/**
 * Inserts a mirror for each connection of a page that has none. One of a connection that existed when the connector was created begins at
 * what there was then; any other one begins at nothing. Returns the last connection, '' after the last page.
 */
export async function planPage(system: System, d1: D1Database, row: WorkRow, after: string): Promise<string> {
  const page = await readPage(system, row, after)
  const begin = row.backfill === null ? row.created_at : 0
  const known = await findMirrors(d1, row.connector, page.keys)
  const missing = page.connections.filter(({ fiscal_entity_id }) => !known.has(uuidOf(fiscal_entity_id)))
  const [now, reaches] = await Promise.all([
    readNow(system, page.extractor_count, missing, begin),
    storedReachesOf(
      system.db,
      missing.map(({ connection }) => connection),
    ),
  ])
  const rows = missing.map((connection) => {
    const isOlder = connection.linked_at.getTime() <= begin
    const { windows: _, ...sequences } = isOlder ? now.get(connection)! : NOTHING
    // What a run has widened since is to be copied, however late the connector is planned.
    const { issued_reaches, received_reaches } = reaches.get(connection.connection)!
    const then = boundsAt(parseReaches(issued_reaches), parseReaches(received_reaches), begin)
    const windows = isOlder ? windowsOf(page.extractor_count, then) : null
    return {
      ...{
        fiscal_entity: uuidOf(connection.fiscal_entity_id),
        due: isOlder ? (0 as const) : (1 as const),
        documents_since: isOlder ? begin : 0,
      },
      ...{ sequence: sequences.sequence, import_sequence: sequences.import_sequence, windows: windows && JSON.stringify(windows) },
    }
  })
  if (rows.length > 0) await commit(d1, insertMirrors(d1, row.connector, rows))
  return page.next
}

/** Marks the mirrors of a page of connections of which there is something to copy, and inserts those that are missing. */
export async function reviewPage(system: System, d1: D1Database, row: WorkRow, after: string): Promise<string> {
  const page = await readPage(system, row, after)
  const [known, now, fetched] = await Promise.all([
    findMirrors(d1, row.connector, page.keys),
    readNow(system, page.extractor_count, page.connections, Number.MAX_SAFE_INTEGER),
    readFetched(system, page.connections),
  ])
  const keys = page.connections.filter(isReadable).flatMap((connection) => {
    const key = uuidOf(connection.fiscal_entity_id)
    const mirror = known.get(key)
    if (mirror?.due === 1) return []
    const isBehind = legsTo(mirror ? copiedOf(mirror) : NOTHING, now.get(connection)!).legs.length > 0
    return isBehind || mirror?.refused || fetched.has(connection.entity) ? [key] : []
  })
  const refused = [...known.values()].filter((mirror) => mirror.refused).map(({ fiscal_entity }) => fiscal_entity)
  const missing = keys.filter((key) => !known.has(key))
  const rows = missing.map((fiscal_entity) => ({ fiscal_entity, due: 1 as const, documents_since: 0, ...NOTHING, windows: null }))
  if (keys.length + refused.length > 0)
    await commit(d1, [
      ...insertMirrors(d1, row.connector, rows),
      ...markMirrors(d1, row.connector, keys),
      ...markRefused(d1, row.connector, refused),
    ])
  return page.next
}

/** Reads for which RFCs a document of the mailbox was fetched lately. One statement for each ledger. */
async function readFetched({ settings }: System, connections: readonly ConnectionRow[]): Promise<Set<number>> {
  const found = await Promise.all(
    [...Map.groupBy(connections, ({ shard }) => shard)].map(([shard, own]) =>
      fetchedSince(
        settings.ledgers[shard]!,
        own.map(({ entity }) => entity),
        Date.now() - FETCHED_MS,
      ),
    ),
  )
  return new Set(found.flatMap((entities) => [...entities]))
}

async function readPage({ db }: System, { organization_id }: WorkRow, after: string) {
  const [{ extractor_count }, connections] = await Promise.all([
    findOrganization(db, organization_id),
    listConnections(db, organization_id, after === '' ? undefined : after, PAGE),
  ])
  const keys = connections.map(({ fiscal_entity_id }) => uuidOf(fiscal_entity_id))
  return { extractor_count, connections, keys, next: connections.length === PAGE ? connections.at(-1)!.fiscal_entity_id : '' }
}

/** Reads the windows of connections, and the last commits up to an instant. One statement for each ledger. */
async function readNow({ settings }: System, extractor_count: number, connections: readonly ConnectionRow[], until: number) {
  const now = new Map<ConnectionRow, Now>()
  for (const [shard, own] of Map.groupBy(connections, (connection) => connection.shard)) {
    const partitions = own.flatMap(({ entity, connection, imported_at }) => (imported_at === null ? [entity] : [entity, -connection]))
    const last = await lastCommits(settings.ledgers[shard]!, partitions, until)
    for (const one of own) {
      const windows = windowsOf(extractor_count, {
        ...one,
        issued_to: one.issued_to?.getTime() ?? null,
        received_to: one.received_to?.getTime() ?? null,
      })
      now.set(one, { windows, sequence: last.get(one.entity) ?? 0, import_sequence: last.get(-one.connection) ?? 0 })
    }
  }
  return now
}
