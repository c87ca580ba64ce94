import type { DataSourceKey } from '../authority/port/catalog.ts'
import { activeKeys, defaultKeys, refuseUnknownKeys, unknownKeyFaults, withMandatory } from '../authority/sources.ts'
import { Failure, invalid, notFound } from '../failures.ts'
import { addToExtractorCount, assertExtractorLimit, EXTRACTOR_LIMIT } from '../identity/organization/extractor-count.ts'
import { findOrganization } from '../identity/organization/organization.ts'
import { planOf } from '../plans/plans.ts'
import { change } from '../platform/audit/audit.ts'
import type { Ctx, System } from '../platform/context.ts'
import { isGuardViolation } from '../platform/db/guard.ts'
import { newId } from '../platform/db/id.ts'
import { retryOnConflict } from '../platform/db/retry.ts'
import { localDayOf } from '../platform/time/calendar.ts'
import { cadenceOf, nextRunAt } from './cadence.ts'
import type { Extractor, ExtractorChanges, ExtractorDraft } from './contract.ts'
import { faultsOf, mergeChanges } from './rules.ts'
import {
  assertExtractorExists,
  assertExtractorUnchanged,
  type ExtractorRow,
  findExtractor,
  insertExtractor,
  knowZone,
  listExtractorRows,
  removeExtractor,
  updateExtractor,
} from './store.ts'

export type { ExtractorRow } from './store.ts'

const view = ({ organization_id: _, cadence, armed_day, created_at, last_run_at, ...row }: ExtractorRow, now: Date): Extractor => ({
  ...row,
  created_at: created_at.toISOString(),
  last_run_at: last_run_at?.toISOString() ?? null,
  next_run_at: nextRunAt({ ...row, cadence, armed_day }, now)?.toISOString() ?? null,
})

/** The extractor of the organization; 404 when it is absent or another's. */
export async function requireExtractor({ db, organization }: Ctx, extractor_id: string): Promise<ExtractorRow> {
  const row = await findExtractor(db, organization.id, extractor_id)
  if (!row) throw notFound('extractor')
  return row
}

type Schedule = Pick<ExtractorRow, 'schedule_kind' | 'schedule_spec' | 'timezone'>

/** Any day: what is compared is not where a cadence is anchored. */
const ANY_DAY = '1970-01-01'

const isSameSchedule = (a: Schedule, b: Schedule): boolean =>
  a.timezone === b.timezone &&
  a.schedule_kind !== null &&
  a.schedule_kind === b.schedule_kind &&
  cadenceOf(a.schedule_kind, a.schedule_spec, ANY_DAY) === cadenceOf(a.schedule_kind, b.schedule_spec, ANY_DAY)

/** Anchors a cadence to the local day of now, unless it is the one that is anchored already. Enabled again, it runs after today. */
function arm(schedule: Schedule & { is_enabled: boolean }, now: Date, stored?: ExtractorRow) {
  const { schedule_kind, schedule_spec, timezone, is_enabled } = schedule
  if (schedule_kind === null) return { cadence: null, armed_day: null }
  const today = localDayOf(now, timezone)
  if (!stored?.armed_day || !isSameSchedule(schedule, stored))
    return { cadence: cadenceOf(schedule_kind, schedule_spec, today), armed_day: today }
  const isBack = is_enabled && !stored.is_enabled && today > stored.armed_day
  return { cadence: stored.cadence, armed_day: isBack ? today : stored.armed_day }
}

function rowOf(organization_id: string, now: Date, draft: ExtractorDraft): ExtractorRow {
  // The contract lets integers through and nothing else.
  const settings = { ...draft, schedule_spec: draft.schedule_spec as Record<string, number> }
  return {
    extractor_id: newId('ext'),
    organization_id,
    ...settings,
    data_source_keys: withMandatory(draft.data_source_keys),
    ...arm(settings, now),
    last_run_at: null,
    created_at: now,
  }
}

/** The two extractors that every organization is created with (service.md, Extractor, rule 4), for the commit that creates it. */
export function defaultExtractors(organization_id: string, now: Date, active: readonly DataSourceKey[]): ExtractorRow[] {
  const common = {
    timezone: 'America/Mexico_City',
    scope: 'last_n_months',
    is_enabled: true,
    schedule_spec: {},
    data_source_keys: defaultKeys(active),
  } as const
  return [
    rowOf(organization_id, now, {
      ...common,
      name: 'Alta de RFC',
      trigger_kind: 'connection_created',
      schedule_kind: null,
      scope_months: 36,
    }),
    rowOf(organization_id, now, { ...common, name: 'Diario', trigger_kind: 'schedule', schedule_kind: 'daily', scope_months: 3 }),
  ]
}

