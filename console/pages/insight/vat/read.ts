import { answer, api } from '../../../api/client.ts'
import type { VatPosition } from '../../../api/routes.d.ts'
import { following } from '../figures/months.ts'

export const readVat = (query: { fiscal_entity_id: string; from?: string; to?: string; period?: string }) =>
  answer(api.GET('/v1/analytics/vat-position', { params: { query } })) as Promise<VatPosition>

/** The file of the return with an operation number, of those that declare the month; null where the service has none. */
export async function readReturn(fiscal_entity_id: string, period: string, number: string): Promise<{ href: string; name: string } | null> {
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
