import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { Statement } from '../../../platform/db/commit.ts'
import { assertThat } from '../../../platform/db/guard.ts'
import { bare, readFirst, readRows } from '../../../platform/db/statement.ts'
import type { Day } from '../../../platform/time/calendar.ts'
import type { Room } from '../../ingest/ingest.ts'
import { importTotals as totals, importUsage as usages } from './tables.ts'

export type ImportTotals = typeof totals.$inferSelect
export type OpenUsage = Pick<typeof usages.$inferSelect, 'import_id' | 'organization_id' | 'shard'>

const t = alias(totals, 't')
const u = alias(usages, 'u')
const [BYTES, DOCUMENTS, DAY] = [bare(totals.bytes), bare(totals.documents), bare(totals.day)]
const [DAY_BYTES, DAY_DOCUMENTS, LAST_TURN] = [bare(totals.day_bytes), bare(totals.day_documents), bare(totals.last_turn)]

/** The limits of a number in all and of one day; null is without limit. */
export interface UsageLimit {
  limit: number | null
  daily: number | null
}

export const findTotals = (d1: D1Database, organization_id: string): Promise<ImportTotals | null> =>
  readFirst(d1, sql<ImportTotals>`select * from ${totals} where ${totals.organization_id} = ${organization_id}`)

/** Makes the totals of the organization those of this day. A day that is over by now changes nothing. */
const beginDay = (organization_id: string, day: Day): SQL =>
  sql`insert into ${totals} (${bare(totals.organization_id)}, ${BYTES}, ${DOCUMENTS}, ${DAY}, ${DAY_BYTES}, ${DAY_DOCUMENTS}, ${LAST_TURN})
      values (${organization_id}, 0, 0, ${day}, 0, 0, 0)
      on conflict do update set ${DAY} = excluded.${DAY}, ${DAY_BYTES} = 0, ${DAY_DOCUMENTS} = 0 where ${totals.day} < excluded.${DAY}`

const USAGE = [
  ...[usages.import_id, usages.organization_id, usages.shard, usages.bytes, usages.documents, usages.counted_bytes, usages.counted],
  ...[usages.is_open, usages.turn_until, usages.created_at],
].map(bare)

/** Takes room for the bytes of an upload. Its guards are `import.bytes` and `import.day_bytes`. */
export const takeBytes = (
  usage: { import_id: string; organization_id: string; shard: number; bytes: number; created_at: number },
  { limit, daily, day }: UsageLimit & { day: Day },
): Statement[] => {
  const { import_id, organization_id, shard, bytes, created_at } = usage
  const fits = (column: 'bytes' | 'day_bytes', most: number | null) =>
    assertThat(
      sql`${most} is null or (select ${totals[column]} from ${totals} where ${totals.organization_id} = ${organization_id}) + ${bytes} <= ${most}`,
      `import.${column}`,
    )
  return [
    beginDay(organization_id, day),
    fits('bytes', limit),
    fits('day_bytes', daily),
    sql`update ${totals} set ${BYTES} = ${totals.bytes} + ${bytes}, ${DAY_BYTES} = ${totals.day_bytes} + ${bytes}
        where ${totals.organization_id} = ${organization_id}`,
    sql`insert into ${usages} ${USAGE}
        values (${import_id}, ${organization_id}, ${shard}, ${bytes}, 0, ${bytes}, 0, 1, 0, ${created_at})`,
  ]
}

/** Gives back everything that an import uses in all, once. */
export const giveBack = (import_id: string): SQL[] => [
  sql`update ${totals} set ${BYTES} = ${totals.bytes} - ${u.counted_bytes}, ${DOCUMENTS} = ${totals.documents} - ${u.counted}
      from ${usages} ${u}
      where ${u.import_id} = ${import_id} and ${totals.organization_id} = ${u.organization_id}`,
  sql`delete from ${usages} where ${usages.import_id} = ${import_id}`,
]

/** Adds the changes in the usage of imports to the totals, and to those of the day when they are of that day. */
const countUsage = (organization_id: string, import_ids: readonly string[], day: Day | null): SQL[] => {
  const ids = JSON.stringify(import_ids)
  const change = (
    used: 'bytes' | 'documents',
    counted: 'counted_bytes' | 'counted',
  ) => sql`(select coalesce(sum(${u[used]} - ${u[counted]}), 0)
    from json_each(${ids}) j cross join ${usages} ${u} on ${u.import_id} = j.value)`
  const [bytes, documents] = [change('bytes', 'counted_bytes'), change('documents', 'counted')]
  const ofDay = (column: 'day_bytes' | 'day_documents', more: SQL) =>
    sql`${bare(totals[column])} = iif(${totals.day} = ${day}, max(0, ${totals[column]} + ${more}), ${totals[column]})`
  return [
    sql`update ${totals} set ${BYTES} = ${totals.bytes} + ${bytes}, ${DOCUMENTS} = ${totals.documents} + ${documents},
          ${ofDay('day_bytes', bytes)}, ${ofDay('day_documents', documents)}
        where ${totals.organization_id} = ${organization_id}`,
    sql`update ${usages} set ${bare(usages.counted_bytes)} = ${usages.bytes}, ${bare(usages.counted)} = ${usages.documents}
        where ${usages.import_id} in (select value from json_each(${ids}))`,
  ]
}

