import { type SQL, sql } from 'drizzle-orm'
import { readerOf } from '../../accounts/organization/acting.ts'
import { countLeg, lastCommits } from '../../cfdi/mirrored/mirrored.ts'
import { contain } from '../../cfdi/mirrored/stretches.ts'
import type { System } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { isGuardViolation } from '../../platform/db/guard.ts'
import { idOfUuid } from '../../platform/db/id.ts'
import { bare } from '../../platform/db/statement.ts'
import { isReadable } from '../../taxpayers/connection.ts'
import { openLedger, type ScopedLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import type { ConnectorScope } from '../contract.ts'
import type { Destination, DestinationError } from '../drivers/port.ts'
import type { MirroredKind } from '../kinds.ts'
import { storageConnectors as connectors, storageMirrors as mirrors } from '../tables.ts'
import { nextBatch } from './batch.ts'
import { type Copying, copyItems, type Item } from './copy.ts'
import { readDocuments } from './documents.ts'
import { putPart } from './manifest.ts'
import { deleteRefused, insertRefused, type Refusal, refusedError } from './refused.ts'
import { copiedOf } from './review.ts'
import { type CopyRound, isLegOf, legsTo, type RoundLeg, type RoundPosition } from './round.ts'
import { assertHeld, assertStopping, HELD, insertCopied, isHeld, type MirrorRow, setConnector, setMirror, type WorkRow } from './store.ts'

/** A connector that this invocation holds. */
export interface Held {
  d1: D1Database
  row: WorkRow
  scope: ConnectorScope
  path_template: string
  destination: Destination
  /** Whether the destination takes an object that nothing is wrong with. */
  works: () => Promise<boolean>
}

/** The most statements of a batch. */
const STATEMENTS = 60

/** How the work on a mirror ended: nothing is left, the budget ended first, or the destination failed. */
export type Ended = { isOver: boolean; error: DestinationError | null; failed: number }

/**
 * Copies what is due of a fiscal entity, batch by batch. The state of the mirror moves on in the commit of each batch, which the lease
 * fences: a batch that a crash interrupted is copied again, to the same paths.
 */
export async function workOnMirror(system: System, held: Held, mirror: MirrorRow): Promise<Ended> {
  const { d1 } = held
  let round = mirror.round === null ? null : (JSON.parse(mirror.round) as CopyRound)
  // What is reported from here on is seen, or begins another round.
  if (round === null && mirror.due === 1) await commit(d1, [assertHeld(d1, held.row), setMirror(d1, mirror, sql`${bare(mirrors.due)} = 2`)])
  for (;;) {
    const ledger = await openedFor(system, held, mirror)
    if (ledger === null) {
      await commit(d1, [assertHeld(d1, held.row), setMirror(d1, mirror, AT_REST)])
      return { isOver: true, error: null, failed: 0 }
    }
    // The organization no longer sees everything: the rest of the round is planned again.
    if (round !== null && !contain(ledger.windows, round.to.windows!)) round = null
    round ??= await beginRound(ledger, held, mirror)
    const ended = await copyBatch(system, held, ledger, mirror, round)
    if (ended.error !== null || ended.round === null) return { isOver: ended.error === null, error: ended.error, failed: ended.failed }
    round = ended.round
    if (!system.budget.allows(STATEMENTS)) return { isOver: false, error: null, failed: 0 }
  }
}

/** Of a mirror on which nothing is to be done, unless something has been reported meanwhile. */
const AT_REST = sql`${bare(mirrors.due)} = iif(${mirrors.due} = 1, 1, 0)`

async function openedFor(system: System, { row }: Held, { fiscal_entity }: MirrorRow): Promise<ScopedLedger | null> {
  const reader = await readerOf(system, row.organization_id, idOfUuid('fe', fiscal_entity))
  return reader && isReadable(reader.connection) ? openLedger({ settings: system.settings, ...reader }) : null
}

/** Begins a round: it leads from what has been dealt with to what there is now. What is not in the scope is dealt with. */
async function beginRound(ledger: ScopedLedger, { scope }: Held, mirror: MirrorRow): Promise<CopyRound> {
  const { entity, importPartition, windows, d1 } = ledger
  const last = await lastCommits(d1, importPartition === null ? [entity] : [entity, importPartition], Number.MAX_SAFE_INTEGER)
  const now = { windows, sequence: last.get(entity) ?? 0, import_sequence: last.get(importPartition ?? 0) ?? 0 }
  const { legs, to } = legsTo(copiedOf(mirror), now)
  const all: RoundLeg[] = [
    ...legs,
    { documents: 'sources' },
    { documents: 'mailbox' },
    ...(mirror.refused ? [{ refused: true } as const] : []),
  ]
  const kinds = kindsOf(scope, ledger)
  return { to, legs: all.filter((leg) => isLegOf(leg, kinds)), at: { leg: 0, place: null } }
}

/** The kinds that are copied of a fiscal entity. */
const kindsOf = ({ fiscal_entity_ids, kinds }: ConnectorScope, { fiscal_entity_id }: ScopedLedger): readonly MirroredKind[] =>
  fiscal_entity_ids === null || fiscal_entity_ids.includes(fiscal_entity_id) ? kinds : []

/** Begins the round of a backfill, and counts what it copies. */
export async function beginBackfill(system: System, held: Held, mirror: MirrorRow): Promise<void> {
  const { d1, row, scope } = held
  await commit(d1, [assertHeld(d1, row), setMirror(d1, mirror, sql`${bare(mirrors.due)} = 2`)])
  const ledger = await openedFor(system, held, mirror)
  if (ledger === null) return void (await commit(d1, [assertHeld(d1, row), setMirror(d1, mirror, AT_REST)]))
  const round = await beginRound(ledger, held, mirror)
  let total = 0
  for (const leg of round.legs)
    if ('of' in leg) total += await countLeg(ledger, leg)
    else if ('documents' in leg)
      for (let after: string | null = null; ; ) {
        const page = await readDocuments(d1, ledger, mirror, leg.documents, scope.kinds, after)
        total += page.found.length
        after = page.next
        if (after === null) break
      }
  await commit(d1, [
    assertHeld(d1, row),
    setMirror(d1, mirror, sql`${bare(mirrors.round)} = ${JSON.stringify({ ...round, total } satisfies CopyRound)}`),
  ])
}

/** Copies the next batch of a round and commits it. `round` is what is left of it; null for nothing. */
async function copyBatch(system: System, held: Held, ledger: ScopedLedger, mirror: MirrorRow, round: CopyRound) {
  const { d1, row, scope, path_template } = held
  const kinds = kindsOf(scope, ledger)
  const { items, gone, legs, end } = await nextBatch(system, d1, ledger, mirror, round, { kinds, path_template })
  const mayGoOn = async () => {
    // A connector that is paused or deleted, or whose RFC is unlinked, is sent nothing more.
    const [isOurs, opened] = await Promise.all([isHeld(d1, row), openedFor(system, held, mirror)])
    return isOurs && opened !== null
  }
  const copying = await copyItems(items, { ...held, budget: system.budget, failures: row.failures, mayGoOn })
  const { settled, copied, lines, failed, error } = copying
  const at: RoundPosition = settled === items.length ? end : settled === 0 ? round.at : items[settled - 1]!.behind
  const isOver = at.leg >= legs.length
  const left: CopyRound = { ...round, legs, at }
  // Another worker's part may have this number once the lease is over.
  if (Date.now() >= row.lease_until) await commit(d1, [assertHeld(d1, row)])
  if (lines.length > 0) await putPart(system, row, lines)
  const { sequence, import_sequence, windows, all_until } = round.to
  const refused = copying.refused.map(({ item, error }): Refusal => ({ document: documentOf(item), path: item.path, error }))
  const statements = [
    ...insertRefused(d1, mirror, refused, new Date()),
    ...(mirror.refused ? deleteRefused(d1, mirror, [...copied.map(documentOf), ...gone]) : []),
    ...(settled > 0 ? [setConnector(d1, row.connector, countedColumns(held, copying, round.total !== undefined))] : []),
    setMirror(
      d1,
      mirror,
      isOver
        ? sql`${AT_REST}, ${bare(mirrors.round)} = null, ${bare(mirrors.sequence)} = ${sequence},
            ${bare(mirrors.import_sequence)} = ${import_sequence}, ${bare(mirrors.windows)} = ${JSON.stringify(windows)},
            ${bare(mirrors.all_until)} = ${all_until}`
        : sql`${bare(mirrors.round)} = ${JSON.stringify(left)}`,
    ),
    ...insertCopied(
      d1,
      row.connector,
      copied.flatMap(({ id }) => ('document_id' in id ? [id.document_id] : [])),
    ),
  ]
  try {
    await commit(d1, [assertHeld(d1, row), ...statements])
  } catch (error) {
    if (!isGuardViolation(error, HELD)) throw error
    // What moves the connector to another place lists first what lies at this one.
    await commit(d1, [assertStopping(d1, row), ...statements])
    throw error
  }
  if (lines.length > 0) row.parts++
  if (settled > 0) row.failures = 0
  return { round: isOver ? null : left, error, failed }
}

const documentOf = ({ id }: Item): string => ('uuid' in id ? id.uuid : id.document_id)

/** What a batch changes in its connector. What works once, or refuses one of many, ends a series of failures. */
const countedColumns = ({ row }: Held, { lines: { length: copied }, refused }: Copying, isBackfill: boolean): SQL =>
  sql.join(
    [
      sql`${bare(connectors.failures)} = 0, ${bare(connectors.last_error)} = ${refusedError(row.connector)}`,
      ...(copied > 0
        ? [
            sql`${bare(connectors.copied_count)} = ${connectors.copied_count} + ${copied},
                ${bare(connectors.last_copied_at)} = ${Date.now()}, ${bare(connectors.parts)} = ${row.parts + 1}`,
          ]
        : []),
      ...(refused.length > 0 ? [sql`${bare(connectors.failed_count)} = ${connectors.failed_count} + ${refused.length}`] : []),
      ...(isBackfill
        ? [
            sql`${bare(connectors.backfill)} = json_set(${connectors.backfill}, '$.copied', ${connectors.backfill}->>'copied' + ${copied},
                '$.failed', coalesce(${connectors.backfill}->>'failed', 0) + ${refused.length})`,
          ]
        : []),
    ],
    sql`, `,
  )
