import type { Fault } from '../../platform/failures.ts'
import type { SCHEDULE_KINDS, SCOPES, TRIGGER_KINDS } from './tables.ts'

type TriggerKind = (typeof TRIGGER_KINDS)[number]
export type ScheduleKind = (typeof SCHEDULE_KINDS)[number]
export type ScopeKind = (typeof SCOPES)[number]

/** Members of an extractor whose valid values depend on each other. */
export interface DependentMembers {
  trigger_kind: TriggerKind
  schedule_kind: ScheduleKind | null
  schedule_spec: Readonly<Record<string, unknown>>
  scope: ScopeKind
  scope_months: number | null
}

type Bounds = readonly [min: number, max: number, note?: string]

/** The members of schedule_spec that each schedule_kind requires, with their bounds (decisions.md 5). */
const SPECS: Record<ScheduleKind, Readonly<Record<string, Bounds>>> = {
  daily: {},
  every_n_days: { n: [1, 365] },
  nth_weekday_monthly: { weekday: [0, 6, ' (0 is Monday)'], nth: [1, 5] },
}

/** Returns every contradiction between dependent members. Absent members are not checked. */
export function faultsOf(known: Partial<DependentMembers>): Fault[] {
  return [...triggerFaults(known), ...specFaults(known), ...scopeFaults(known)]
}

function* triggerFaults({ trigger_kind, schedule_kind, schedule_spec = {} }: Partial<DependentMembers>): Generator<Fault> {
  if (trigger_kind === undefined) return
  if (trigger_kind === 'schedule') {
    if (schedule_kind === null)
      yield { path: 'schedule_kind', message: `Missing: the trigger schedule requires one of ${Object.keys(SPECS).join(', ')}.` }
    return
  }
  if (schedule_kind) yield { path: 'schedule_kind', message: `Must be null with the trigger ${trigger_kind}.` }
  if (Object.keys(schedule_spec).length > 0) yield { path: 'schedule_spec', message: `Must be {} with the trigger ${trigger_kind}.` }
}

function* specFaults({ trigger_kind = 'schedule', schedule_kind, schedule_spec }: Partial<DependentMembers>): Generator<Fault> {
  if (trigger_kind !== 'schedule' || !schedule_kind || !schedule_spec) return
  const required = SPECS[schedule_kind]
  for (const [member, [min, max, note = '']] of Object.entries(required)) {
    const value = Object.hasOwn(schedule_spec, member) ? schedule_spec[member] : undefined
    if (value === undefined || !Number.isInteger(value) || Number(value) < min || Number(value) > max)
      yield {
        path: `schedule_spec.${member}`,
        message:
          value === undefined
            ? `Missing: ${schedule_kind} requires ${member}, an integer from ${min} to ${max}${note}.`
            : `Must be an integer from ${min} to ${max}${note}.`,
      }
  }
  for (const member of Object.keys(schedule_spec))
    if (!Object.hasOwn(required, member))
      yield {
        path: `schedule_spec.${member.slice(0, 64)}`,
        message: `Unknown member: ${schedule_kind} accepts ${Object.keys(required).join(' and ') || 'no members'}.`,
      }
}

function* scopeFaults({ scope, scope_months }: Partial<DependentMembers>): Generator<Fault> {
  if (scope === 'last_n_months' && scope_months === null)
    yield { path: 'scope_months', message: 'Missing: the scope last_n_months requires an integer from 1 to 240.' }
  if (scope !== undefined && scope !== 'last_n_months' && typeof scope_months === 'number')
    yield { path: 'scope_months', message: `Must be null with the scope ${scope}.` }
}

/**
 * Returns the members that result from a PATCH. A new trigger or scope clears the members that only the previous one uses (service.md,
 * Extractor dependent fields on PATCH).
 */
export const mergeChanges = (stored: DependentMembers, changes: Partial<DependentMembers>): DependentMembers => ({
  ...stored,
  ...((changes.trigger_kind ?? 'schedule') !== 'schedule' && { schedule_kind: null, schedule_spec: {} }),
  ...((changes.scope ?? 'last_n_months') !== 'last_n_months' && { scope_months: null }),
  ...changes,
})
