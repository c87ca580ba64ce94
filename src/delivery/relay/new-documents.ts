import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { readerOf } from '../../accounts/organization/organization.ts'
import { type Copied, type Leg, lastCommits, legsTo, type Place, readLeg } from '../../cfdi/mirrored/mirrored.ts'
import type { System } from '../../platform/context.ts'
import { commit, jsonChunks } from '../../platform/db/commit.ts'
import { assertThat, isGuardViolation } from '../../platform/db/guard.ts'
import { idOfUuid, newId } from '../../platform/db/id.ts'
import { bare, readFirst, readRows } from '../../platform/db/statement.ts'
import { clock } from '../../platform/time/clock.ts'
import { each } from '../../platform/work/pages.ts'
import { sendHints } from '../../platform/work/send.ts'
import { isReadable } from '../../taxpayers/connection.ts'
import { openLedger, type ScopedLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import { DIRECTION_NAMES, intersectionOf, isEverything, type Windows } from '../../taxpayers/visibility/window.ts'
import type { NewEvent } from '../events/store.ts'
import { newDocuments, webhooks } from '../tables.ts'
import { appendStatements, wakeAppended } from './append.ts'

const w = alias(webhooks, 'w')
const { organization_id, fiscal_entity, version, is_due, run_id, progress } = newDocuments
type Row = typeof newDocuments.$inferSelect
type Key = Pick<Row, 'organization_id' | 'fiscal_entity'>

/** What has been told of, and the documents that are being told of. */
interface Progress {
  /** The windows of which everything has been told. */
  windows: Windows | null
  /** The last commit that was told of, and the last one up to which it was told of everything, whatever the windows. */
  sequence?: number
  all_until: number
  /** When the first run asked for its downloads, in milliseconds: what was stored before it and was visible is not new. */
  since?: number
  round?: { to: Copied; legs: Leg[]; leg: number; place: Place } | null
}

/** The end of a run for one RFC, and the windows before it. */
export interface RunEnd extends Key {
  run_id: string
  windows: Windows
  since: number
}

/** Marks RFCs of which an endpoint wants to be told what is new. Returns them. Costs nothing but the statement where none does. */
export const markNew = (ends: readonly RunEnd[]): SQL[] =>
  jsonChunks(
    ends.map((end) => [
      ...[end.organization_id, end.fiscal_entity, end.run_id],
      { windows: isNothing(end.windows) ? null : end.windows, all_until: 0, since: end.since } satisfies Progress,
    ]),
  ).map(
    (json) =>
      sql`insert into ${newDocuments} ${[organization_id, fiscal_entity, version, is_due, run_id, progress].map(bare)}
        select n.value->>0, n.value->>1, 1, 1, n.value->>2, n.value->>3 from json_each(${json}) n
        where exists (
          select 1 from ${webhooks} ${w} indexed by webhooks_organization
          where ${w.organization_id} = n.value->>0 and ${w.deleted_at} is null and ${w.is_enabled} = 1
            and exists (select 1 from json_each(${w.event_keys}) k where k.value = 'cfdi.new')
            and (${w.fiscal_entity_uuids} is null
              or exists (select 1 from json_each(${w.fiscal_entity_uuids}) f where f.value = n.value->>1)))
        on conflict ${[organization_id, fiscal_entity].map(bare)} do update
          set ${bare(run_id)} = excluded.${bare(run_id)}, ${bare(version)} = ${version} + 1, ${bare(is_due)} = 1
        returning ${bare(organization_id)} as new_of, ${bare(fiscal_entity)}`,
  )

const isNothing = ({ issued, received }: Windows): boolean => issued.isEmpty && received.isEmpty

/** Asks the queue to tell of what is new. The sweep finds what a lost message leaves. */
export const wakeNew = (system: System, shard: number, keys: readonly Key[]): Promise<void> =>
  sendHints(
    system,
    system.env.WEBHOOKS,
    keys.map((new_documents) => ({ body: { shard, new_documents } })),
  )

const SWEPT = 1_000

/** Asks for all that is left to tell of. */
export const sweepNew = (system: System): Promise<void> =>
  each([...system.settings.events.entries()], async ([shard, d1]) => {
    const due = sql<Key>`select ${organization_id}, ${fiscal_entity} from ${newDocuments} indexed by new_documents_due
      where ${is_due} = 1 limit ${SWEPT}`
    await wakeNew(system, shard, await readRows(d1, due))
  })

/** Documents that one commit tells of at most, and those of one event. */
const DOCUMENTS = 1_000
const PAGE = 100
/** The most pages of a leg, and the most statements, of one commit. */
const PAGES = 10
const STATEMENTS = 40

/**
 * Tells an organization which documents of an RFC newly became readable, as far as the budget allows. The events and the progress behind
 * them are one commit, which another worker's refuses: each document is told of once, whatever is repeated or breaks off.
 */
export async function notifyNew(system: System, shard: number, key: Key): Promise<void> {
  while (await notifyStep(system, shard, key)) if (!system.budget.allows(STATEMENTS)) return wakeNew(system, shard, [key])
}

/** Returns whether more may be left. */
async function notifyStep(system: System, shard: number, key: Key): Promise<boolean> {
  const d1 = system.settings.events[shard]!
  const isIt = sql`${organization_id} = ${key.organization_id} and ${fiscal_entity} = ${key.fiscal_entity}`
  const row = await readFirst(d1, sql<Row>`select * from ${newDocuments} where ${isIt} and ${is_due} = 1`)
  if (!row) return false
  const { events, after } = await nextEvents(system, row)
  const isLeft = after?.round != null
  const now = clock.now()
  try {
    const results = await commit<{ webhook?: number }>(d1, [
      assertThat(sql`exists (select 1 from ${newDocuments} where ${isIt} and ${version} = ${row.version})`, 'new_documents.version'),
      sql`update ${newDocuments} set ${bare(version)} = ${version} + 1, ${bare(is_due)} = ${Number(isLeft)},
        ${bare(progress)} = ${after === null ? row.progress : JSON.stringify(after)} where ${isIt}`,
      ...(events.length > 0 ? appendStatements(events, now) : []),
    ])
    await wakeAppended(
      system,
      shard,
      results.slice(2).flatMap((result) => result.results),
    )
    return isLeft
  } catch (error) {
    // Another worker was faster, or another run has ended.
    if (isGuardViolation(error, 'new_documents.version')) return true
    throw error
  }
}

/** The next events, and the progress behind them; null while the organization may not read the RFC: the next run tells of it. */
async function nextEvents(system: System, row: Row): Promise<{ events: NewEvent[]; after: Progress | null }> {
  const reader = await readerOf(system, { id: row.organization_id }, idOfUuid('fe', row.fiscal_entity))
  if (!reader || !isReadable(reader.connection)) return { events: [], after: null }
  const ledger = openLedger({ settings: system.settings, ...reader })
  const before = JSON.parse(row.progress) as Progress
  const round = before.round ?? (await beginRound(ledger, before))
  const found: { uuid: string; direction: 0 | 1; type: string }[] = []
  for (let pages = 0; round.leg < round.legs.length && found.length < DOCUMENTS && pages < PAGES; pages++) {
    const page = await readLeg(ledger, round.legs[round.leg]!, round.place)
    for (const { row: it } of page.found) found.push({ uuid: it.uuid, direction: it.direction, type: it.tipo_comprobante ?? 'retenciones' })
    if (page.instead) round.legs[round.leg] = page.instead
    else if (page.next === null) round.leg++
    round.place = page.next
  }
  // What is hidden in the meantime is new when it is shown again.
  const to = { ...round.to, windows: intersectionOf(round.to.windows!, ledger.windows) }
  const { sequence, windows, all_until } = to
  const after = round.leg < round.legs.length ? { ...before, round: { ...round, to } } : { sequence, windows, all_until }
  const groups = [...Map.groupBy(found, ({ direction, type }) => `${direction}${type}`).values()]
  const head = { occurred_at: clock.date().toISOString(), fiscal_entity_id: row.fiscal_entity, rfc: ledger.rfc, run_id: row.run_id }
  const events = groups.flatMap((group) =>
    Array.from({ length: Math.ceil(group.length / PAGE) }, (_, n) => {
      const event_id = newId('evt')
      const [{ direction, type }] = group as [(typeof found)[number]]
      const uuids = group.slice(n * PAGE, (n + 1) * PAGE).map(({ uuid }) => uuid)
      const members = { ...head, direction: DIRECTION_NAMES[direction], cfdi_type: type, uuids }
      const body = JSON.stringify({ event: 'cfdi.new', event_id, ...members })
      return { organization_id: row.organization_id, event_id, body, isUnique: false }
    }),
  )
  return { events, after }
}

async function beginRound({ d1, entity, windows }: ScopedLedger, { since, ...done }: Progress) {
  const last = async (until: number) => (await lastCommits(d1, [entity], until)).get(entity) ?? 0
  const sequence = done.sequence ?? (await last(since! - 1))
  const wasEverything = done.windows !== null && isEverything(done.windows) && !isEverything(windows)
  const told: Copied = {
    ...{ sequence, import_sequence: 0, all_until: wasEverything ? sequence : done.all_until },
    windows: done.windows && intersectionOf(done.windows, windows),
  }
  const { legs, to } = legsTo(told, { sequence: await last(Number.MAX_SAFE_INTEGER), import_sequence: 0, windows })
  return { to, legs: legs.map((leg): Leg => ({ ...leg, isNew: true })), leg: 0, place: null as Place }
}
