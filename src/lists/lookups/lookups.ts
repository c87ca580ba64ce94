import type { Ctx } from '../../platform/context.ts'
import { type Failure, invalid } from '../../platform/failures.ts'
import { clipped } from '../../platform/names.ts'
import { pastDay } from '../../platform/time/past-day.ts'
import { isRfc, normalRfc } from '../../taxpayers/rfc.ts'
import { highest, labelOf, PUBLIC } from '../catalog.ts'
import { refuseUnknownLists } from '../custom/known.ts'
import { listingsOf } from '../listings/listing.ts'
import { findEntries } from '../listings/store.ts'
import type { ListState } from '../tables.ts'
import {
  type BlacklistBatch,
  type BlacklistItem,
  type BlacklistLookup,
  type CheckedSource,
  type LookupBatch,
  type LookupQuery,
  MOST_HITS,
  MOST_STEPS,
} from './contract.ts'

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

/** Reads the lists. Returns the checked sources, and a function that returns the result of one of the RFCs, with the last steps of each hit. */
async function readLists(
  { db, organization, now }: Ctx,
  rfcs: readonly string[],
  as_of: string | null,
  sources: readonly string[] | null,
  steps: number,
) {
  const { lists, found } = await findEntries(db.$client, organization.id, rfcs, sources)
  const listings = listingsOf(lists, found, as_of)
  return {
    checked_sources: lists.map((list) => checkedSource(list, now)),
    resultOf: (rfc: string) => {
      const hits = (listings.get(rfc) ?? []).map(({ history, ...hit }) => ({
        ...hit,
        history: history.slice(-steps),
        history_cut: history.length > steps,
      }))
      return { rfc, is_listed: lists.length === 0 ? null : hits.length > 0, severity: highest(hits.map(({ severity }) => severity)), hits }
    },
  }
}

/** The day that is asked for, today included. */
function dayOf(ctx: Ctx, as_of: string | null | undefined): string | null {
  pastDay(ctx, as_of ?? undefined)
  return as_of ?? null
}

const tooManyHits = (count: number): Failure =>
  invalid('blacklist.too_many_hits', [
    { path: 'rfcs', message: `These have ${count} hits, and an answer has ${MOST_HITS} at most: send fewer RFCs, or name sources.` },
  ])

/** Looks an RFC up on every loaded list, as of a day or now. Throws Failure 422 as_of.future. */
export async function lookUpRfc(ctx: Ctx, { rfc, as_of }: LookupQuery): Promise<BlacklistLookup> {
  const day = dayOf(ctx, as_of)
  const { checked_sources, resultOf } = await readLists(ctx, [rfc], day, null, Number.POSITIVE_INFINITY)
  return { ...resultOf(rfc), as_of: day, checked_sources }
}

/**
 * Looks up to 500 RFCs up. The results are in the order of the RFCs; an invalid RFC has an error in its place. Throws Failure 422
 * as_of.future, blacklist.unknown and blacklist.too_many_hits.
 */
export async function lookUpRfcs(ctx: Ctx, { rfcs, as_of, sources }: LookupBatch): Promise<BlacklistBatch> {
  const day = dayOf(ctx, as_of)
  await refuseUnknownLists(ctx, 'sources', sources)
  const normal = rfcs.map(normalRfc)
  const { checked_sources, resultOf } = await readLists(ctx, [...new Set(normal.filter(isRfc))], day, sources ?? null, MOST_STEPS)
  const data = normal.map(
    (rfc, n): BlacklistItem =>
      isRfc(rfc)
        ? { ...resultOf(rfc), error: null }
        : {
            rfc: clipped(rfcs[n]!, SHOWN),
            is_listed: null,
            severity: null,
            hits: [],
            error: {
              code: 'rfc.invalid',
              detail: 'The RFC must have 12 or 13 characters with a valid date, of which the last is a digit or A.',
            },
          },
  )
  const hits = data.flatMap((item) => item.hits)
  if (hits.length > MOST_HITS) throw tooManyHits(hits.length)
  return { data, hits, as_of: day, checked_sources }
}
