import { sql } from 'drizzle-orm'
import { assertThat } from '../../platform/db/guard.ts'
import { prepared } from '../../platform/db/statement.ts'
import type { Day } from '../../platform/time/calendar.ts'
import type { importTotals, importUsage } from './tables.ts'

export type ImportTotals = typeof importTotals.$inferSelect
export type OpenUsage = Pick<typeof importUsage.$inferSelect, 'import_id' | 'organization_id' | 'shard'>

/** The limits of a number in all and of one day; null is without limit. */
export interface Room {
  limit: number | null
  daily: number | null
}

export const findTotals = (d1: D1Database, organization_id: string): Promise<ImportTotals | null> =>
  prepared(d1, sql`select * from import_totals where organization_id = ${organization_id}`).first<ImportTotals>()

/** Makes the totals of the organization those of this day. A day that is over by now changes nothing. */
const beginDay = (d1: D1Database, organization_id: string, day: Day): D1PreparedStatement =>
  prepared(
    d1,
    sql`insert into import_totals (organization_id, bytes, documents, day, day_bytes, day_documents) values (${organization_id}, 0, 0, ${day}, 0, 0)
      on conflict do update set day = excluded.day, day_bytes = 0, day_documents = 0 where import_totals.day < excluded.day`,
  )

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
      sql`${most} is null or (select ${sql.raw(column)} from import_totals where organization_id = ${organization_id}) + ${bytes} <= ${most}`,
      `import.${column}`,
    )
  return [
    beginDay(d1, organization_id, day),
    fits('bytes', limit),
    fits('day_bytes', daily),
    prepared(
      d1,
      sql`update import_totals set bytes = bytes + ${bytes}, day_bytes = day_bytes + ${bytes} where organization_id = ${organization_id}`,
    ),
    prepared(
      d1,
      sql`insert into import_usage (import_id, organization_id, shard, bytes, documents, counted, is_open, created_at)
        values (${import_id}, ${organization_id}, ${shard}, ${bytes}, 0, 0, 1, ${created_at})`,
    ),
  ]
}

/** Gives back everything that an import uses in all, once. */
export const giveBack = (d1: D1Database, import_id: string): D1PreparedStatement[] => [
  prepared(
    d1,
    sql`update import_totals set bytes = import_totals.bytes - u.bytes, documents = import_totals.documents - u.counted from import_usage u
      where u.import_id = ${import_id} and import_totals.organization_id = u.organization_id`,
  ),
  prepared(d1, sql`delete from import_usage where import_id = ${import_id}`),
]

/** Adds to the totals what has changed in the documents of imports; to those of the day, too, when they are of that day. */
const countDocuments = (d1: D1Database, organization_id: string, import_ids: readonly string[], day: Day | null): D1PreparedStatement[] => {
  const ids = JSON.stringify(import_ids)
  const change = sql`(select coalesce(sum(u.documents - u.counted), 0) from json_each(${ids}) j cross join import_usage u on u.import_id = j.value)`
  return [
    prepared(
      d1,
      sql`update import_totals set documents = documents + ${change},
          day_documents = iif(day = ${day}, max(0, day_documents + ${change}), day_documents) where organization_id = ${organization_id}`,
    ),
    prepared(d1, sql`update import_usage set counted = documents where import_id in (select value from json_each(${ids}))`),
  ]
}

/**
 * Takes room for an import to have this many documents, or for as many as there is room. Returns in the second result how many it may have:
 * `documents` of the only row. It may lose places that it does not need.
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
    sql`update import_usage set documents = min(${wanted}, import_usage.documents + max(0, min(
        coalesce(${limit} - t.documents, ${wanted}), coalesce(${daily} - iif(t.day = ${day}, t.day_documents, 0), ${wanted}))))
      from import_totals t where t.organization_id = import_usage.organization_id and import_usage.import_id = ${import_id}
      returning documents`,
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
    sql`update import_usage set documents = j.documents, is_open = iif(${areCompleted ? 1 : 0}, 0, is_open)
      from (select value->>0 as id, value->>1 as documents from json_each(${JSON.stringify([...documents])})) j where import_id = j.id`,
  ),
  ...countDocuments(d1, organization_id, [...documents.keys()], null),
]

/** Returns uploads from before an instant, in milliseconds, that are not completed. */
export const listOpen = async (d1: D1Database, before: number, limit: number): Promise<OpenUsage[]> =>
  (
    await prepared(
      d1,
      sql`select import_id, organization_id, shard from import_usage indexed by import_usage_open
        where is_open = 1 and created_at < ${before} order by created_at limit ${limit}`,
    ).all<OpenUsage>()
  ).results
