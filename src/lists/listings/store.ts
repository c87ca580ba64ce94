import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { commit, jsonChunks, type Statement } from '../../platform/db/commit.ts'
import { PUBLIC } from '../catalog.ts'
import { blacklistEntries, blacklistLists, type ListState } from '../tables.ts'

const [e, l] = [alias(blacklistEntries, 'e'), alias(blacklistLists, 'l')]

export type FoundRow = Pick<typeof blacklistEntries.$inferSelect, 'organization_id' | 'source' | 'rfc' | 'name' | 'history' | 'seen_on'>

/**
 * Returns the loaded lists that an organization can see, public ones and its own, and their entries of the RFCs, in one round trip. Reads
 * one row per list and RFC, and never the lists of other organizations. The round trip also runs the caller's statements `more`: `rest`.
 */
export async function findEntries(
  d1: D1Database,
  organization_id: string,
  rfcs: readonly string[],
  sources: readonly string[] | null,
  more: readonly Statement[] = [],
): Promise<{ lists: ListState[]; found: FoundRow[]; rest: unknown[][] }> {
  const filter = sources && JSON.stringify(sources)
  const isVisible = sql`${l.organization_id} in (${PUBLIC}, ${organization_id}) and ${l.version} > 0
    and (${filter} is null or ${l.source} in (select value from json_each(${filter})))`
  const chunks = jsonChunks(rfcs)
  const [lists, ...results] = await commit(d1, [
    sql`select * from ${blacklistLists} ${l} where ${isVisible} order by ${l.organization_id}, ${l.source}`,
    ...chunks.map(
      (json) => sql`select ${e.organization_id}, ${e.source}, ${e.rfc}, ${e.name}, ${e.history}, ${e.seen_on}
        from ${blacklistLists} ${l} cross join json_each(${json}) j
        cross join ${blacklistEntries} ${e} on ${e.organization_id} = ${l.organization_id}
          and ${e.source} = ${l.source} and ${e.rfc} = j.value
        where ${isVisible}`,
    ),
    ...more,
  ])
  const found = results.slice(0, chunks.length)
  return {
    lists: lists!.results as unknown as ListState[],
    found: found.flatMap((one) => one.results as unknown as FoundRow[]),
    rest: results.slice(chunks.length).map((one) => one.results),
  }
}
