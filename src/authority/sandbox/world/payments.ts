import { amountsOf, type SandboxComprobante, type SandboxConcepto, share, shareOf } from './comprobante.ts'
import { random } from './seed.ts'

/** How an invoice is paid in the months after its own. */
export interface PaymentPlan {
  /** A credit note, one month later and before any payment. */
  credit: { tipo_relacion: '01' | '03'; conceptos: SandboxConcepto[] } | null
  instalments: Instalment[]
}

interface Instalment {
  /** Months after the invoice, from 1 to `MAX_MONTHS`. */
  after: number
  parcialidad: number
  saldo_anterior: number
  pagado: number
}

export interface PlannedInvoice {
  invoice: SandboxComprobante
  plan: PaymentPlan
}

/** The maximum number of months after an invoice in which it is paid. */
export const MAX_MONTHS = 4

const CREDIT_SHARE = 0.08
const RETURNED = 'Devoluciones, descuentos o bonificaciones'

/** Returns the payment plan of an invoice. It depends on the invoice alone, so that a later month needs no months in between. */
export function paymentPlanOf(invoice: SandboxComprobante): PaymentPlan {
  const draws = random(`${invoice.uuid}|settlement`)
  if (invoice.tipo !== 'I' || invoice.cancellation || invoice.isReplaced || invoice.serie === 'G') return { credit: null, instalments: [] }
  // An advance and its invoice are complete within their month.
  if (invoice.serie === 'AN' || invoice.relacion?.tipo === '07') return { credit: null, instalments: [] }
  const credit = draws.chance(CREDIT_SHARE)
    ? { tipo_relacion: draws.pick(['01', '03'] as const), conceptos: [partOf(invoice.conceptos[0]!, draws.int(5, 20), RETURNED)] }
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

/** Returns the line of a credit or debit note for a percentage of a sold line, with its taxes. */
export function partOf(sold: SandboxConcepto, percent: number, descripcion: string): SandboxConcepto {
  const importe = share(sold.importe - sold.descuento, percent, 100)
  const portion = (tax: SandboxConcepto['traslados'][number]) => shareOf(tax, percent, 100)
  return {
    ...{ clave: '84111506', clave_unidad: 'ACT', unidad: null, no_identificacion: null, descripcion },
    ...{ cantidad: 1, valor_unitario: importe, importe, descuento: 0, objeto_imp: sold.objeto_imp },
    traslados: sold.traslados.map(portion),
    retenciones: sold.retenciones.map(portion),
    local: sold.local && { ...sold.local, importe: share(importe, sold.local.tasa, 10_000) },
  }
}
