import type { CfdiRow } from '../columns.ts'
import { type Micros, micros } from '../money.ts'
import type { CfdiDocument, Concepto, Tax } from '../xml/document.ts'
import { taxCode } from '../xml/fields.ts'

type Taxes = Pick<CfdiRow, 'iva_trasladado' | 'iva_retenido' | 'isr_retenido' | 'ieps_trasladado'>

type Which = 'traslados' | 'retenciones'

/** The taxes of the lines of a document, added up as they come. */
export class LineTaxes {
  readonly #sums = new Map<string, Micros>()

  add({ impuestos }: Concepto): void {
    for (const which of ['traslados', 'retenciones'] as const)
      for (const { impuesto, importe } of impuestos[which])
        this.#sums.set(`${which} ${impuesto}`, this.sum(which, impuesto) + (micros(importe) ?? 0n))
  }

  sum = (which: Which, impuesto: string): Micros => this.#sums.get(`${which} ${impuesto}`) ?? 0n
}

/**
 * The taxes of a document in micros of its currency: those of the header, or the sums over the lines when the header has none. The ISR of
 * payroll is what its Nómina withholds.
 */
export function taxesOf({ kind, tipo_comprobante, impuestos, nominas, retencion }: CfdiDocument, lines: LineTaxes): Taxes {
  if (kind === 'retenciones') {
    const withheld = (impuesto: string) =>
      sum((retencion?.impuestos ?? []).filter((tax) => taxCode(tax.impuesto ?? '') === impuesto).map(({ monto }) => monto))
    return { iva_trasladado: 0n, iva_retenido: withheld('002'), isr_retenido: withheld('001'), ieps_trasladado: 0n }
  }
  if (tipo_comprobante === 'P') return { iva_trasladado: 0n, iva_retenido: 0n, isr_retenido: 0n, ieps_trasladado: 0n }
  const of = (which: Which, impuesto: string): Micros =>
    impuestos[which].length > 0 ? sumOf(impuestos[which], impuesto) : lines.sum(which, impuesto)
  const isr = nominas.flatMap(({ isr_retenido }) => isr_retenido ?? [])
  return {
    iva_trasladado: of('traslados', '002'),
    iva_retenido: of('retenciones', '002'),
    isr_retenido: isr.length > 0 ? sum(isr) : of('retenciones', '001'),
    ieps_trasladado: of('traslados', '003'),
  }
}

const sumOf = (taxes: readonly Tax[], impuesto: string): Micros =>
  sum(taxes.filter((tax) => tax.impuesto === impuesto).map(({ importe }) => importe))

const sum = (amounts: readonly (string | null)[]): Micros => amounts.reduce((all, amount) => all + (micros(amount) ?? 0n), 0n)
