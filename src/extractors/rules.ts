import type { Fault } from '../failures.ts'
import type { SCHEDULE_KINDS, SCOPES, TRIGGER_KINDS } from './tables.ts'

type TriggerKind = (typeof TRIGGER_KINDS)[number]
export type ScheduleKind = (typeof SCHEDULE_KINDS)[number]
export type ScopeKind = (typeof SCOPES)[number]

/** The members of an extractor that depend on each other. */
export interface Dependent {
  trigger_kind: TriggerKind
  schedule_kind: ScheduleKind | null
  schedule_spec: Readonly<Record<string, unknown>>
  scope: ScopeKind
  scope_months: number | null
}

type Bounds = readonly [min: number, max: number, note?: string]

/** The members that each schedule_kind needs (decisions.md 5). */
const SPECS: Record<ScheduleKind, Readonly<Record<string, Bounds>>> = {
  daily: {},
  every_n_days: { n: [1, 365] },
  nth_weekday_monthly: { weekday: [0, 6, ' (0 is Monday)'], nth: [1, 5] },
}

/** Everything that is wrong between dependent members, as far as they are known; what is absent is not judged. */
export function faultsOf(known: Partial<Dependent>): Fault[] {
  return [...triggerFaults(known), ...specFaults(known), ...scopeFaults(known)]
}

function* triggerFaults({ trigger_kind, schedule_kind, schedule_spec = {} }: Partial<Dependent>): Generator<Fault> {
  if (trigger_kind === undefined) return
  if (trigger_kind === 'schedule') {
    if (schedule_kind === null)
      yield { path: 'schedule_kind', message: `Missing: the trigger schedule needs one of ${Object.keys(SPECS).join(', ')}.` }
    return
  }
  if (schedule_kind) yield { path: 'schedule_kind', message: `Must be null with the trigger ${trigger_kind}.` }
  if (Object.keys(schedule_spec).length > 0) yield { path: 'schedule_spec', message: `Must be {} with the trigger ${trigger_kind}.` }
}

function* specFaults({ trigger_kind = 'schedule', schedule_kind, schedule_spec }: Partial<Dependent>): Generator<Fault> {
  if (trigger_kind !== 'schedule' || !schedule_kind || !schedule_spec) return
  const needed = SPECS[schedule_kind]
  for (const [member, [min, max, note = '']] of Object.entries(needed)) {
    const value = Object.hasOwn(schedule_spec, member) ? schedule_spec[member] : undefined
    if (value === undefined || !Number.isInteger(value) || Number(value) < min || Number(value) > max)
      yield {
        path: `schedule_spec.${member}`,
        message: `${value === undefined ? 'Missing' : 'Invalid'}: ${schedule_kind} needs ${member}, an integer from ${min} to ${max}${note}.`,
      }
  }
  for (const member of Object.keys(schedule_spec))
    if (!Object.hasOwn(needed, member))
      yield {
        path: `schedule_spec.${member.slice(0, 64)}`,
        message: `Unknown member: ${schedule_kind} takes ${Object.keys(needed).join(' and ') || 'none'}.`,
      }
}

function* scopeFaults({ scope, scope_months }: Partial<Dependent>): Generator<Fault> {
  if (scope === 'last_n_months' && scope_months === null)
    yield { path: 'scope_months', message: 'Missing: the scope last_n_months needs an integer from 1 to 240.' }
  if (scope !== undefined && scope !== 'last_n_months' && typeof scope_months === 'number')
    yield { path: 'scope_months', message: `Must be null with the scope ${scope}.` }
}

/** What results from a change: what depends on a trigger or scope that is left goes with it (service.md, Extractor dependent fields on PATCH). */
export const mergeChanges = (stored: Dependent, sent: Partial<Dependent>): Dependent => ({
  ...stored,
  ...((sent.trigger_kind ?? 'schedule') !== 'schedule' && { schedule_kind: null, schedule_spec: {} }),
  ...((sent.scope ?? 'last_n_months') !== 'last_n_months' && { scope_months: null }),
  ...sent,
})
