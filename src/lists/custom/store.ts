import { type SQL, sql } from 'drizzle-orm'
import { bare, prepared } from '../../platform/db/statement.ts'
import { blacklistChanges, blacklistEntries, type ListState, blacklistLists as lists } from '../tables.ts'

/** The organization's own lists, by source. */
export const findCustomLists = async (d1: D1Database, organization_id: string): Promise<ListState[]> =>
  (
    await prepared(
      d1,
      sql`select * from ${lists} where ${lists.organization_id} = ${organization_id} order by ${lists.source}`,
    ).all<ListState>()
  ).results

/** Creates an empty list without changes to report. Refuses its batch with a unique violation when it exists. */
export const insertCustomList = (
  d1: D1Database,
  organization_id: string,
  source: string,
  label: string,
  now: number,
): D1PreparedStatement =>
  prepared(
    d1,
    sql`insert into ${lists} ${[
      ...[lists.organization_id, lists.source, lists.version, lists.notified_version],
      ...[lists.label, lists.fetched_at, lists.row_count],
    ].map(bare)}
      values (${organization_id}, ${source}, 1, 1, ${label}, ${now}, 0)`,
  )

/** Deletes a list with its entries and changes. */
export const deleteCustomList = (d1: D1Database, organization_id: string, source: string): D1PreparedStatement[] =>
  [blacklistEntries, blacklistChanges, lists].map((table) =>
    prepared(d1, sql`delete from ${table} where ${table.organization_id} = ${organization_id} and ${table.source} = ${source}`),
  )

/** Selects the number of the organization's own lists. */
export const listsUsed = (organization_id: string): SQL =>
  sql`select count(*) from ${lists} where ${lists.organization_id} = ${organization_id}`

/** Selects the number of RFCs on the organization's own lists, except for one. */
export const entriesUsed = (organization_id: string, except = ''): SQL =>
  sql`select coalesce(sum(${lists.row_count}), 0) from ${lists}
    where ${lists.organization_id} = ${organization_id} and ${lists.source} <> ${except}`
