import { isZero, type Micros, micros, over, part, sum, times } from './amounts.ts'
import { countedAt, isToItself, isTooLarge, isVigenteAt, netOf, populationOf, rateOf, signOf } from './counting.ts'
import type { Day, Direction } from './shapes.ts'
import { IVA, ivaFigures, statedTaxes, type Tax, taxesOf, taxSum } from './taxes.ts'
import { type Document, dayOf, type World } from './world.ts'

type Pago = Document['pagos'][number]
type Docto = Pago['documentos'][number]

/** Money that moved, with its taxes, in MXN. Amounts of credit notes are negative. */
export interface CashEvent {
  uuid: string
  applies_to: string | null
  source: 'cfdi' | 'pago'
  direction: Direction
  day: Day
  /** The invoice that is paid, or the document itself. */
  document: Document
  forma: string | null
  paid: Micros
  /** What was paid in the invoice's currency. */
  own: Micros
  net: Micros
  taxes: Tax[]
}

export type Reason = 'unknown' | 'cancelled' | 'substituted' | 'other_parties' | 'currency_mismatch' | 'missing_rate'

/** A DoctoRelacionado that is no event. */
export interface Unreconciled {
  uuid: string
  applies_to: string
  direction: Direction
  day: Day
  reason: Reason
  /** IVA that it states, in MXN; nothing when it cannot be converted. */
  iva: Micros
  pagado: string | null
}

const scaled = (tax: Tax, f: (amount: Micros) => Micros): Tax => ({ ...tax, base: f(tax.base), importe: f(tax.importe) })

/** Converts amounts of a DoctoRelacionado to MXN; null without a rate. */
export function converter(world: World, pago: Pago, docto: Docto): ((amount: Micros) => Micros) | null {
  if (docto.moneda_dr === 'MXN') return (amount) => amount
  const moneda = pago.moneda_p ?? 'MXN'
  const rate = moneda === 'MXN' ? '1' : (pago.tipo_cambio_p ?? world.rates(moneda, dayOf(pago.fecha_pago))?.rate ?? null)
  const equivalence = docto.equivalencia_dr ?? (docto.moneda_dr === null || docto.moneda_dr === moneda ? '1' : null)
  if (rate === null || equivalence === null || isZero(equivalence)) return null
  return (amount) => times(over(amount, equivalence), rate)
}

function reasonOf(world: World, payment: Document, docto: Docto, invoice: Document | undefined, asOf: Day | null): Reason | null {
  if (invoice?.tipo_comprobante !== 'I' || !invoice.has_xml || isToItself(invoice)) return 'unknown'
  if (!isVigenteAt(invoice, asOf)) return 'cancelled'
  if (dayOf(invoice.fecha) <= (asOf ?? world.today) && !countedAt(world, asOf).has(invoice.uuid)) return 'substituted'
  if (invoice.emisor_rfc !== payment.emisor_rfc) return 'other_parties'
  return docto.moneda_dr === invoice.currency ? null : 'currency_mismatch'
}

interface Movements {
  events: CashEvent[]
  unreconciled: Unreconciled[]
  /** The invoices that complements pay. */
  paidByComplements: Set<string>
}

const kept = new WeakMap<World, Movements>()

/** All movements of cash that the documents show. */
export function movementsOf(world: World): Movements {
  const known = kept.get(world)
  if (known) return known
  const movements = paidLater(world, null)
  kept.set(world, movements)
  addPaidAtOnce(world, movements)
  return movements
}

/** What complements pay, as they and the invoices stand at the end of a past day, or now. */
export function paidLater(world: World, asOf: Day | null): Movements {
  const movements: Movements = { events: [], unreconciled: [], paidByComplements: new Set() }
  const counted = countedAt(world, asOf)
  const byUuid = new Map(world.documents.map((one) => [`${one.origin}|${one.uuid}`, one]))
  const find = (uuid: string, { origin }: Document) => byUuid.get(`${origin}|${uuid}`)
  for (const payment of world.documents) {
    if (payment.tipo_comprobante !== 'P' || !counted.has(payment.uuid) || !payment.has_xml || isToItself(payment)) continue
    for (const pago of payment.pagos)
      for (const docto of pago.documentos) {
        const invoice = find(docto.uuid, payment)
        const convert = converter(world, pago, docto)
        const reason = reasonOf(world, payment, docto, invoice, asOf) ?? (convert === null ? 'missing_rate' : null)
        if (reason === null || reason === 'missing_rate') movements.paidByComplements.add(docto.uuid)
        const common = { uuid: payment.uuid, applies_to: docto.uuid, day: dayOf(pago.fecha_pago) }
        const own = statedTaxes(docto.impuestos_dr)
        if (reason !== null || convert === null) {
          const iva =
            convert === null
              ? 0n
              : sum(own.filter(({ kind, impuesto }) => kind === 'traslado' && impuesto === IVA).map((tax) => convert(tax.importe)))
          movements.unreconciled.push({ ...common, direction: payment.direction, reason: reason!, iva, pagado: docto.imp_pagado })
          continue
        }
        if (isTooLarge(world, invoice!)) continue
        movements.events.push({ ...common, ...eventOf(pago, docto, invoice!, own, convert) })
      }
  }
  return movements
}

function addPaidAtOnce(world: World, { events, paidByComplements }: Movements): void {
  for (const document of populationOf(world, null, ['I', 'E'])) {
    if (document.metodo_pago !== 'PUE' || (document.tipo_comprobante === 'I' && paidByComplements.has(document.uuid))) continue
    const rate = rateOf(world, document)!
    const f = (amount: Micros) => times(amount, rate) * signOf(document)
    events.push({
      ...{ uuid: document.uuid, applies_to: null, source: 'cfdi', direction: document.direction, day: dayOf(document.fecha), document },
      ...{
        forma: document.forma_pago,
        paid: f(micros(document.total)),
        own: micros(document.total) * signOf(document),
        net: f(netOf(document)),
      },
      taxes: taxesOf(document).map((tax) => scaled(tax, f)),
    })
  }
}

function eventOf(pago: Pago, docto: Docto, invoice: Document, own: Tax[], convert: (amount: Micros) => Micros) {
  const [paid, total] = [micros(docto.imp_pagado), micros(invoice.total)]
  const share = (amount: Micros) => part(amount, paid, total)
  const taxes = own.length > 0 || docto.objeto_imp_dr === '01' ? own : taxesOf(invoice).map((tax) => scaled(tax, share))
  return {
    ...{ source: 'pago' as const, direction: invoice.direction, document: invoice, forma: pago.forma_pago_p },
    ...{ paid: convert(paid), own: paid, net: convert(share(netOf(invoice))), taxes: taxes.map((tax) => scaled(tax, convert)) },
  }
}

/** IVA that an event moves from the customer to the supplier. */
export const ivaOf = ({ taxes }: CashEvent): Micros => taxSum(taxes, 'traslado', IVA)

/** What an event adds to the figures of the VAT position. */
export const figuresOf = ({ taxes }: CashEvent) => taxes.flatMap(ivaFigures)

/** The events of a document: the forms and days of its payment. */
export const eventsOf = (world: World, { uuid }: Document): CashEvent[] =>
  movementsOf(world).events.filter((one) => (one.applies_to ?? one.uuid) === uuid)
