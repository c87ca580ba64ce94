import { useQuery } from '@tanstack/preact-query'
import { answer, api } from '../../../api/client.ts'
import { useWords } from '../../../language.ts'
import { following } from './months.ts'
import { words } from './words.ts'

/** The file of the return with an operation number, of those that declare the month; null where the service has none. */
async function readReturn(fiscal_entity_id: string, period: string, number: string): Promise<{ href: string; name: string } | null> {
  const path = { fiscal_entity_id }
  const query = {
    data_source_key: 'sat_declaracion_mensual',
    kind: 'declaracion',
    from: `${period}-01`,
    to: `${following(period)}-01`,
    limit: 100,
  } as const
  const { data } = await answer(api.GET('/v1/fiscal-entities/{fiscal_entity_id}/documents', { params: { path, query } }))
  const found = data.find(({ period_end, attributes }) => period_end?.startsWith(period) && attributes['numero_operacion'] === number)
  return found ? { href: `/v1/fiscal-entities/${fiscal_entity_id}/documents/${found.document_id}/content`, name: found.name } : null
}

/** The number of the return, which leads to its file where the service has it. */
export function Operation({ entity, period, number }: { entity: string; period: string; number: string }) {
  const t = useWords(words)
  const { data } = useQuery({ queryKey: ['return', entity, period, number], queryFn: () => readReturn(entity, period, number) })
  const text = t.operation(number)
  return data ? (
    <a href={data.href} download={data.name} aria-label={`${t.download}: ${text}`}>
      {text}
    </a>
  ) : (
    <span>{text}</span>
  )
}
