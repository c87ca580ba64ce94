import { isCustom, SEVERITIES } from '../../lists/catalog.ts'
import { listedAmong } from '../../lists/listings/listed-among.ts'
import type { Listing } from '../../lists/listings/listing.ts'
import type { Ctx } from '../../platform/context.ts'
import type { WorstListing } from './contract.ts'

const severity = (listing: Listing): number => SEVERITIES.indexOf(listing.severity)

const own = ({ source }: Listing): number => Number(isCustom(source))

/** The most severe of the active listings of a taxpayer; of equal ones a public list before an own one, then the first by source. */
export function worstOf(listings: readonly Listing[] = []): WorstListing {
  const [worst] = listings
    .filter(({ is_active }) => is_active)
    .sort((a, b) => severity(b) - severity(a) || own(a) - own(b) || (a.source < b.source ? -1 : 1))
  return worst ? { source: worst.source, situacion: worst.situacion } : null
}

/** Finds the most severe active listing of each of these RFCs today. One call to the control database, none without RFCs. */
export async function worstListings({ db, organization }: Ctx, rfcs: readonly string[]): Promise<Map<string, WorstListing>> {
  if (rfcs.length === 0) return new Map()
  const { listings } = await listedAmong({ db, organization_id: organization.id }, rfcs, null)
  return new Map([...listings].map(([rfc, some]) => [rfc, worstOf(some)]))
}
