import { answer, api } from '../../../api/client.ts'
import type { InsightEntriesPage, paths, Withholdings } from '../../../api/routes.d.ts'
import { money } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Entries, type Sum } from '../surface/entries.tsx'
import { words } from '../withholdings/words.ts'

type Query = paths['/v1/cfdi/withholdings/entries']['get']['parameters']['query']

const read = (query: Record<string, string>) =>
  answer(api.GET('/v1/cfdi/withholdings/entries', { params: { query: query as unknown as Query } })) as Promise<InsightEntriesPage>

/** The figure of a month, as the totals say it. */
async function sum(own: Record<string, string>): Promise<Sum | null> {
  const { figure = '', period = '', fiscal_entity_id = '' } = own
  if (!period) return null
  const query = { fiscal_entity_id, from: period, to: period, limit: 1 }
  const { totals, basis } = (await answer(api.GET('/v1/cfdi/withholdings', { params: { query } }))) as Withholdings
  const row = totals.find((one) => one.period === period) as Record<string, unknown> | undefined
  const text = row?.[figure]
  if (typeof text !== 'string') return null
  // A formula is of ISR and says that the one of IVA is alike.
  const names = [figure, figure.replace('iva_', 'isr_')]
  return { text: money(text), formulas: Object.fromEntries(Object.entries(basis.formulas).filter(([name]) => names.includes(name))) }
}

export default function WithholdingEntries() {
  const t = useWords(words)
  return (
    <Entries
      path="cfdi/withholdings"
      figure="isr_por_enterar"
      parameters={['period', 'from', 'to']}
      names={{ ...t.figure, ...t.others }}
      read={read}
      sum={sum}
    />
  )
}
