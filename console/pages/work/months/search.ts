import type { CfdiMonth } from '../../../api/routes.d.ts'

/** What the search of a month is narrowed to, so that it has the documents that a figure sums. The taxes of a month are those of its invoices (I). */
const ONLY = {
  net: { tipo_comprobante: 'I,E' },
  total: { tipo_comprobante: 'I' },
  subtotal: { tipo_comprobante: 'I' },
  descuento: { tipo_comprobante: 'I' },
  credit_notes: { tipo_comprobante: 'E' },
  iva_trasladado: { tipo_comprobante: 'I' },
  iva_retenido: { tipo_comprobante: 'I' },
  isr_retenido: { tipo_comprobante: 'I' },
  pue_total: { tipo_comprobante: 'I', metodo_pago: 'PUE' },
  ppd_total: { tipo_comprobante: 'I', metodo_pago: 'PPD' },
  count: {},
  cancelled_count: { estatus: 'cancelado' },
} as const

export type Count = 'count' | 'cancelled_count'
export type Amount = Exclude<keyof typeof ONLY, Count>

/** The search of GET /v1/cfdi with the documents of a figure of a month. */
export function searchOf(figure: Amount | Count, { drilldown }: Pick<CfdiMonth, 'drilldown'>): string {
  const [path, query] = drilldown.split('?') as [string, string]
  const params = new URLSearchParams(query)
  for (const [name, value] of Object.entries(ONLY[figure])) params.set(name, value)
  // A cancelled document counts as cancelled, whatever substitutes it.
  if (figure === 'cancelled_count') params.delete('is_substituted')
  return `${path}?${params}`
}
