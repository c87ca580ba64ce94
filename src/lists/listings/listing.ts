import type { Database, Statement } from '../../platform/db/commit.ts'
import { type ListingStep, labelOf, listingStatus, severityOf } from '../catalog.ts'
import type { BlacklistHit } from '../lookups/contract.ts'
import type { ListState } from '../tables.ts'
import { type FoundRow, findEntries } from './store.ts'

/** A taxpayer on a list, on the day for which it was looked up. Days are `YYYY-MM-DD`. */
export type Listing = Omit<BlacklistHit, 'history_cut'>

type StoredStep = [ListingStep['situacion'], ...(string | null)[]]

/** Parses the `history` column. */
export const historyOf = (json: string): ListingStep[] =>
  (JSON.parse(json) as StoredStep[]).map(([situacion, sat_at = null, dof_at = null, oficio = null]) => ({
    ...{ situacion, sat_at, dof_at, oficio },
  }))

/** Returns the listing of a list's row; null when nothing had been published by the day `as_of`. */
function listingOf({ source, label }: ListState, row: FoundRow, as_of: string | null): Listing | null {
  const status = listingStatus(historyOf(row.history), row.seen_on, as_of)
  if (status === null) return null
  const { step, ...members } = status
  const situacion = step?.situacion ?? null
  return {
    rfc: row.rfc,
    source,
    list_label: labelOf(source, label),
    situacion,
    severity: severityOf(source, situacion),
    name: row.name,
    published_sat_at: step?.sat_at ?? null,
    published_dof_at: step?.dof_at ?? null,
    oficio: step?.oficio ?? null,
    ...members,
  }
}

const keyOf = ({ organization_id, source }: Pick<FoundRow, 'organization_id' | 'source'>): string => `${organization_id} ${source}`

/** Groups the listings of rows by RFC, in the order of the lists. */
export function listingsOf(lists: readonly ListState[], found: readonly FoundRow[], as_of: string | null): Map<string, Listing[]> {
  const rows = Map.groupBy(found, keyOf)
  const listings = new Map<string, Listing[]>()
  for (const list of lists)
    for (const row of rows.get(keyOf(list)) ?? []) {
      const listing = listingOf(list, row, as_of)
      if (listing) listings.set(row.rfc, [...(listings.get(row.rfc) ?? []), listing])
    }
  return listings
}

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
 * null checks all that are loaded. `wasActiveOn` of a listing's history answers for further days without another call. The same call runs
 * `more`, statements of the caller.
 */
export async function listedAmong(
  { db, organization_id }: { db: Database; organization_id: string },
  rfcs: readonly string[],
  as_of: string | null,
  sources: readonly string[] | null = null,
  more: readonly Statement[] = [],
): Promise<ListedAmong> {
  const { lists, found, rest } = await findEntries(db.$client, organization_id, [...new Set(rfcs)], sources, more)
  return {
    checked: lists.map(({ source, list_date }) => ({ source, list_updated_at: list_date })),
    listings: listingsOf(lists, found, as_of),
    rest,
  }
}
