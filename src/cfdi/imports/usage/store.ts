import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { assertThat } from '../../../platform/db/guard.ts'
import { bare, prepared } from '../../../platform/db/statement.ts'
import type { Day } from '../../../platform/time/calendar.ts'
import { importTotals as totals, importUsage as usages } from './tables.ts'

export type ImportTotals = typeof totals.$inferSelect
export type OpenUsage = Pick<typeof usages.$inferSelect, 'import_id' | 'organization_id' | 'shard'>

const t = alias(totals, 't')
const u = alias(usages, 'u')
const [BYTES, DOCUMENTS, DAY] = [bare(totals.bytes), bare(totals.documents), bare(totals.day)]
const [DAY_BYTES, DAY_DOCUMENTS] = [bare(totals.day_bytes), bare(totals.day_documents)]

/** The limits of a number in all and of one day; null is without limit. */
export interface Room {
  limit: number | null
  daily: number | null
}

export const findTotals = (d1: D1Database, organization_id: string): Promise<ImportTotals | null> =>
  prepared(d1, sql`select * from ${totals} where ${totals.organization_id} = ${organization_id}`).first<ImportTotals>()

/** Makes the totals of the organization those of this day. A day that is over by now changes nothing. */
const beginDay = (d1: D1Database, organization_id: string, day: Day): D1PreparedStatement =>
  prepared(
    d1,
    sql`insert into ${totals} (${bare(totals.organization_id)}, ${BYTES}, ${DOCUMENTS}, ${DAY}, ${DAY_BYTES}, ${DAY_DOCUMENTS})
      values (${organization_id}, 0, 0, ${day}, 0, 0)
      on conflict do update set ${DAY} = excluded.${DAY}, ${DAY_BYTES} = 0, ${DAY_DOCUMENTS} = 0 where ${totals.day} < excluded.${DAY}`,
  )

const USAGE = [
  ...[usages.import_id, usages.organization_id, usages.shard, usages.bytes, usages.documents, usages.counted, usages.is_open],
  usages.created_at,
].map(bare)

/** Takes room for the bytes of an upload. Its guards are `import.bytes` and `import.day_bytes`. */
export const takeBytes = (
  d1: D1Database,
  usage: { import_id: string; organization_id: string; shard: number; bytes: number; created_at: number },
  { limit, daily, day }: Room & { day: Day },
): D1PreparedStatement[] => {
  const { import_id, organization_id, shard, bytes, created_at } = usage
  const fits = (column: 'bytes' | 'day_bytes', most: number | null) =>
    assertThat(
      d1,
      sql`${most} is null or (select ${totals[column]} from ${totals} where ${totals.organization_id} = ${organization_id}) + ${bytes} <= ${most}`,
      `import.${column}`,
    )
  return [
    beginDay(d1, organization_id, day),
    fits('bytes', limit),
    fits('day_bytes', daily),
    prepared(
      d1,
      sql`update ${totals} set ${BYTES} = ${totals.bytes} + ${bytes}, ${DAY_BYTES} = ${totals.day_bytes} + ${bytes}
        where ${totals.organization_id} = ${organization_id}`,
    ),
    prepared(
      d1,
      sql`insert into ${usages} ${USAGE}
        values (${import_id}, ${organization_id}, ${shard}, ${bytes}, 0, 0, 1, ${created_at})`,
    ),
  ]
}

/** Gives back everything that an import uses in all, once. */
export const giveBack = (d1: D1Database, import_id: string): D1PreparedStatement[] => [
  prepared(
    d1,
    sql`update ${totals} set ${BYTES} = ${totals.bytes} - ${u.bytes}, ${DOCUMENTS} = ${totals.documents} - ${u.counted} from ${usages} ${u}
      where ${u.import_id} = ${import_id} and ${totals.organization_id} = ${u.organization_id}`,
  ),
  prepared(d1, sql`delete from ${usages} where ${usages.import_id} = ${import_id}`),
]

/** Adds the changes in the documents of imports to the totals, and to those of the day when they are of that day. */
const countDocuments = (d1: D1Database, organization_id: string, import_ids: readonly string[], day: Day | null): D1PreparedStatement[] => {
  const ids = JSON.stringify(import_ids)
  const change = sql`(select coalesce(sum(${u.documents} - ${u.counted}), 0)
    from json_each(${ids}) j cross join ${usages} ${u} on ${u.import_id} = j.value)`
  return [
    prepared(
      d1,
      sql`update ${totals} set ${DOCUMENTS} = ${totals.documents} + ${change},
          ${DAY_DOCUMENTS} = iif(${totals.day} = ${day}, max(0, ${totals.day_documents} + ${change}), ${totals.day_documents})
        where ${totals.organization_id} = ${organization_id}`,
    ),
    prepared(
      d1,
      sql`update ${usages} set ${bare(usages.counted)} = ${usages.documents} where ${usages.import_id} in (select value from json_each(${ids}))`,
    ),
  ]
}

/**
 * Takes room for an import to have this many documents, or for as many as there is room. Returns in the second result how many it may have:
 * `documents` of the only row. It may lose units that it does not need.
 */
export const takeDocuments = (
  d1: D1Database,
  { import_id, organization_id }: { import_id: string; organization_id: string },
  wanted: number,
  { limit, daily, day }: Room & { day: Day },
): D1PreparedStatement[] => [
  beginDay(d1, organization_id, day),
  prepared(
    d1,
    sql`update ${usages} set ${bare(usages.documents)} = min(${wanted}, ${usages.documents} + max(0, min(
        coalesce(${limit} - ${t.documents}, ${wanted}), coalesce(${daily} - iif(${t.day} = ${day}, ${t.day_documents}, 0), ${wanted}))))
      from ${totals} ${t} where ${t.organization_id} = ${usages.organization_id} and ${usages.import_id} = ${import_id}
      returning ${bare(usages.documents)}`,
  ),
  ...countDocuments(d1, organization_id, [import_id], day),
]

/** Sets how many documents imports of an organization have, beside any limit, and for completed ones that they are. */
export const setDocuments = (
  d1: D1Database,
  organization_id: string,
  documents: ReadonlyMap<string, number>,
  areCompleted: boolean,
): D1PreparedStatement[] => [
  prepared(
    d1,
    sql`update ${usages} set ${bare(usages.documents)} = j.documents, ${bare(usages.is_open)} = iif(${areCompleted ? 1 : 0}, 0, ${usages.is_open})
      from (select value->>0 as id, value->>1 as documents from json_each(${JSON.stringify([...documents])})) j where ${usages.import_id} = j.id`,
  ),
  ...countDocuments(d1, organization_id, [...documents.keys()], null),
]

/** Returns uploads from before an instant, in milliseconds, that are not completed. */
export const listOpen = async (d1: D1Database, before: number, limit: number): Promise<OpenUsage[]> =>
  (
    await prepared(
      d1,
      sql`select ${usages.import_id}, ${usages.organization_id}, ${usages.shard} from ${usages} indexed by import_usage_open
        where ${usages.is_open} = 1 and ${usages.created_at} < ${before} order by ${usages.created_at} limit ${limit}`,
    ).all<OpenUsage>()
  ).results
