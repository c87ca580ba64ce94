import { type SandboxComprobante, type SandboxDoctoRelacionado, untaxed } from './comprobante.ts'
import { exchangeRate } from './exchange.ts'
import { comprobante, type Direction, hourOf, invoicesOf, transfersOf } from './invoices.ts'
import { MAX_MONTHS, type PaymentPlan, paymentPlanOf } from './payments.ts'
import { payrollOf } from './payroll.ts'
import { addMonths, later } from './places.ts'
import { random, uuidOf } from './seed.ts'

/** The first month with documents. */
const FIRST_MONTH = '2018-01'

interface PlannedInvoice {
  invoice: SandboxComprobante
  plan: PaymentPlan
}

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
    ...creditNotesOf(earlier[0]!, month),
    ...paymentsOf(earlier, month),
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

function creditNotesOf(invoices: PlannedInvoice[], month: string): SandboxComprobante[] {
  return invoices.flatMap(({ invoice, plan: { credit } }) => {
    if (!credit) return []
    const draws = random(`${invoice.uuid}|credit`)
    const { emisor, receptor, lugar, moneda } = invoice
    return comprobante(
      { key: `${invoice.uuid}|credit`, fecha: hourOf(draws, month, 1, 8), emisor, receptor },
      {
        ...{ tipo: 'E', serie: 'NC', lugar, moneda, metodo: 'PUE', conceptos: credit.conceptos },
        forma: invoice.metodo === 'PPD' ? '15' : '03',
        uso: receptor.foreign ? 'S01' : 'G02',
        relacion: { tipo: credit.tipo_relacion, uuid: invoice.uuid },
      },
    )
  })
}

/** Returns one payment per counterparty and currency, for all instalments of the month. */
function paymentsOf(earlier: PlannedInvoice[][], month: string): SandboxComprobante[] {
  const groups = new Map<string, { moneda: string; documentos: SandboxDoctoRelacionado[] }>()
  earlier.forEach((invoices, i) => {
    for (const { invoice, plan } of invoices) {
      for (const due of plan.instalments) {
        if (due.after !== i + 1) continue
        const moneda = currencyOf(invoice)
        const key = `${invoice.emisor.rfc}|${invoice.receptor.rfc}|${invoice.receptor.nombre}|${moneda}`
        const group = groups.get(key) ?? { moneda, documentos: [] }
        group.documentos.push({ invoice, parcialidad: due.parcialidad, saldo_anterior: due.saldo_anterior, pagado: due.pagado })
        groups.set(key, group)
      }
    }
  })
  let substituted = false
  return [...groups].flatMap(([key, { moneda, documentos }]) => {
    const payment = paymentOf(`${key}|${month}`, month, moneda, documentos)
    if (substituted || !random(`${key}|${month}|again`).chance(0.03)) return payment
    substituted = true
    return withCorrection(payment)
  })
}

/** The currency in which an invoice is paid. Mexicans may pay a foreign invoice in pesos; foreigners pay in its currency. */
const currencyOf = (invoice: SandboxComprobante): string =>
  invoice.moneda !== 'MXN' && !invoice.receptor.foreign && random(`${invoice.uuid}|currency`).chance(0.5) ? 'MXN' : invoice.moneda

function paymentOf(key: string, month: string, moneda: string, documentos: SandboxDoctoRelacionado[]): SandboxComprobante {
  const draws = random(key)
  const { emisor, receptor } = documentos[0]!.invoice
  const fecha = hourOf(draws, month, 12, 25)
  const paid = `${later(fecha, -86_400 * draws.int(0, 3)).slice(0, 10)}T12:00:00`
  return comprobante(
    { key, fecha: fecha < paid ? later(paid, 1800) : fecha, emisor, receptor },
    {
      ...{ tipo: 'P', serie: 'P', moneda: 'XXX', uso: 'CP01', conceptos: [untaxed('84111506', 'ACT', 'Pago')] },
      pago: {
        ...{
          fecha: paid,
          forma: draws.pick(['03', '03', '03', '02']),
          num_operacion: String(draws.int(100_000, 999_999)),
          moneda,
          documentos,
        },
        tipo_cambio: exchangeRate(moneda, paid.slice(0, 10)) ?? 10_000,
      },
    },
  )
}

/** Returns a cancelled payment with the wrong form of payment, and the correct one that replaces it. */
function withCorrection(right: SandboxComprobante): SandboxComprobante[] {
  const wrong = { ...right, pago: { ...right.pago!, forma: '01' } }
  const uuid = uuidOf(`${right.uuid}|correction`)
  const fecha = later(right.fecha, 2 * 86_400)
  const cancellation = { at: later(fecha, 900), motivo: '01', folio_sustitucion: uuid }
  return [
    { ...wrong, cancellation },
    { ...right, uuid, fecha, folio: `${right.folio}1`, relacion: { tipo: '04', uuid: right.uuid } },
  ]
}
