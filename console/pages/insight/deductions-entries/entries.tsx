import { answer, api } from '../../../api/client.ts'
import type { Deductions, InsightEntriesPage, paths } from '../../../api/routes.d.ts'
import { money } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { words } from '../deductions/words.ts'
import { Entries, type Sum } from '../surface/entries.tsx'

type Query = NonNullable<paths['/v1/cfdi/deductions']['get']['parameters']['query']>
type EntriesQuery = paths['/v1/cfdi/deductions/entries']['get']['parameters']['query']

const read = (query: Record<string, string>) =>
  answer(api.GET('/v1/cfdi/deductions/entries', { params: { query: query as unknown as EntriesQuery } })) as Promise<InsightEntriesPage>

/** The figure of a year and category, as the totals say it. */
async function sum({ figure = '', year, category, ...range }: Record<string, string>): Promise<Sum | null> {
  if (!year || !category) return null
  const { totals, basis } = (await answer(
    api.GET('/v1/cfdi/deductions', { params: { query: { ...(range as Query), limit: 1 } } }),
  )) as Deductions
  const row = totals.find((one) => one.year === year && one.category === category) as Record<string, unknown> | undefined
  const text = row?.[figure]
  if (typeof text !== 'string') return null
  return { text: money(text), formulas: Object.fromEntries(Object.entries(basis.formulas).filter(([name]) => name === figure)) }
}

export default function DeductionEntries() {
  const t = useWords(words)
  return (
    <Entries
      path="cfdi/deductions"
      figure="unreconciled_payments"
      parameters={['from', 'to', 'profile', 'annual_income', 'year', 'category']}
      names={{ ...t.figure, ...t.others }}
      about={({ category, year }) => [category && (t.categories[category] ?? category), year]}
      read={read}
      sum={sum}
    />
  )
}
