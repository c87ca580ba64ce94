import { answer, api } from '../../../api/client.ts'
import type { VatPosition } from '../../../api/routes.d.ts'

export const readVat = (query: { fiscal_entity_id: string; from?: string; to?: string; period?: string }) =>
  answer(api.GET('/v1/analytics/vat-position', { params: { query } })) as Promise<VatPosition>
