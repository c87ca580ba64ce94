import { answer, api } from '../../../api/client.ts'
import type { InsightEntriesPage, paths } from '../../../api/routes.d.ts'
import { money } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Entries, type Sum } from '../surface/entries.tsx'
import { readVat } from '../vat/read.ts'
import { figureNames, words } from '../vat/words.ts'

type Query = paths['/v1/analytics/vat-position/entries']['get']['parameters']['query']

const read = (query: Record<string, string>) =>
  // An address may hold any text: what the API does not know it refuses, and the page says so.
  answer(api.GET('/v1/analytics/vat-position/entries', { params: { query: query as unknown as Query } })) as Promise<InsightEntriesPage>

/** The figure of a month, as the row of the month says it. */
async function sum(own: Record<string, string>): Promise<Sum | null> {
  const { figure = '', period = '', rfc, fiscal_entity_id = '' } = own
  if (!period || rfc) return null
  const { data, basis } = await readVat({ fiscal_entity_id, period })
  const path = figure === 'pagos_sin_conciliar' ? [figure, 'iva'] : figure.split('.')
  const text = path.reduce<unknown>((part, name) => (part as Record<string, unknown> | undefined)?.[name], data[0])
  if (typeof text !== 'string') return null
  return { text: money(text), formulas: Object.fromEntries(Object.entries(basis.formulas).filter(([name]) => figure.startsWith(name))) }
}

export default function VatEntries() {
  const t = useWords(words)
  return (
    <Entries
      path="analytics/vat-position"
      figure="cobrado.iva_16"
      parameters={['period', 'from', 'to', 'rfc']}
      names={figureNames(t)}
      read={read}
      sum={sum}
    />
  )
}
