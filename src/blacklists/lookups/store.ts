import { EVERYBODY } from '../catalog.ts'
import type { blacklistEntries, ListState } from '../tables.ts'

export type FoundRow = Pick<typeof blacklistEntries.$inferSelect, 'organization_id' | 'source' | 'rfc' | 'name' | 'history' | 'seen_on'>

/**
 * The lists that an organization may see, everybody's and its own, and what they say of RFCs, in one round trip: of each list a row is
 * read for each RFC asked and one for each hit. Through the lists: what other organizations list is not read.
 */
export async function lookUp(
  d1: D1Database,
  organization_id: string,
  rfcs: readonly string[],
  sources: readonly string[] | null,
): Promise<{ lists: ListState[]; found: FoundRow[] }> {
  const isAsked = `l.organization_id in (?1, ?2) and l.version > 0 and (?3 is null or l.source in (select value from json_each(?3)))`
  const given = [EVERYBODY, organization_id, sources && JSON.stringify(sources)]
  const [lists, found] = await d1.batch([
    d1.prepare(`select * from blacklist_lists l where ${isAsked} order by l.organization_id, l.source`).bind(...given),
    d1
      .prepare(
        `select e.organization_id, e.source, e.rfc, e.name, e.history, e.seen_on
         from blacklist_lists l cross join json_each(?4) j
         cross join blacklist_entries e on e.organization_id = l.organization_id and e.source = l.source and e.rfc = j.value
         where ${isAsked}`,
      )
      .bind(...given, JSON.stringify(rfcs)),
  ])
  return { lists: lists!.results as unknown as ListState[], found: found!.results as unknown as FoundRow[] }
}
