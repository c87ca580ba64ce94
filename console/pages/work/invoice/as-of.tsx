import { useQuery } from '@tanstack/preact-query'
import type { CfdiDetail, CfdiHistoryEventName } from '../../../api/routes.d.ts'
import { day, instant } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { ButtonLink } from '../../../parts/button.tsx'
import { useZone } from '../../../session.ts'
import { historyQuery } from './around.tsx'
import css from './invoice.module.css'
import { words } from './words.ts'

/** Says that a document is shown as it stood on a day, and when the service learned what is shown: often that was later. */
export function AsOf({ cfdi, on }: { cfdi: CfdiDetail; on: string }) {
  const t = useWords(words)
  const zone = useZone()
  const { data } = useQuery(historyQuery(cfdi))
  const learned = (name: CfdiHistoryEventName) => data?.events.find(({ event }) => event === name)?.known_at
  const times = [
    [learned('stored'), t.learned],
    [cfdi.estatus === 'cancelado' && learned('cancelled'), t.learnedCancelled],
    [cfdi.is_substituted && learned('substituted'), t.learnedSubstituted],
  ] as const
  return (
    <div class={css.asOf} role="note">
      <b>{t.asOf(day(on))}</b>
      {times.map(([time, say], n) => time && <span key={n}>{say(instant(time, zone))}</span>)}
      <ButtonLink small href={`/cfdi/${cfdi.uuid}?fiscal_entity_id=${cfdi.fiscal_entity_id}`}>
        {t.now}
      </ButtonLink>
    </div>
  )
}
