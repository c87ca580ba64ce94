import type { Database } from '../../platform/db/commit.ts'
import { type Listing, listingsOf } from './listing.ts'
import { findEntries } from './store.ts'

/** The listings of RFCs on the loaded lists. */
export interface ListedAmong {
  /** Source and date of each list that was checked, in the order of its listings. A list that is absent here was not checked. */
  checked: { source: string; list_updated_at: string | null }[]
  /** The listings of each RFC that is on a list, in the order of the lists, actively or not. An RFC without any is absent. */
  listings: Map<string, Listing[]>
  /** The rows of each statement of the caller. */
  rest: unknown[][]
}

/**
 * Finds which of these RFCs are on the public lists and on the organization's own, with their dated history: as of the end of a day,
 * `YYYY-MM-DD`, or now when it is null. Takes any number of RFCs, and one call to the control database. `sources` names the lists to check;
 * null checks all that are loaded. `wasActiveOn` of a listing's history answers for further days without another call. Statements
 * of the caller on the control database ride along, `more`.
 */
export async function listedAmong(
  { db, organization_id }: { db: Database; organization_id: string },
  rfcs: readonly string[],
  as_of: string | null,
  sources: readonly string[] | null = null,
  more: readonly D1PreparedStatement[] = [],
): Promise<ListedAmong> {
  const { lists, found, rest } = await findEntries(db.$client, organization_id, [...new Set(rfcs)], sources, more)
  return {
    checked: lists.map(({ source, list_date }) => ({ source, list_updated_at: list_date })),
    listings: listingsOf(lists, found, as_of),
    rest,
  }
}
