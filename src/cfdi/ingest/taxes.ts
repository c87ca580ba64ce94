import type { CfdiRow } from '../columns.ts'
import { type Micros, micros } from '../money.ts'
import type { CfdiDocument, Tax } from '../xml/document.ts'
import { bounded } from './row-rejected.ts'

type Taxes = Pick<CfdiRow, 'iva_trasladado' | 'iva_retenido' | 'isr_retenido' | 'ieps_trasladado'>

/** The taxes of a document in micros of its currency: those of the header, or the sums over the lines when the header has none. */
export function taxesOf({ kind, tipo_comprobante, impuestos, retencion, conceptos }: CfdiDocument): Taxes {
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
    iva_trasladado: sumOf(traslados, '002'),
    iva_retenido: sumOf(retenciones, '002'),
    isr_retenido: sumOf(retenciones, '001'),
    ieps_trasladado: sumOf(traslados, '003'),
  }
}

const sumOf = (taxes: readonly Tax[], impuesto: string): Micros | null =>
  taxes.length === 0 ? 0n : sum(taxes.filter((tax) => tax.impuesto === impuesto).map(({ importe }) => importe))

const sum = (amounts: readonly (string | null)[]): Micros | null =>
  bounded(amounts.reduce((all, amount) => all + (micros(amount) ?? 0n), 0n))