/** The organization's extractors, oldest first. */
export const listExtractors = async ({ db, organization, now }: Ctx): Promise<Extractor[]> =>
  (await listExtractorRows(db, organization.id)).map((row) => view(row, now))

/** Ticks are evaluated for zones that a scheduled extractor is in. */
const zoneOf = ({ db, now }: System, { cadence, timezone }: ExtractorRow) =>
  cadence === null ? [] : [knowZone(db, timezone, localDayOf(now, timezone))]

/** Statements that keep extractors of a new organization. */
export const insertExtractors = (system: System, rows: readonly ExtractorRow[]) =>
  rows.flatMap((row) => [insertExtractor(system.db, row), ...zoneOf(system, row)])

/** Configures an extractor; nothing is downloaded. 422 for a source that is not there, 409 when the plan has no slot left. */
export async function createExtractor(ctx: Ctx, draft: ExtractorDraft): Promise<Extractor> {
  const { db, organization, now } = ctx
  refuseUnknownKeys(draft.data_source_keys, 'data_source_keys', activeKeys(ctx))
  const plan = planOf(organization.plan)
  const row = rowOf(organization.id, now, draft)
  try {
    await change(ctx, { action: 'extractor.created', resource_id: row.extractor_id, changed: Object.keys(draft) }, [
      assertExtractorLimit(db.$client, organization.id, plan.extractors),
      addToExtractorCount(db, organization.id, 1),
      insertExtractor(db, row),
      ...zoneOf(ctx, row),
    ])
  } catch (error) {
    if (!isGuardViolation(error, EXTRACTOR_LIMIT)) throw error
    const { extractor_count } = await findOrganization(db, organization.id)
    throw new Failure(
      'conflict',
      'extractor.plan_limit',
      `The plan ${plan.name} allows ${plan.extractors} extractors and ${extractor_count} exist. Delete one first.`,
    )
  }
  return view(row, now)
}

/**
 * Changes what is sent, and what depends on it (service.md, PATCH rules). A new schedule or time zone is anchored today; nothing else
 * moves it. 404; 422 when the result would not have the shape that its trigger and scope need.
 */
export const changeExtractor = (ctx: Ctx, extractor_id: string, changes: ExtractorChanges): Promise<Extractor> =>
  retryOnConflict(
    () => attemptChange(ctx, extractor_id, changes),
    () => new Failure('contention', 'extractor.changed', 'Other requests keep changing the extractor at the same time. Try again.'),
  )

async function attemptChange(ctx: Ctx, extractor_id: string, changes: ExtractorChanges): Promise<Extractor> {
  const stored = await requireExtractor(ctx, extractor_id)
  const columns = columnsOf(ctx, stored, changes)
  const changed = Object.keys(changes)
  if (changed.length > 0)
    await change(ctx, { action: 'extractor.updated', resource_id: extractor_id, changed }, [
      assertExtractorUnchanged(ctx.db.$client, stored),
      updateExtractor(ctx.db, stored, columns),
      ...zoneOf(ctx, { ...stored, ...columns }),
    ])
  return view(changed.length > 0 ? { ...stored, ...columns } : stored, ctx.now)
}

function columnsOf(ctx: Ctx, stored: ExtractorRow, changes: ExtractorChanges): Partial<ExtractorRow> {
  const { name, is_enabled = stored.is_enabled, data_source_keys, timezone = stored.timezone, ...dependent } = changes
  const { trigger_kind, schedule_kind, schedule_spec, scope, scope_months } = mergeChanges(stored, dependent)
  const result = { trigger_kind, schedule_kind, schedule_spec: schedule_spec as Record<string, number>, scope, scope_months }
  const broken = faultsOf(result)
  const [first, ...others] = [...broken, ...unknownKeyFaults(data_source_keys ?? [], 'data_source_keys', activeKeys(ctx))]
  if (first) throw invalid(broken.length > 0 ? 'extractor.invalid' : 'data_source.unknown', [first, ...others])
  return {
    ...result,
    ...(name !== undefined && { name }),
    ...(changes.is_enabled !== undefined && { is_enabled }),
    ...(data_source_keys && { data_source_keys: withMandatory(data_source_keys) }),
    timezone,
    ...arm({ ...result, timezone, is_enabled }, ctx.now, stored),
  }
}

/** Removes an extractor and frees its slot; windows stay as they are. 404 when it is absent or another's. */
export async function deleteExtractor(ctx: Ctx, extractor_id: string): Promise<void> {
  const { db, organization } = ctx
  try {
    await change(ctx, { action: 'extractor.deleted', resource_id: extractor_id }, [
      assertExtractorExists(db.$client, organization.id, extractor_id),
      addToExtractorCount(db, organization.id, -1),
      removeExtractor(db, organization.id, extractor_id),
    ])
  } catch (error) {
    throw isGuardViolation(error, 'extractor.exists') ? notFound('extractor') : error
  }
}
