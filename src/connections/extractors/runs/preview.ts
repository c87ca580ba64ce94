import { loginsOf } from '../../../authority/logins.ts'
import type { DataSourceKey } from '../../../authority/port/authority.ts'
import { activeKeys, refuseUnknownKeys, withMandatory } from '../../../authority/sources.ts'
import { watermarks } from '../../../downloads/downloads.ts'
import type { Ctx, System } from '../../../platform/context.ts'
import { localDayOf } from '../../../platform/time/calendar.ts'
import { sourcesOf } from '../../../taxpayers/connection.ts'
import { canLogIn, isUsable, isVerified } from '../../../taxpayers/login.ts'
import { type ConnectionRow, connectionsOfRun, holds } from '../../../taxpayers/taxpayers.ts'
import { viewWindows } from '../../../taxpayers/visibility/contract.ts'
import { type Bounds, reachedWindowsOf, type Window, windowsOf } from '../../../taxpayers/visibility/window.ts'
import type { ExtractorDraft, PreviewDraft } from '../contract.ts'
import { type EvaluatedExtractor, requireExtractor } from '../extractors.ts'
import { arm, nextRunAt } from '../rules.ts'
import { lastLocalDate } from '../store.ts'
import type { ExtractorPreview, PreviewedRfc, PreviewedSource } from './contract.ts'
import { boundedBy, gapStart, monthsOf, rangeOf } from './scope.ts'

export const isCfdiSource = (source: string): boolean => source === 'sat_cfdi_issued' || source === 'sat_cfdi_received'

/** Makes the function that says which of an extractor's data sources a run fetches for a connection. */
export function sourcesFetched(system: System, keys: readonly DataSourceKey[]): (connection: ConnectionRow) => DataSourceKey[] {
  const { sources: active, documentKind } = loginsOf(system)
  return (connection) => {
    const enabled = sourcesOf(connection, active)
    const hasDocuments = documentKind === null || isUsable(connection, documentKind)
    return keys.filter((key) => enabled.includes(key) && active.includes(key) && (hasDocuments || isCfdiSource(key)))
  }
}

/**
 * Makes the function that says whether a connection has a login for a source, or one that may be verified before its next run is
 * dispatched. No run waits for a login of documents if the connection has another one.
 */
export function hasLoginFor(system: System, connection: ConnectionRow): (source: string) => boolean {
  const { documentKind: kind } = loginsOf(system)
  const canAny = canLogIn(system, connection)
  const canDocuments = kind === null || isUsable(connection, kind) || (!isVerified(connection) && holds(connection, kind))
  return (source) => canAny && (isCfdiSource(source) || canDocuments)
}

/** RFCs that are added up, and those of them that are listed. */
const RFCS = 1_000
const LISTED = 100
/** Runs that are reported: those of a quarter, and of a rare cadence this many. */
const NEXT_RUNS = 5
const NEXT_MS = 92 * 86_400_000

/** The days of a month are dated in Mexican zones. */
const ZONE = 'Etc/GMT+6'

/** Whether a window shows a month from its first day on, up to its end or as far as anything was extracted. */
const isReadable = ({ isEmpty, floor, ceiling }: Window, month: string): boolean =>
  !isEmpty && (floor === null || floor <= `${month}-01`) && (ceiling === null || localDayOf(new Date(ceiling), ZONE).slice(0, 7) >= month)

function nextRuns(draft: ExtractorDraft, now: Date, ranFor: string | null, stored?: EvaluatedExtractor): Date[] {
  const settings = { ...draft, schedule_spec: draft.schedule_spec as Record<string, number> }
  const evaluated_day = stored?.timezone === draft.timezone ? stored.evaluated_day : null
  const armed = { ...settings, ...arm(settings, ranFor, now, stored), evaluated_day }
  const until = now.getTime() + NEXT_MS
  const runs: Date[] = []
  for (let at = nextRunAt(armed, now); at !== null; at = nextRunAt(armed, at)) {
    if (runs.length >= NEXT_RUNS && at.getTime() > until) break
    runs.push(at)
  }
  return runs
}

const boundsOf = ({ issued_from, issued_to, received_from, received_to }: ConnectionRow): Bounds => ({
  ...{ issued_from, received_from },
  ...{ issued_to: issued_to?.getTime() ?? null, received_to: received_to?.getTime() ?? null },
})

