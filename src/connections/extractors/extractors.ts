import { addToExtractorCount, extractorsUsed } from '../../accounts/organization/organization.ts'
import { reserveQuota } from '../../accounts/plans/reserve-quota.ts'
import type { DataSourceKey } from '../../authority/port/authority.ts'
import { activeKeys, defaultKeys, refuseUnknownKeys, unknownKeyFaults, withMandatory } from '../../authority/sources.ts'
import { markAllDue } from '../../copies/due.ts'
import { change } from '../../platform/audit/audit.ts'
import { type Ctx, eventsOf, type System } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { isGuardViolation, retryOnConflict } from '../../platform/db/guard.ts'
import { newId } from '../../platform/db/id.ts'
import { Failure, invalid, notFound } from '../../platform/failures.ts'
import { localDayOf } from '../../platform/time/calendar.ts'
import type { Extractor, ExtractorChanges, ExtractorDraft } from './contract.ts'
import { arm, faultsOf, mergeChanges, nextRunAt, owedDay } from './rules.ts'
import {
  assertExtractorExists,
  assertExtractorUnchanged,
  type EvaluatedExtractor,
  type ExtractorRow,
  evaluatedDay,
  findExtractor,
  insertExtractor,
  insertOwedRun,
  insertZone,
  lastLocalDate,
  listExtractorRows,
  removeExtractor,
  updateExtractor,
} from './store.ts'

export type { EvaluatedExtractor, ExtractorRow } from './store.ts'

function view(evaluated: EvaluatedExtractor, now: Date): Extractor {
  const { organization_id: _, cadence: __, armed_day: ___, evaluated_day: ____, created_at, last_run_at, ...row } = evaluated
  return {
    ...row,
    created_at: created_at.toISOString(),
    last_run_at: last_run_at?.toISOString() ?? null,
    next_run_at: nextRunAt(evaluated, now)?.toISOString() ?? null,
  }
}

/** Returns the organization's extractor. Throws Failure 404 extractor.not_found. */
export async function requireExtractor({ db, organization }: Ctx, extractor_id: string): Promise<EvaluatedExtractor> {
  const row = await findExtractor(db, organization.id, extractor_id)
  if (!row) throw notFound('extractor')
  return row
}

function rowOf(organization_id: string, now: Date, draft: ExtractorDraft): ExtractorRow {
  // The contract admits only integers here.
  const settings = { ...draft, schedule_spec: draft.schedule_spec as Record<string, number> }
  return {
    extractor_id: newId('ext'),
    organization_id,
    ...settings,
    data_source_keys: withMandatory(draft.data_source_keys),
    ...arm(settings, null, now),
    last_run_at: null,
    created_at: now,
  }
}

/** Returns the two extractors that every new organization receives. */
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

/** Returns the organization's extractors, oldest first. */
export const listExtractors = async ({ db, organization, now }: Ctx): Promise<Extractor[]> =>
  (await listExtractorRows(db, organization.id)).map((row) => view(row, now))

/** Returns one extractor. Throws Failure 404 extractor.not_found. */
export const getExtractor = async (ctx: Ctx, extractor_id: string): Promise<Extractor> =>
  view(await requireExtractor(ctx, extractor_id), ctx.now)

/** Ticks evaluate only the time zones of scheduled extractors. */
const zoneOf = ({ db, now }: System, { cadence, timezone }: ExtractorRow) =>
  cadence === null ? [] : [insertZone(db, timezone, localDayOf(now, timezone))]

/** Returns the statements that insert a new organization's extractors. */
export const insertExtractors = (system: System, rows: readonly ExtractorRow[]) =>
  rows.flatMap((row) => [insertExtractor(system.db, row), ...zoneOf(system, row)])

/**
 * Creates an extractor without running it. Throws Failure 422 data_source.unknown or .inactive, and 409 extractor.plan_limit when the organization has
 * as many extractors as its plan allows.
 */
