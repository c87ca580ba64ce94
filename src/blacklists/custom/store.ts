import { type SQL, sql } from 'drizzle-orm'
import { prepared } from '../../platform/db/statement.ts'
import type { ListState } from '../tables.ts'

/** The organization's own lists, by source. */
export const findCustomLists = async (d1: D1Database, organization_id: string): Promise<ListState[]> =>
  (await prepared(d1, sql`select * from blacklist_lists where organization_id = ${organization_id} order by source`).all<ListState>())
    .results

/** Creates an empty list, of which there is nothing to tell. Refuses its batch with a unique violation when it exists. */
export const insertCustomList = (
  d1: D1Database,
  organization_id: string,
  source: string,
  label: string,
  now: number,
): D1PreparedStatement =>
  prepared(
    d1,
    sql`insert into blacklist_lists (organization_id, source, version, told_version, label, fetched_at, row_count)
      values (${organization_id}, ${source}, 1, 1, ${label}, ${now}, 0)`,
  )

/** Deletes a list with its entries and changes. */
export const deleteCustomList = (d1: D1Database, organization_id: string, source: string): D1PreparedStatement[] =>
  ['blacklist_entries', 'blacklist_changes', 'blacklist_lists'].map((table) =>
    d1.prepare(`delete from ${table} where organization_id = ?1 and source = ?2`).bind(organization_id, source),
  )

/** Selects the number of the organization's own lists. */
export const listsUsed = (organization_id: string): SQL =>
  sql`select count(*) from blacklist_lists where organization_id = ${organization_id}`

/** Selects the number of RFCs on the organization's own lists, except for one. */
export const entriesUsed = (organization_id: string, except = ''): SQL =>
  sql`select coalesce(sum(row_count), 0) from blacklist_lists where organization_id = ${organization_id} and source <> ${except}`
