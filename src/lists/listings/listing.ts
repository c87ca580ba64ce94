import { labelOf, type Severity, type Situacion, severityOf } from '../catalog.ts'
import { type ListingStep, listingStatus } from '../listing-status.ts'
import type { ListState } from '../tables.ts'
import type { FoundRow } from './store.ts'

/** A taxpayer on a list, on the day for which it was looked up. Days are `YYYY-MM-DD`. */
export interface Listing {
  rfc: string
  source: string
  list_label: string
  /** Null on lists without situations. */
  situacion: Situacion | null
  severity: Severity
  name: string
  is_active: boolean
  published_sat_at: string | null
  published_dof_at: string | null
  since: string | null
  until: string | null
  oficio: string | null
  /** The steps that had been published by the day, the latest last. */
  history: ListingStep[]
}

type StoredStep = [ListingStep['situacion'], ...(string | null)[]]

/** Parses the `history` column. */
export const historyOf = (json: string): ListingStep[] =>
  (JSON.parse(json) as StoredStep[]).map(([situacion, sat_at = null, dof_at = null, oficio = null]) => ({
    situacion,
    sat_at,
    dof_at,
    oficio,
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
