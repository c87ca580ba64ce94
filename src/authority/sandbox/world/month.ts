import { addMonths } from '../../../platform/time/months.ts'
import {
  amountsOf,
  cancellationAt,
  comprobante,
  type Direction,
  exchangeRate,
  hourOf,
  isOld,
  type Rest,
  type SandboxComprobante,
  type SandboxConcepto,
  type SandboxDoctoRelacionado,
  type SandboxRetencion,
  share,
  shareOf,
  untaxed,
} from './comprobante.ts'
import { afterStamp, invoicesOf, transfersOf } from './invoices.ts'
import { daysIn, FIRST_MONTH, later } from './places.ts'
import { isDue, random, remembering, uuidOf } from './seed.ts'
import { circleOf, isCompany, type Taxpayer } from './taxpayers.ts'

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

interface PlannedInvoice {
  invoice: SandboxComprobante
  plan: PaymentPlan
}

/** The maximum number of months after an invoice in which it is paid. */
const MAX_MONTHS = 4

const CREDIT_SHARE = 0.08
const RETURNED = 'Devoluciones, descuentos o bonificaciones'

/** Returns the payment plan of an invoice. It depends on the invoice alone, so that a later month needs no months in between. */
function paymentPlanOf(invoice: SandboxComprobante): PaymentPlan {
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
  const recipientBatch = (tax: SandboxConcepto['traslados'][number]) => shareOf(tax, percent, 100)
  return {
    ...{ clave: '84111506', clave_unidad: 'ACT', unidad: null, no_identificacion: null, descripcion },
    ...{ cantidad: 1, valor_unitario: importe, importe, descuento: 0, objeto_imp: sold.objeto_imp },
    traslados: sold.traslados.map(recipientBatch),
    retenciones: sold.retenciones.map(recipientBatch),
    local: sold.local && { ...sold.local, importe: share(importe, sold.local.tasa, 10_000) },
  }
}

const DAY = 86_400

/**
 * Returns one payment per counterparty and currency, for all instalments of the month. `earlier` has the invoices of each month before it.
 */
function paymentsOf(rfc: string, direction: Direction, month: string, earlier: PlannedInvoice[][]): SandboxComprobante[] {
  const groups = new Map<string, { moneda: string; documentos: SandboxDoctoRelacionado[] }>()
  earlier.forEach((invoices, i) => {
    for (const { invoice, plan } of invoices) {
      for (const due of plan.instalments) {
        if (due.after !== i + 1) continue
        const moneda = currencyOf(invoice, month)
        const key = `${invoice.emisor.rfc}|${invoice.receptor.rfc}|${invoice.receptor.nombre}|${moneda}`
        const group = groups.get(key) ?? { moneda, documentos: [] }
        group.documentos.push({ invoice, parcialidad: due.parcialidad, saldo_anterior: due.saldo_anterior, pagado: due.pagado })
        groups.set(key, group)
      }
    }
  })
  const isCorrected = isDue(`${rfc}|${direction}|correction`, month, 4)
  const clients = circleOf(rfc).clients
  return [...groups].flatMap(([key, { moneda, documentos }], i) => {
    // Now and then a third party pays: another client.
    const payer =
      direction === 'issued' && i === 1 && isDue(`${rfc}|payer`, month, 6) ? random(`${key}|${month}|payer`).pick(clients) : null
    const payment = paymentOf(`${key}|${month}`, month, moneda, documentos, payer)
    return i === 0 && isCorrected ? withCorrection(payment, isDue(`${rfc}|${direction}|correction`, month, 12)) : payment
  })
}

/**
 * The currency in which an invoice is paid. Mexicans may pay a foreign invoice in pesos or dollars, and one of pesos in dollars; foreigners
 * pay in its currency. Pagos 1.0 has no rate for dollars that pay pesos.
 */
function currencyOf({ uuid, moneda, receptor }: SandboxComprobante, month: string): string {
  const draws = random(`${uuid}|currency`)
  if (receptor.foreign || (moneda === 'MXN' && isOld(month))) return moneda
  return moneda === 'MXN' ? (draws.chance(0.05) ? 'USD' : 'MXN') : draws.pick([moneda, moneda, 'MXN', moneda === 'EUR' ? 'USD' : 'MXN'])
}

