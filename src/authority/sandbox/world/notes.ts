import { paymentOf } from './complements.ts'
import { type SandboxComprobante, share } from './comprobante.ts'
import { comprobante, type Direction, hourOf, type Rest } from './draft.ts'
import { type PlannedInvoice, partOf } from './payments.ts'
import { isDue, random } from './seed.ts'
import { circleOf } from './taxpayers.ts'

type Parties = Pick<SandboxComprobante, 'emisor' | 'receptor'>

/** Returns a document of the month that refers to an invoice of the month before. */
function noteOn(
  invoice: SandboxComprobante,
  name: string,
  month: string,
  rest: Rest & Pick<SandboxComprobante, 'conceptos'>,
  { emisor, receptor }: Parties = invoice,
): SandboxComprobante {
  const key = `${invoice.uuid}|${name}`
  const { lugar, moneda } = invoice
  return comprobante({ key, fecha: hourOf(random(key), month, 4, 11), emisor, receptor }, { lugar, moneda, metodo: 'PUE', ...rest })
}

/** Returns the credit notes (01, 03) and debit notes (02) on the invoices of the month before. */
export const notesOf = (invoices: PlannedInvoice[], month: string): SandboxComprobante[] =>
  invoices.flatMap(({ invoice, plan: { credit } }) => {
    const { uuid } = invoice
    if (credit) {
      const relacion = { tipo: credit.tipo_relacion, uuid }
      const forma = invoice.metodo === 'PPD' ? '15' : '03'
      return noteOn(invoice, 'credit', month, { tipo: 'E', serie: 'NC', forma, conceptos: credit.conceptos, relacion })
    }
    if (!isSale(invoice) || !random(`${uuid}|debit`).chance(0.03)) return []
    const conceptos = [partOf(invoice.conceptos[0]!, 3, 'Cargo por ajuste de precio')]
    return noteOn(invoice, 'debit', month, { tipo: 'I', serie: 'ND', forma: '03', conceptos, relacion: { tipo: '02', uuid } })
  })

/** Whether an invoice is a valid sale: neither of an advance nor to the public. */
const isSale = ({ serie, cancellation, isReplaced, relacion }: SandboxComprobante): boolean =>
  (serie === 'F' || serie === 'A') && !cancellation && !isReplaced && relacion?.tipo !== '07'

/**
 * Returns documents that name an invoice of other parties, now and then: a supplier's payment or credit note on an invoice of another
 * supplier or of the taxpayer itself, and a credit note to one client on the invoice of another. They settle nothing.
 */
export function othersOf(
  rfc: string,
  direction: Direction,
  month: string,
  invoicesOf: (direction: Direction) => PlannedInvoice[],
): SandboxComprobante[] {
  return (['P', 'E'] as const).flatMap((tipo) => {
    const key = `${rfc}|${direction}|${tipo}|others`
    if (!isDue(key, month, 9) || (direction === 'issued' && tipo === 'P')) return []
    const draws = random(`${key}|${month}`)
    const invoice = invoicesOf(direction === 'received' && draws.chance(0.5) ? 'issued' : direction).find(
      (one) => isSale(one.invoice) && one.invoice.moneda === 'MXN' && one.invoice.metodo === 'PPD',
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
    return noteOn(invoice, `${direction}|others`, month, rest, { emisor, receptor })
  })
}
