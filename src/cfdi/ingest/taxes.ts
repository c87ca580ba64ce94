import { type Micros, micros } from '../money.ts'
import type { CfdiDocument, Tax } from '../xml/document.ts'
import { bounded } from './row-rejected.ts'

/** Of the header, and of the lines where the header is silent; in the document's currency. */
export function taxesOf({ kind, tipo_comprobante, impuestos, retencion, conceptos }: CfdiDocument) {
  if (kind === 'retenciones') {
    const withheld = (impuesto: string) =>
      sum((retencion?.impuestos ?? []).filter((tax) => tax.impuesto === impuesto).map(({ monto }) => monto))
    return { iva_trasladado: 0n, iva_retenido: withheld('002'), isr_retenido: withheld('001'), ieps_trasladado: 0n }
  }
  if (tipo_comprobante === 'P') return { iva_trasladado: 0n, iva_retenido: 0n, isr_retenido: 0n, ieps_trasladado: 0n }
  const of = (which: 'traslados' | 'retenciones') =>
    impuestos[which].length > 0 ? impuestos[which] : conceptos.flatMap((concepto) => concepto.impuestos[which])
  const traslados = of('traslados')
  const retenciones = of('retenciones')
  return {
    iva_trasladado: taxed(traslados, '002'),
    iva_retenido: taxed(retenciones, '002'),
    isr_retenido: taxed(retenciones, '001'),
    ieps_trasladado: taxed(traslados, '003'),
  }
}

const taxed = (taxes: readonly Tax[], impuesto: string): Micros | null =>
  taxes.length === 0 ? 0n : sum(taxes.filter((tax) => tax.impuesto === impuesto).map(({ importe }) => importe))

const sum = (amounts: readonly (string | null)[]): Micros | null =>
  bounded(amounts.reduce((all, amount) => all + (micros(amount) ?? 0n), 0n))
