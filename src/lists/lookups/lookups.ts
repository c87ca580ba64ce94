import type { Ctx } from '../../platform/context.ts'
import { clipped } from '../../platform/names/clipped.ts'
import { pastDay } from '../../platform/time/past-day.ts'
import { isRfc, normalRfc } from '../../taxpayers/rfc.ts'
import { highest, labelOf, PUBLIC } from '../catalog.ts'
import { refuseUnknownLists } from '../custom/known.ts'
import { listingsOf } from '../listings/listing.ts'
import { findEntries } from '../listings/store.ts'
import type { ListState } from '../tables.ts'
import type { BlacklistBatch, BlacklistItem, BlacklistLookup, CheckedSource, LookupBatch, LookupQuery } from './contract.ts'

/** The most characters that are repeated of a text that is no RFC. */
const SHOWN = 64

/** The authority publishes about once a month. */
const STALE_AFTER_MS = 60 * 86_400_000

const checkedSource = (list: ListState, now: Date): CheckedSource => ({
  source: list.source,
  list_label: labelOf(list.source, list.label),
  list_updated_at: list.list_date,
  fetched_at: list.fetched_at === null ? null : new Date(list.fetched_at).toISOString(),
  row_count: list.row_count,
  is_stale: list.organization_id === PUBLIC && now.getTime() - Date.parse(list.list_date ?? '1970-01-01') > STALE_AFTER_MS,
  refused:
    list.refused_code === null || list.refused_at === null
      ? null
      : { code: list.refused_code, detail: list.refused_detail ?? '', refused_at: new Date(list.refused_at).toISOString() },
})

/** Reads the lists. Returns the checked sources, and a function that returns the result of one of the RFCs. */
async function readLists({ db, organization, now }: Ctx, rfcs: readonly string[], as_of: string | null, sources: readonly string[] | null) {
  const { lists, found } = await findEntries(db.$client, organization.id, rfcs, sources)
  const listings = listingsOf(lists, found, as_of)
  return {
    checked_sources: lists.map((list) => checkedSource(list, now)),
    resultOf: (rfc: string) => {
      const hits = listings.get(rfc) ?? []
      return { rfc, is_listed: lists.length === 0 ? null : hits.length > 0, severity: highest(hits.map(({ severity }) => severity)), hits }
    },
  }
}

/** The day that is asked for, today included. */
function dayOf(ctx: Ctx, as_of: string | null | undefined): string | null {
  pastDay(ctx, as_of ?? undefined)
  return as_of ?? null
}

/** Looks an RFC up on every loaded list, as of a day or now. Throws Failure 422 as_of.future. */
export async function lookUpRfc(ctx: Ctx, { rfc, as_of }: LookupQuery): Promise<BlacklistLookup> {
  const day = dayOf(ctx, as_of)
  const { checked_sources, resultOf } = await readLists(ctx, [rfc], day, null)
  return { ...resultOf(rfc), as_of: day, checked_sources }
}

/**
 * Looks up to 500 RFCs up. The results are in the order of the RFCs; an invalid RFC has an error in its place. Throws Failure 422
 * as_of.future and blacklist.unknown.
 */
export async function lookUpRfcs(ctx: Ctx, { rfcs, as_of, sources }: LookupBatch): Promise<BlacklistBatch> {
  const day = dayOf(ctx, as_of)
  await refuseUnknownLists(ctx, 'sources', sources)
  const normal = rfcs.map(normalRfc)
  const { checked_sources, resultOf } = await readLists(ctx, [...new Set(normal.filter(isRfc))], day, sources ?? null)
  const data = normal.map(
    (rfc, n): BlacklistItem =>
      isRfc(rfc)
        ? { ...resultOf(rfc), checked_sources, error: null }
        : {
            rfc: clipped(rfcs[n]!, SHOWN),
            is_listed: null,
            severity: null,
            hits: [],
            checked_sources: [],
            error: { code: 'rfc.invalid', detail: 'The RFC must have 12 or 13 characters with a valid date.' },
          },
  )
  return { data, hits: data.flatMap(({ hits }) => hits), as_of: day, checked_sources }
}
