import type { Ctx } from '../../platform/context.ts'
import type { Connection } from '../../platform/tenant.ts'
import { isReadable } from '../../taxpayers/connection.ts'
import { openLedger, type ScopedLedger } from '../../visibility/scoped-ledger.ts'
import { EARLIEST_DAY, earliestOf, shows } from '../../visibility/window.ts'
import { readTouched, type Touched } from '../commits/touched.ts'
import { findRows, lastCommitsOf, type NamedDocument, type NamedRow, type ReachedRange, type StoredCommit } from './latest-store.ts'

/** Documents that are looked at of a commit: some from all over it. */
const LOOKED_AT = 10

/**
 * Returns when something last changed that the organization is shown of RFCs, in milliseconds, by the number of the connection, as far as the
 * last commits and runs tell. What only others are shown is not looked at, so that nothing is told of their downloads. Two calls for each ledger.
 */
export async function latestChanges(ctx: Ctx, connections: readonly Connection[]): Promise<Map<number, number>> {
  const latest = new Map<number, number>()
  const readable = connections.filter(isReadable)
  await Promise.all(
    [...Map.groupBy(readable, ({ shard }) => shard)].map(async ([shard, own]) => {
      const ledgers = own.map((connection) => ({ connection, ledger: openLedger({ ...ctx, connection }) }))
      for (const [connection, at] of await latestIn(ctx.settings.ledgers[shard]!, ledgers)) latest.set(connection, at)
    }),
  )
  return latest
}

interface Opened {
  connection: Connection
  ledger: ScopedLedger
}

async function latestIn(d1: D1Database, opened: readonly Opened[]): Promise<Map<number, number>> {
  const commits = await lastCommitsOf(
    d1,
    opened.flatMap(({ ledger: { entity, importPartition } }) => (importPartition === null ? [entity] : [entity, importPartition])),
  )
  const ofPartition = Map.groupBy(commits, ({ number }) => number)
  const names = opened.flatMap(({ ledger: { entity } }) =>
    (ofPartition.get(entity) ?? []).flatMap((commit) => namesIn(commit).map(([uuid]): NamedRow => [entity, uuid])),
  )
  const ranges = opened.flatMap(({ ledger }, n) => rangesOf(ledger, n))
  const { rows, reached } = await findRows(d1, names, ranges)
  const rowOf = new Map(rows.map((row) => [`${row.entity}|${row.uuid}`, row]))
  const latest = new Map<number, number>()
  for (const [n, { connection, ledger }] of opened.entries()) {
    const isShown = (uuid: string, from: number | null): boolean => showsRow(ledger, rowOf.get(`${ledger.entity}|${uuid}`), from)
    const instants = [
      ...(ofPartition.get(ledger.entity) ?? [])
        .filter((commit) => !ledger.window.isEmpty && hasShown(commit, ledger, isShown))
        .map(({ committed_at }) => committed_at),
      ...(ledger.importPartition === null ? [] : (ofPartition.get(ledger.importPartition) ?? []).map(({ committed_at }) => committed_at)),
      // What a run's ceiling newly shows is seen from the run on.
      ...(reached.has(n) ? [Math.max(ledger.windows.issued.ceiling ?? 0, ledger.windows.received.ceiling ?? 0)] : []),
    ]
    if (instants.length > 0) latest.set(connection.connection, Math.max(...instants))
  }
  return latest
}

const touchedIn = ({ touched }: StoredCommit): Touched => readTouched(touched)

/** Some of the documents that a commit names, each with the ceiling from which on it changes for a reader. */
function namesIn(commit: StoredCommit): (readonly [uuid: string, from: number | null])[] {
  const { stored = [], cancelled = [], substituted = [], balances = [] } = touchedIn(commit)
  const names = [
    ...[...stored, ...cancelled].map((uuid) => [uuid, null] as const),
    ...[...substituted, ...balances].map(([uuid, from]) => [uuid, from] as const),
  ]
  const step = Math.max(1, names.length / LOOKED_AT)
  return Array.from({ length: Math.min(names.length, LOOKED_AT) }, (_, n) => names[Math.floor(n * step)]!)
}

const hasShown = (
  commit: StoredCommit,
  { fiscal_entity_id }: ScopedLedger,
  isShown: (uuid: string, from: number | null) => boolean,
): boolean =>
  namesIn(commit).some(([uuid, from]) => isShown(uuid, from)) ||
  (touchedIn(commit).checked ?? []).some(([, asker]) => asker === fiscal_entity_id)

function showsRow({ windows }: ScopedLedger, row: NamedDocument | undefined, from: number | null): boolean {
  if (row === undefined) return false
  const window = row.direction === 0 ? windows.issued : windows.received
  return shows(window, row) && (from === null || window.ceiling === null || from * 1_000 <= window.ceiling)
}

/** What the last run of each source newly reached, in seconds: what was issued since the run before, or everything when it reached further back. */
function rangesOf(ledger: ScopedLedger, n: number): ReachedRange[] {
  return ([0, 1] as const).flatMap((direction): ReachedRange[] => {
    const { isEmpty, floor, ceiling } = direction === 0 ? ledger.windows.issued : ledger.windows.received
    if (isEmpty || ceiling === null) return []
    const before = ledger.reachesOf(direction).filter(({ at }) => at < ceiling)
    const isWider = before.every((reach) => floor === null || reach.floor > floor)
    const since = isWider ? earliestOf(floor ?? EARLIEST_DAY) : Math.floor(Math.max(...before.map(({ at }) => at)) / 1_000) + 1
    return [{ n, entity: ledger.entity, direction, since, until: Math.floor(ceiling / 1_000) }]
  })
}
