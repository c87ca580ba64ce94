import { amountsOf, type Comprobante, type Concepto, share, taxOn } from './comprobante.ts'
import { random } from './seed.ts'

/** What becomes of an invoice in the months after its own. */
export interface Settlement {
  /** A credit note, a month later and before any payment. */
  credit: { tipo_relacion: '01' | '03'; conceptos: Concepto[] } | null
  instalments: Instalment[]
}

interface Instalment {
  /** Months after the invoice, 1 to `LONGEST`. */
  after: number
  parcialidad: number
  saldo_anterior: number
  pagado: number
}

/** An invoice is settled within so many months, if ever. */
export const LONGEST = 4

const CREDIT_SHARE = 0.08

/** Decided by the invoice alone, so that any later month can derive its part without the months between. */
export function settlementOf(invoice: Comprobante): Settlement {
  const draws = random(`${invoice.uuid}|settlement`)
  if (invoice.tipo !== 'I' || invoice.cancellation || invoice.global) return { credit: null, instalments: [] }
  // An advance and what it paid for are over within their month.
  if (invoice.serie === 'AN' || invoice.relacion?.tipo === '07') return { credit: null, instalments: [] }
  const credit = draws.chance(CREDIT_SHARE)
    ? { tipo_relacion: draws.pick(['01', '03'] as const), conceptos: [returned(invoice.conceptos[0]!, draws.int(5, 20))] }
    : null
  const payable = invoice.amounts.total - (credit ? amountsOf(credit.conceptos).total : 0)
  if (invoice.metodo !== 'PPD' || draws.chance(0.08)) return { credit, instalments: [] }
  const count = draws.pick([1, 1, 1, 2, 2, 3])
  const first = draws.pick([1, 1, 2])
  const abandoned = count > 1 && draws.chance(0.25)
  const instalments: Instalment[] = []
  let saldo_anterior = payable
  for (let k = 0; k < count; k++) {
    const last = k === count - 1
    if (last && abandoned) break
    const pagado = last ? saldo_anterior : share(payable, draws.int(20, 40), 100)
    instalments.push({ after: first + k, parcialidad: k + 1, saldo_anterior, pagado })
    saldo_anterior -= pagado
  }
  return { credit, instalments }
}

/** A percentage of what was sold, with the taxes that it bore. */
function returned(sold: Concepto, percent: number): Concepto {
  const importe = share(sold.importe - sold.descuento, percent, 100)
  const portion = (tax: Concepto['traslados'][number]) => {
    const base = share(tax.base, percent, 100)
    return { ...tax, base, importe: tax.factor === 'Tasa' ? taxOn(base, tax.tasa) : 0 }
  }
  return {
    ...sold,
    ...{
      clave: '84111506',
      clave_unidad: 'ACT',
      unidad: null,
      no_identificacion: null,
      descripcion: 'Devoluciones, descuentos o bonificaciones',
    },
    ...{ cantidad: 1, valor_unitario: importe, importe, descuento: 0 },
    traslados: sold.traslados.map(portion),
    retenciones: sold.retenciones.map(portion),
  }
}
