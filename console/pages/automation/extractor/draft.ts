import type { Extractor, ExtractorDraft, Scope } from '../../../api/routes.d.ts'

export const WHENS = ['daily', 'every_n_days', 'nth_weekday_monthly', 'connection_created', 'connection_reactivated'] as const
type When = (typeof WHENS)[number]
export const SCOPES = ['last_n_months', 'since_watermark', 'full_history'] as const satisfies readonly Scope[]

/** What the form holds: numbers are texts until they are sent. */
export interface Draft {
  name: string
  when: When
  n: string
  weekday: string
  nth: string
  scope: Scope
  months: string
  timezone: string
  sources: string[]
}

export const FRESH: Omit<Draft, 'timezone'> = {
  ...{ name: '', when: 'daily', n: '7', weekday: '0', nth: '1', scope: 'last_n_months', months: '3' },
  sources: ['sat_cfdi_issued', 'sat_cfdi_received'],
}

export function draftOf(stored: Extractor): Draft {
  const { n = 7, weekday = 0, nth = 1 } = stored.schedule_spec as { n?: number; weekday?: number; nth?: number }
  const { name, scope, timezone, trigger_kind, schedule_kind, scope_months, data_source_keys: sources } = stored
  const when = trigger_kind === 'schedule' ? (schedule_kind ?? 'daily') : trigger_kind
  return { name, when, n: `${n}`, weekday: `${weekday}`, nth: `${nth}`, scope, months: `${scope_months ?? 3}`, timezone, sources }
}

/** What is sent. A text that is no number becomes null, which the API refuses beside its field. */
export function bodyOf({ name, when, n, weekday, nth, scope, months, timezone, sources }: Draft): ExtractorDraft {
  const isScheduled = when !== 'connection_created' && when !== 'connection_reactivated'
  const spec =
    when === 'every_n_days' ? { n: Number(n) } : when === 'nth_weekday_monthly' ? { weekday: Number(weekday), nth: Number(nth) } : {}
  return {
    ...{ name, timezone, scope, data_source_keys: sources },
    trigger_kind: isScheduled ? 'schedule' : when,
    schedule_kind: isScheduled ? when : null,
    schedule_spec: spec,
    scope_months: scope === 'last_n_months' ? Number(months) : null,
  }
}
