import type { Ctx } from '../../platform/context.ts'
import { isRfc, normalRfc } from '../../taxpayers/rfc.ts'
import { EVERYBODY, labelOf, severityOf, worst } from '../catalog.ts'
import { type Event, listingStatus } from '../listing-status.ts'
import type { ListState } from '../tables.ts'
import type { BlacklistBatch, BlacklistHit, BlacklistItem, BlacklistLookup, CheckedSource, LookupBatch, LookupQuery } from './contract.ts'
import { type FoundRow, lookUp } from './store.ts'

/** The authority publishes about once a month. */
const STALE_AFTER_MS = 60 * 86_400_000

type Step = [Event['situacion'], ...(string | null)[]]

const historyOf = (json: string): Event[] =>
  (JSON.parse(json) as Step[]).map(([situacion, sat_at = null, dof_at = null, oficio = null]) => ({ situacion, sat_at, dof_at, oficio }))

/** What a list's row of an RFC says: a hit, unless nothing had been published by the day asked for. */
function hitOf({ source, label }: ListState, row: FoundRow | undefined, as_of: string | null): BlacklistHit[] {
  const standing = row ? listingStatus(historyOf(row.history), row.seen_on, as_of) : null
  if (!row || standing === null) return []
  const { event, ...where } = standing
  const situacion = event?.situacion ?? null
  return [
    {
      rfc: row.rfc,
      source,
      list_label: labelOf(source, label),
      situacion,
      severity: severityOf(source, situacion),
      name: row.name,
      published_sat_at: event?.sat_at ?? null,
      published_dof_at: event?.dof_at ?? null,
      oficio: event?.oficio ?? null,
      ...where,
    },
  ]
}

const checkedSource = (list: ListState, now: Date): CheckedSource => ({
  source: list.source,
  list_label: labelOf(list.source, list.label),
  list_updated_at: list.list_date,
  fetched_at: list.fetched_at === null ? null : new Date(list.fetched_at).toISOString(),
  row_count: list.row_count,
  is_stale: list.organization_id === EVERYBODY && now.getTime() - Date.parse(list.list_date ?? '1970-01-01') > STALE_AFTER_MS,
  refused:
    list.refused_code === null || list.refused_at === null
      ? null
      : { code: list.refused_code, detail: list.refused_detail ?? '', refused_at: new Date(list.refused_at).toISOString() },
})

const placeOf = ({ organization_id, source }: Pick<FoundRow, 'organization_id' | 'source'>, rfc: string): string =>
  `${organization_id} ${source} ${rfc}`

/** Asks the lists, and gives how what they said is told of one RFC. */
async function ask({ env, organization, now }: Ctx, rfcs: readonly string[], as_of: string | null, sources: readonly string[] | null) {
  const { lists, found } = await lookUp(env.DB, organization.id, rfcs, sources)
  const rows = new Map(found.map((row) => [placeOf(row, row.rfc), row]))
  return {
    checked_sources: lists.map((list) => checkedSource(list, now)),
    tell: (rfc: string) => {
      const hits = lists.flatMap((list) => hitOf(list, rows.get(placeOf(list, rfc)), as_of))
      return { rfc, is_listed: lists.length === 0 ? null : hits.length > 0, severity: worst(hits.map(({ severity }) => severity)), hits }
    },
  }
}

/** Where an RFC stands on every list that is held, now or on a day. */
export async function lookUpRfc(ctx: Ctx, { rfc, as_of }: LookupQuery): Promise<BlacklistLookup> {
  const day = as_of ?? null
  const { checked_sources, tell } = await ask(ctx, [rfc], day, null)
  return { ...tell(rfc), as_of: day, checked_sources }
}

/** The same of up to 500 RFCs, each answered in its place; what is no RFC has an error there. */
export async function lookUpRfcs(ctx: Ctx, { rfcs, as_of, sources }: LookupBatch): Promise<BlacklistBatch> {
  const day = as_of ?? null
  const normal = rfcs.map(normalRfc)
  const { checked_sources, tell } = await ask(ctx, [...new Set(normal.filter(isRfc))], day, sources ?? null)
  const data = normal.map(
    (rfc, n): BlacklistItem =>
      isRfc(rfc)
        ? { ...tell(rfc), checked_sources, error: null }
        : {
            rfc: rfcs[n]!,
            is_listed: null,
            severity: null,
            hits: [],
            checked_sources: [],
            error: { code: 'rfc.invalid', detail: 'Not an RFC.' },
          },
  )
  return { data, hits: data.flatMap(({ hits }) => hits), as_of: day, checked_sources }
}
