import type { Cfdi } from '../../../api/routes.d.ts'

/** How a CFDI is called on every page: its series and folio, or the beginning of its UUID where it has none or they are not known. */
export const nameOf = ({ serie, folio, uuid }: { uuid: string } & Partial<Pick<Cfdi, 'serie' | 'folio'>>): string =>
  [serie, folio].filter(Boolean).join(' ') || uuid.slice(0, 8)

/** The total of a payment is zero by law, and what was paid stands in its complement: a zero would say that nothing was. */
export const hasTotal = ({ tipo_comprobante }: Pick<Cfdi, 'tipo_comprobante'>): boolean => tipo_comprobante !== 'P'
