import type { SandboxComprobante } from './comprobante.ts'
import { comprobante, hourOf, type Rest } from './draft.ts'
import { type PlannedInvoice, partOf } from './payments.ts'
import { random } from './seed.ts'

type Parties = Pick<SandboxComprobante, 'emisor' | 'receptor'>

/** Returns a document of the month that refers to an invoice of the month before. */
export function noteOn(
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
    if (!isSettled(invoice) || !random(`${uuid}|debit`).chance(0.03)) return []
    const conceptos = [partOf(invoice.conceptos[0]!, 3, 'Cargo por ajuste de precio')]
    return noteOn(invoice, 'debit', month, { tipo: 'I', serie: 'ND', forma: '03', conceptos, relacion: { tipo: '02', uuid } })
  })

/** Whether an invoice is a valid sale: neither of an advance nor to the public. */
export const isSettled = ({ serie, cancellation, isReplaced, relacion }: SandboxComprobante): boolean =>
  (serie === 'F' || serie === 'A') && !cancellation && !isReplaced && relacion?.tipo !== '07'
