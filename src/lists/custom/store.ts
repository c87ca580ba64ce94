import { type SQL, sql } from 'drizzle-orm'
import { insertion } from '../../platform/db/statement.ts'
import { blacklistChanges, blacklistEntries, type ListState, blacklistLists as lists } from '../tables.ts'

/** The organization's own lists, by source. */
export const findCustomLists = (organization_id: string): SQL<ListState> =>
  sql<ListState>`select * from ${lists} where ${lists.organization_id} = ${organization_id} order by ${lists.source}`

/** Creates an empty list without changes to report. Refuses its batch with a unique violation when it exists. */
export const insertCustomList = (organization_id: string, source: string, label: string, now: number): SQL =>
  insertion(lists, { organization_id, source, version: 1, notified_version: 1, label, fetched_at: now, row_count: 0 })

/** Deletes a list with its entries and changes. */
export const deleteCustomList = (organization_id: string, source: string): SQL[] =>
  [blacklistEntries, blacklistChanges, lists].map(
    (table) => sql`delete from ${table} where ${table.organization_id} = ${organization_id} and ${table.source} = ${source}`,
  )

/** Selects the number of the organization's own lists. */
export const listsUsed = (organization_id: string): SQL =>
  sql`select count(*) from ${lists} where ${lists.organization_id} = ${organization_id}`

/** Selects the number of RFCs on the organization's own lists, except for one. */
export const entriesUsed = (organization_id: string, except = ''): SQL =>
  sql`select coalesce(sum(${lists.row_count}), 0) from ${lists}
    where ${lists.organization_id} = ${organization_id} and ${lists.source} <> ${except}`