export async function createExtractor(ctx: Ctx, draft: ExtractorDraft): Promise<Extractor> {
  const { db, organization, now } = ctx
  refuseUnknownKeys(draft.data_source_keys, 'data_source_keys', activeKeys(ctx))
  const row = rowOf(organization.id, now, draft)
  await reserveQuota(ctx, 'extractors', extractorsUsed(organization.id), (reserved) =>
    change(ctx, { action: 'extractor.created', resource_id: row.extractor_id, changed: Object.keys(draft) }, [
      ...reserved,
      addToExtractorCount(db, organization.id, 1),
      insertExtractor(db, row),
      ...zoneOf(ctx, row),
    ]),
  )
  return view({ ...row, evaluated_day: await evaluatedDay(db, row.timezone) }, now)
}

/**
 * Changes the given members and the members that depend on them. Throws Failure 404 extractor.not_found,
 * 422 extractor.invalid when the result contradicts its trigger or scope, 422 data_source.unknown or .inactive, and 409 extractor.changed.
 */
export const changeExtractor = (ctx: Ctx, extractor_id: string, changes: ExtractorChanges): Promise<Extractor> =>
  retryOnConflict(
    () => attemptChange(ctx, extractor_id, changes),
    () => new Failure('contention', 'extractor.changed', 'Other requests keep changing the extractor at the same time. Try again.'),
  )

async function attemptChange(ctx: Ctx, extractor_id: string, changes: ExtractorChanges): Promise<Extractor> {
  const stored = await requireExtractor(ctx, extractor_id)
  const settings = settingsOf(ctx, stored, changes)
  const changed = Object.keys(changes)
  if (changed.length === 0) return view(stored, ctx.now)
  const ranFor = await lastLocalDate(ctx.db, extractor_id)
  const owed = owedDay(stored, settings, ranFor, ctx.now)
  const { is_enabled, ...others } = settings
  // Members that the request does not change stay as concurrent requests set them.
  const enabling = changes.is_enabled === undefined ? {} : { is_enabled }
  const columns = { ...others, ...enabling, ...arm(settings, owed ?? ranFor, ctx.now, stored) }
  await change(ctx, { action: 'extractor.updated', resource_id: extractor_id, changed }, [
    assertExtractorUnchanged(stored, ranFor),
    updateExtractor(ctx.db, stored, columns),
    ...(owed === null ? [] : [insertOwedRun(stored, owed, ctx.now)]),
    ...zoneOf(ctx, { ...stored, ...columns }),
  ])
  const evaluated_day = settings.timezone === stored.timezone ? stored.evaluated_day : await evaluatedDay(ctx.db, settings.timezone)
  return view({ ...stored, ...columns, evaluated_day }, ctx.now)
}

/** The members that result from the changes, without name and sources unless these change. */
function settingsOf(ctx: Ctx, stored: ExtractorRow, changes: ExtractorChanges) {
  const { name, is_enabled = stored.is_enabled, data_source_keys, timezone = stored.timezone, ...dependent } = changes
  const { trigger_kind, schedule_kind, schedule_spec, scope, scope_months } = mergeChanges(stored, dependent)
  const result = { trigger_kind, schedule_kind, schedule_spec: schedule_spec as Record<string, number>, scope, scope_months }
  const contradictions = faultsOf(result)
  const [keys, active] = [data_source_keys ?? [], activeKeys(ctx)]
  const [first, ...others] = contradictions
  if (first) throw invalid('extractor.invalid', [first, ...others, ...unknownKeyFaults(keys, 'data_source_keys', active)])
  refuseUnknownKeys(keys, 'data_source_keys', active)
  return {
    ...result,
    ...(name !== undefined && { name }),
    ...(data_source_keys && { data_source_keys: withMandatory(data_source_keys) }),
    is_enabled,
    timezone,
  }
}

/**
 * Deletes an extractor, which no longer counts towards the plan's limit. Windows stay as they are. Throws Failure 404 extractor.not_found.
 */
export async function deleteExtractor(ctx: Ctx, extractor_id: string): Promise<void> {
  const { db, organization } = ctx
  try {
    await change(ctx, { action: 'extractor.deleted', resource_id: extractor_id }, [
      assertExtractorExists(organization.id, extractor_id),
      addToExtractorCount(db, organization.id, -1),
      removeExtractor(db, organization.id, extractor_id),
    ])
  } catch (error) {
    throw isGuardViolation(error, 'extractor.exists') ? notFound('extractor') : error
  }
  const events = eventsOf(ctx).$client
  // Without extractors the windows show everything.
  if (organization.extractor_count <= 1) await commit(events, [markAllDue(organization.id)])
}