/** Returns a payment of the invoices, to the issuer of the first one unless another is given. */
function paymentOf(
  key: string,
  month: string,
  moneda: string,
  documentos: SandboxDoctoRelacionado[],
  payer: Taxpayer | null = null,
  payee: Taxpayer = documentos[0]!.invoice.emisor,
): SandboxComprobante {
  const draws = random(key)
  const fecha = hourOf(draws, month, 12, 22)
  const paid = `${later(fecha, -DAY * draws.int(0, 3)).slice(0, 10)}T12:00:00`
  return comprobante(
    { key, fecha: fecha < paid ? later(paid, 1800) : fecha, emisor: payee, receptor: payer ?? documentos[0]!.invoice.receptor },
    {
      ...{ tipo: 'P', serie: 'P', moneda: 'XXX', conceptos: [untaxed('84111506', 'ACT', 'Pago')] },
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

/** Returns a payment with the wrong form of payment, and the correct one that replaces it. The wrong one is cancelled, or forgotten. */
function withCorrection(right: SandboxComprobante, isForgotten: boolean): SandboxComprobante[] {
  const uuid = uuidOf(`${right.uuid}|correction`)
  const fecha = afterStamp(right, 2 * DAY)
  const correction = { ...right, uuid, fecha, folio: `${right.folio}1`, relacion: { tipo: '04', uuid: right.uuid } }
  const cancellation = isForgotten ? null : cancellationAt(afterStamp(correction, 3 * 3600), '01', uuid)
  return [{ ...right, pago: { ...right.pago!, forma: '01' }, isReplaced: true, cancellation }, correction]
}

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
const notesOf = (invoices: PlannedInvoice[], month: string): SandboxComprobante[] =>
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
function othersOf(
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
    const rest = { tipo, serie: 'NC', forma: '03', lugar: emisor.locality, conceptos, relacion: { tipo: '01', uuid: invoice.uuid } }
    return noteOn(invoice, `${direction}|others`, month, rest, { emisor, receptor })
  })
}

/** Returns the fortnightly payroll receipts of a month: those that a company issues, or those that a natural person receives. */
export function payrollOf(rfc: string, direction: Direction, month: string): SandboxComprobante[] {
  const { self, employees, employer } = circleOf(rfc)
  if (direction === 'issued') return employees.flatMap((employee) => receiptsOf(self, employee, month))
  return employer ? receiptsOf(employer, { ...self, regimen: '605' }, month) : []
}

function receiptsOf(emisor: Taxpayer, receptor: Taxpayer, month: string): SandboxComprobante[] {
  const contract = random(`${emisor.rfc}|${receptor.rfc}|contract`)
  const salario_diario = contract.int(31_500, 220_000)
  const inicio_relacion = `201${contract.int(0, 7)}-0${contract.int(1, 9)}-${contract.int(10, 28)}`
  const num_empleado = String(contract.int(1, 400)).padStart(4, '0')
  return [1, 16].map((first) => {
    const last = first === 1 ? 15 : daysIn(month)
    const day = (n: number) => `${month}-${String(n).padStart(2, '0')}`
    const draws = random(`${emisor.rfc}|${receptor.rfc}|${day(first)}`)
    const sueldo = salario_diario * 15
    const puntualidad = draws.chance(0.5) ? Math.floor(sueldo / 10) : 0
    const imss = Math.floor((sueldo * 27) / 1000)
    const isr = Math.floor((sueldo * (salario_diario < 60_000 ? 65 : 170)) / 1000)
    const subsidio = salario_diario < 60_000 ? 19_000 : 0
    const nomina = {
      ...{ fecha_pago: day(last), inicial: day(first), final: day(last), dias: 15 },
      ...{ inicio_relacion, salario_diario, num_empleado, sueldo, puntualidad, imss, isr, subsidio },
    }
    return comprobante(
      {
        key: `${emisor.rfc}|${receptor.rfc}|nomina|${day(first)}`,
        fecha: later(`${day(last)}T17:00:00`, draws.int(0, 7000)),
        emisor,
        receptor,
      },
      {
        ...{ tipo: 'N', serie: 'NOM', metodo: 'PUE', forma: isOld(month) ? '99' : null, nomina },
        conceptos: [untaxed('84111505', 'ACT', 'Pago de nómina', sueldo + puntualidad + subsidio, imss + isr)],
      },
    )
  })
}

/**
 * Returns the CFDI de retenciones of a month, every fourth month: what a company withheld from the fees of a person, or from a foreigner.
 */
export function retencionesOf(rfc: string, direction: Direction, month: string): SandboxComprobante[] {
  const { self, clients, suppliers, foreigners } = circleOf(rfc)
  const key = `${rfc}|${direction}|retenciones`
  if (!isDue(key, month, 4) || (direction === 'issued' && !isCompany(rfc))) return []
  const draws = random(`${key}|${month}`)
  const people = suppliers.filter((one) => !isCompany(one.rfc))
  const [emisor, receptor] =
    direction === 'received'
      ? [draws.pick((isCompany(rfc) ? suppliers : clients).filter((one) => isCompany(one.rfc))), self]
      : [self, draws.pick([...people, ...people, ...foreigners])]
  const isFee = !isCompany(receptor.rfc) && !receptor.foreign
  const base = draws.int(800_000, 6_000_000)
  const retencion: SandboxRetencion = {
    ...{ clave: isFee ? '01' : '25', descripcion: isFee ? null : 'Otro tipo de retenciones', month: addMonths(month, -1) },
    ...{ isr: share(base, 10, 100), iva: isFee ? share(base, 106_667, 1_000_000) : 0 },
  }
  const conceptos = [untaxed('84111506', 'ACT', 'Retenciones', base)]
  return [
    comprobante(
      { key: `${key}|${month}`, fecha: hourOf(draws, month, 5, 10), emisor, receptor },
      { tipo: null, serie: 'R', conceptos, retencion },
    ),
  ]
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
    ...notesOf(earlier[0]!, month),
    ...paymentsOf(rfc, direction, month, earlier),
    ...othersOf(rfc, direction, month, (of) => plannedInvoices(rfc, of, addMonths(month, -1))),
    ...retencionesOf(rfc, direction, month),
  ].sort((a, b) => (a.fecha < b.fecha ? -1 : a.fecha > b.fecha ? 1 : a.uuid < b.uuid ? -1 : 1))
}

const drawn = remembering(48, (key): PlannedInvoice[] => {
  const [rfc, direction, month] = key.split('|') as [string, Direction, string]
  return invoicesOf(rfc, direction, month).map((invoice) => ({ invoice, plan: paymentPlanOf(invoice) }))
})

const plannedInvoices = (rfc: string, direction: Direction, month: string): PlannedInvoice[] =>
  month < FIRST_MONTH ? [] : drawn(`${rfc}|${direction}|${month}`)
