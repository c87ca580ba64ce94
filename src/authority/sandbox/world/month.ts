import { paymentsOf } from './complements.ts'
import type { SandboxComprobante } from './comprobante.ts'
import type { Direction } from './draft.ts'
import { invoicesOf, transfersOf } from './invoices.ts'
import { notesOf, othersOf } from './notes.ts'
import { MAX_MONTHS, type PlannedInvoice, paymentPlanOf } from './payments.ts'
import { payrollOf } from './payroll.ts'
import { addMonths, FIRST_MONTH } from './places.ts'
import { retencionesOf } from './retenciones.ts'

/**
 * Returns the 20 to 60 documents of a month by date. A month is generated independently: the payments of earlier invoices follow from the
 * invoices of the months before it, which are drawn again.
 */
export function documentsOf(rfc: string, direction: Direction, month: string): SandboxComprobante[] {
  if (month < FIRST_MONTH) return []
  const earlier = Array.from({ length: MAX_MONTHS }, (_, i) => plannedInvoices(rfc, direction, addMonths(month, -1 - i)))
  return [
    ...plannedInvoices(rfc, direction, month).map(({ invoice }) => invoice),
    ...transfersOf(rfc, direction, month),
    ...payrollOf(rfc, direction, month),
    ...notesOf(earlier[0]!, month),
    ...paymentsOf(rfc, direction, month, earlier),
    ...othersOf(rfc, direction, month, (of) => plannedInvoices(rfc, of, addMonths(month, -1))),
    ...retencionesOf(rfc, direction, month),
  ].sort((a, b) => (a.fecha < b.fecha ? -1 : a.fecha > b.fecha ? 1 : a.uuid < b.uuid ? -1 : 1))
}

const KEPT = 48
const drawn = new Map<string, PlannedInvoice[]>()

function plannedInvoices(rfc: string, direction: Direction, month: string): PlannedInvoice[] {
  if (month < FIRST_MONTH) return []
  const key = `${rfc}|${direction}|${month}`
  const invoices = drawn.get(key) ?? invoicesOf(rfc, direction, month).map((invoice) => ({ invoice, plan: paymentPlanOf(invoice) }))
  drawn.delete(key)
  drawn.set(key, invoices)
  if (drawn.size > KEPT) drawn.delete(drawn.keys().next().value!)
  return invoices
}
