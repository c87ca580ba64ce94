import { jsonChunks } from '../../platform/db/commit.ts'
import { PUBLIC } from '../catalog.ts'
import type { blacklistEntries, ListState } from '../tables.ts'

export type FoundRow = Pick<typeof blacklistEntries.$inferSelect, 'organization_id' | 'source' | 'rfc' | 'name' | 'history' | 'seen_on'>

/**
 * Returns the loaded lists that an organization can see, public ones and its own, and their entries of the RFCs, in one round trip. Reads
 * one row per list and RFC, and never the lists of other organizations. It runs `more` statements of the caller on the way: `rest`.
 */
export async function findEntries(
  d1: D1Database,
  organization_id: string,
  rfcs: readonly string[],
  sources: readonly string[] | null,
  more: readonly D1PreparedStatement[] = [],
): Promise<{ lists: ListState[]; found: FoundRow[]; rest: unknown[][] }> {
  const isVisible = `l.organization_id in (?1, ?2) and l.version > 0 and (?3 is null or l.source in (select value from json_each(?3)))`
  const bound = [PUBLIC, organization_id, sources && JSON.stringify(sources)]
  const chunks = jsonChunks(rfcs)
  const [lists, ...results] = await d1.batch([
    d1.prepare(`select * from blacklist_lists l where ${isVisible} order by l.organization_id, l.source`).bind(...bound),
    ...chunks.map((json) =>
      d1
        .prepare(
          `select e.organization_id, e.source, e.rfc, e.name, e.history, e.seen_on
           from blacklist_lists l cross join json_each(?4) j
           cross join blacklist_entries e on e.organization_id = l.organization_id and e.source = l.source and e.rfc = j.value
           where ${isVisible}`,
        )
        .bind(...bound, json),
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
