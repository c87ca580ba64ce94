import type { Extractor } from '../../../api/routes.d.ts'
import { useWords } from '../../../language.ts'
import { words } from './words.ts'

/** When an extractor runs and how far back it reaches, as people say it. */
export function useSay() {
  const t = useWords(words)
  const whenOf = ({ trigger_kind, schedule_kind, schedule_spec }: Extractor): string => {
    const { n = 1, weekday = 0, nth = 1 } = schedule_spec as { n?: number; weekday?: number; nth?: number }
    if (trigger_kind !== 'schedule') return trigger_kind === 'connection_created' ? t.onConnect : t.onReturn
    if (schedule_kind === 'nth_weekday_monthly') return t.monthly(nth, weekday)
    return schedule_kind === 'daily' ? t.daily : t.every(n)
  }
  const scopeOf = ({ scope, scope_months }: Extractor): string =>
    scope === 'full_history' ? t.full : scope === 'since_watermark' ? t.watermark : t.months(scope_months ?? 0)
  return { whenOf, scopeOf }
}