const earlier = (a: string | null, b: string): string => (a === null || b < a ? b : a)

/**
 * Says what the first run of an extractor would fetch if it were saved now, for the RFCs that are active now, and changes nothing. Reads one page
 * of connections and, with since_watermark, one statement of each ledger; of an extractor that would be changed, its row and last date.
 * Throws Failure 404 extractor.not_found and 422 data_source.unknown or .inactive.
 */
export async function previewExtractor(ctx: Ctx, { extractor_id, ...draft }: PreviewDraft): Promise<ExtractorPreview> {
  const { db, now, organization } = ctx
  refuseUnknownKeys(draft.data_source_keys, 'data_source_keys', activeKeys(ctx))
  const stored = extractor_id === undefined ? undefined : await requireExtractor(ctx, extractor_id)
  const runs = nextRuns(draft, now, stored ? await lastLocalDate(db, stored.extractor_id) : null, stored)
  const at = runs[0] ?? now
  const read = await connectionsOfRun(db, { organization_id: organization.id, fiscal_entity_id: null }, '', RFCS + 1)
  const fetched = sourcesFetched(ctx, withMandatory(draft.data_source_keys))
  const selected = read
    .slice(0, RFCS)
    .filter((row) => canLogIn(ctx, row))
    .map((connection) => ({ connection, sources: fetched(connection) }))
  const reached = draft.scope === 'since_watermark' ? await watermarks(ctx, organization.id, selected) : undefined
  const rfcs = selected.map(({ connection, sources }): PreviewedRfc => {
    const before = boundsOf(connection)
    const after = { ...before }
    const readable = windowsOf(organization.extractor_count, before)
    const previewed = sources.map((data_source_key): PreviewedSource => {
      if (!isCfdiSource(data_source_key)) return { data_source_key, ...NO_MONTHS, documents: 1 }
      const direction = data_source_key === 'sat_cfdi_issued' ? 'issued' : 'received'
      const watermark = reached?.get(`${connection.entity}|${data_source_key}`) ?? null
      const range = rangeOf(draft.scope, draft.scope_months, at, draft.timezone, watermark)
      const from = boundedBy(gapStart(range, connection[`${direction}_to`], connection.active_since) ?? range.from, connection.access_from)
      after[`${direction}_from`] = earlier(before[`${direction}_from`], from)
      after[`${direction}_to`] = Math.max(before[`${direction}_to`] ?? 0, at.getTime())
      const months = monthsOf({ ...range, from }, draft.timezone)
      const readable_months = months.filter((month) => isReadable(readable[direction], month)).length
      return { data_source_key, months: months.length, readable_months, new_months: months.length - readable_months, documents: 0 }
    })
    return {
      ...{ fiscal_entity_id: connection.fiscal_entity_id, rfc: connection.rfc, sources: previewed },
      windows: viewWindows(readable),
      windows_after: viewWindows(reachedWindowsOf(after)),
    }
  })
  const sources = addUp(rfcs)
  const total = (member: keyof typeof NO_MONTHS | 'documents') => sources.reduce((sum, source) => sum + source[member], 0)
  return {
    next_runs: runs.map((run) => run.toISOString()),
    rfc_count: rfcs.length,
    truncated: read.length > RFCS,
    totals: {
      ...{ months: total('months'), readable_months: total('readable_months'), new_months: total('new_months') },
      documents: total('documents'),
    },
    sources,
    rfcs: rfcs.slice(0, LISTED),
  }
}

const NO_MONTHS = { months: 0, readable_months: 0, new_months: 0 }

/** The sources of all RFCs, in the order in which they first appear. */
function addUp(rfcs: readonly PreviewedRfc[]): PreviewedSource[] {
  const sums = new Map<DataSourceKey, PreviewedSource>()
  for (const { data_source_key, ...one } of rfcs.flatMap(({ sources }) => sources)) {
    const sum = sums.get(data_source_key) ?? { data_source_key, ...NO_MONTHS, documents: 0 }
    for (const member of Object.keys(one) as (keyof typeof one)[]) sum[member] += one[member]
    sums.set(data_source_key, sum)
  }
  return [...sums.values()]
}
