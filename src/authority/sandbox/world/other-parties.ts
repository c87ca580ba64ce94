import { paymentOf } from './complements.ts'
import { type SandboxComprobante, share } from './comprobante.ts'
import type { Direction } from './draft.ts'
import { isSettled, noteOn } from './notes.ts'
import { type PlannedInvoice, partOf } from './payments.ts'
import { isDue, random } from './seed.ts'
import { circleOf } from './taxpayers.ts'

/**
 * Returns documents that name an invoice of other parties, now and then: a supplier's payment or credit note on an invoice of another
 * supplier or of the taxpayer itself, and a credit note to one client on the invoice of another. They settle nothing.
 */
export function strangersOf(
  rfc: string,
  direction: Direction,
  month: string,
  invoicesOf: (direction: Direction) => PlannedInvoice[],
): SandboxComprobante[] {
  return (['P', 'E'] as const).flatMap((tipo) => {
    const key = `${rfc}|${direction}|${tipo}|stranger`
    if (!isDue(key, month, 9) || (direction === 'issued' && tipo === 'P')) return []
    const draws = random(`${key}|${month}`)
    const invoice = invoicesOf(direction === 'received' && draws.chance(0.5) ? 'issued' : direction).find(
      (one) => isSettled(one.invoice) && one.invoice.moneda === 'MXN' && one.invoice.metodo === 'PPD',
    )?.invoice
    if (!invoice) return []
    const { self, clients, suppliers } = circleOf(rfc)
    const others = (direction === 'issued' ? clients : suppliers).filter(
      (one) => one.rfc !== invoice.emisor.rfc && one.rfc !== invoice.receptor.rfc && one.moneda === 'MXN',
    )
    const [emisor, receptor] = direction === 'issued' ? [self, draws.pick(others)] : [draws.pick(others), self]
    const { total } = invoice.amounts
    if (tipo === 'P') {
      const part = { invoice, parcialidad: 1, saldo_anterior: total, pagado: share(total, 10, 100) }
      return paymentOf(`${key}|${month}`, month, 'MXN', [part], receptor, emisor)
    }
    const conceptos = [partOf(invoice.conceptos[0]!, 10, 'Bonificación')]
    const rest = { tipo, serie: 'NC', forma: '03', lugar: emisor.place, conceptos, relacion: { tipo: '01', uuid: invoice.uuid } }
    return noteOn(invoice, 'stranger', month, rest, { emisor, receptor })
  })
}
