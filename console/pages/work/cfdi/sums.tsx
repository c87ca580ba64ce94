import { useQuery } from '@tanstack/preact-query'
import { answer, api } from '../../../api/client.ts'
import type { CfdiSum, CfdiSums } from '../../../api/routes.d.ts'
import { count, day, decimal, money } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import css from './cfdi.module.css'
import type { Query } from './list.ts'
import { hasTotal } from './name.ts'
import { words } from './words.ts'

/** An amount without a sign where the authority's list says no currency. */
const shown = (amount: string, { currency }: CfdiSum): string => (currency === null ? decimal(amount) : money(amount, currency))

/** As many sums as are seen at a glance; more are folded. */
const UNFOLDED = 6

/** How many documents match, and what those that are alike add up to, as the API says it. */
export function Sums({ fiscal_entity_id, filters }: { fiscal_entity_id: string; filters: Record<string, string> }) {
  const t = useWords(words)
  const { data: sums } = useQuery<CfdiSums>({
    queryKey: ['cfdi', fiscal_entity_id, 'sums', filters],
    queryFn: () =>
      answer(api.GET('/v1/cfdi/summary', { params: { query: { ...(filters as Query), fiscal_entity_id } } })) as Promise<CfdiSums>,
  })
  if (!sums || sums.count === 0) return null
  const nameOf = ({ direction, kind, tipo_comprobante, estatus, is_substituted }: CfdiSum) => [
    kind === 'retenciones' ? t.retenciones : t.tipo[tipo_comprobante ?? ''],
    ...[t.values['direction']![direction], estatus === 'cancelado' && t.estatus[estatus], is_substituted && t.substituted],
  ]
  const { scanned_through: since } = sums
  return (
    <details class={css.sums} open={sums.data.length <= UNFOLDED}>
      <summary>{since ? t.countedFrom(count(sums.count), day(since)) : t.counted(count(sums.count))}</summary>
      <ul aria-label={t.sums}>
        {sums.data.map((one) => (
          <li key={JSON.stringify(Object.values(one))}>
            {nameOf(one).filter(Boolean).join(', ')}: {count(one.count)}
            {hasTotal(one) && <b> {shown(one.total, one)}</b>}
            {hasTotal(one) && one.balance !== null && one.estatus === 'vigente' && ` (${t.owed(shown(one.balance, one))})`}
          </li>
        ))}
      </ul>
    </details>
  )
}