/**
 * Takes room for an import to have so many documents and bytes, or for as many as there is room. Returns in the second result how many it may
 * have, in the only row. It may lose what it does not need.
 */
export const takeRoom = (
  { import_id, organization_id }: { import_id: string; organization_id: string },
  wanted: Room,
  limits: Record<keyof Room, UsageLimit>,
  day: Day,
): SQL[] => {
  const within = (what: keyof Room) => {
    const { limit, daily } = limits[what]
    const today = sql`iif(${t.day} = ${day}, ${what === 'bytes' ? t.day_bytes : t.day_documents}, 0)`
    return sql`min(${wanted[what]}, ${usages[what]} + max(0, min(
        coalesce(${limit} - ${t[what]}, ${wanted[what]}), coalesce(${daily} - ${today}, ${wanted[what]}))))`
  }
  return [
    beginDay(organization_id, day),
    // The bytes of the upload stay taken until the import is completed.
    sql`update ${usages} set ${bare(usages.documents)} = ${within('documents')}, ${bare(usages.bytes)} = max(${usages.bytes}, ${within('bytes')})
        from ${totals} ${t} where ${t.organization_id} = ${usages.organization_id} and ${usages.import_id} = ${import_id}
        returning ${bare(usages.documents)}, ${bare(usages.bytes)}`,
    ...countUsage(organization_id, [import_id], day),
  ]
}

/** Sets what imports of an organization use, beside any limit, and for completed ones that they are. */
export const setUsage = (organization_id: string, used: ReadonlyMap<string, Partial<Room>>, areCompleted: boolean): SQL[] => [
  sql`update ${usages} set ${bare(usages.documents)} = coalesce(j.documents, ${usages.documents}),
        ${bare(usages.bytes)} = coalesce(j.bytes, ${usages.bytes}), ${bare(usages.is_open)} = iif(${areCompleted ? 1 : 0}, 0, ${usages.is_open})
      from (select value->>0 as id, value->>1 as documents, value->>2 as bytes
        from json_each(${JSON.stringify([...used].map(([id, { documents, bytes }]) => [id, documents, bytes]))})) j where ${usages.import_id} = j.id`,
  ...countUsage(organization_id, [...used.keys()], null),
]

const WAITING = sql`${usages} indexed by import_usage_turns where ${usages.is_open} = 1`

/**
 * Takes the oldest import that waits, of the organization that waits for the longest time since its last turn, until an instant. Seeks two
 * entries of an index for each organization with imports that are not completed.
 */
export const takeTurn = (now: number, until: number): SQL =>
  sql`with recursive waiting (id) as (
        select min(${usages.organization_id}) from ${WAITING}
        union all select (select min(${usages.organization_id}) from ${WAITING} and ${usages.organization_id} > id) from waiting where id is not null)
      update ${usages} set ${bare(usages.turn_until)} = ${until} where ${usages.import_id} = (
        select next from (
          select (select ${usages.import_id} from ${WAITING} and ${usages.organization_id} = id and ${usages.turn_until} < ${now}
              order by ${usages.created_at} limit 1) as next,
            (select ${totals.last_turn} from ${totals} where ${totals.organization_id} = id) as last_turn
          from waiting where id is not null)
        where next is not null order by last_turn, next limit 1)
      returning ${bare(usages.import_id)}, ${bare(usages.organization_id)}, ${bare(usages.shard)}`

export const noteTurn = (organization_id: string, now: number): SQL =>
  sql`update ${totals} set ${LAST_TURN} = ${now} where ${totals.organization_id} = ${organization_id}`

/** Ends the turn of an import: it may have another one from an instant on. */
export const endTurn = (import_id: string, until: number): SQL =>
  sql`update ${usages} set ${bare(usages.turn_until)} = ${until} where ${usages.import_id} = ${import_id}`

/** An import that was completed is to be worked on once more. */
export const reopen = (import_id: string): SQL =>
  sql`update ${usages} set ${bare(usages.is_open)} = 1, ${bare(usages.turn_until)} = 0 where ${usages.import_id} = ${import_id}`

/** Whether an import is to be worked on. `is_waiting` of the only row; no row for an import that uses nothing. */
export const selectWaiting = (import_id: string): SQL<{ is_waiting: number }> =>
  sql`select ${usages.is_open} as is_waiting from ${usages} where ${usages.import_id} = ${import_id}`

/** Whether another organization waits for its turn. */
export const isAnotherWaiting = async (d1: D1Database, organization_id: string, now: number): Promise<boolean> => {
  const waiting = (side: SQL) =>
    sql`exists (select 1 from ${WAITING} and ${usages.organization_id} ${side} and ${usages.turn_until} < ${now})`
  const found = await readFirst<{ is_waiting: number }>(
    d1,
    sql`select ${waiting(sql`< ${organization_id}`)} or ${waiting(sql`> ${organization_id}`)} as is_waiting`,
  )
  return found?.is_waiting === 1
}

/** Returns uploads from before an instant, in milliseconds, that are not completed. */
export const listOpen = (d1: D1Database, before: number, limit: number): Promise<OpenUsage[]> =>
  readRows(
    d1,
    sql<OpenUsage>`select ${usages.import_id}, ${usages.organization_id}, ${usages.shard} from ${usages} indexed by import_usage_open
        where ${usages.is_open} = 1 and ${usages.created_at} < ${before} order by ${usages.created_at} limit ${limit}`,
  )
