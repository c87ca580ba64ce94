import { moneyInForm30, namesAdvance } from './advances.ts'
import { isZero, type Micros, micros, over, part as portion, sum, times } from './amounts.ts'
import { appliedTo, paymentOf } from './balances.ts'
import { countedAt, inPesos, isToItself, isTooLarge, isVigenteAt, netOf, populationOf, rateOf } from './counting.ts'
import { type LineFigure, lineFiguresOf } from './lines.ts'
import { partsOf, stated } from './notes.ts'
import type { Day, Direction } from './shapes.ts'
import { IVA, ivaFigures, statedTaxes, type Tax, taxesOf, taxSum } from './taxes.ts'
import { compare, type Document, dayOf, lastDayOf, monthOf, type World } from './world.ts'

type Pago = Document['pagos'][number]
type Docto = Pago['documentos'][number]

/** Money that moved, with its taxes, in MXN. Amounts of credit notes are negative. */
export interface CashEvent {
  uuid: string
  applies_to: string | null
  source: 'cfdi' | 'pago'
  direction: Direction
  day: Day
  /** The invoice that is paid, or of which something is returned; or the document itself. */
  document: Document
  /** The credit note that returns it, and the payments that it returns; null of another event. */
  refund: { note: Document; of: Payment[] } | null
  forma: string | null
  /** What the whole payment is of, in MXN. */
  pesos: Micros
  paid: Micros
  /** What was paid in the invoice's currency. */
  own: Micros
  net: Micros
  taxes: Tax[]
  /** What its lines say besides. */
  lines: [LineFigure, Micros][]
}

/** A payment by its form. The amount in MXN is null where its rate is not known. */
export interface Payment {
  forma: string | null
  pesos: Micros | null
  amount: Micros
  day: Day
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

const linesOf = (document: Document, f: (amount: Micros) => Micros): CashEvent['lines'] =>
  lineFiguresOf(document).map(([name, amount]) => [name, f(amount)])
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
  addReturned(world, movements)
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
        const unmatched = reasonOf(world, payment, docto, invoice, asOf)
        const isMoved = unmatched === null && pago.forma_pago_p === '30' && namesAdvance(invoice!)
        const money = isMoved ? (moneyInForm30(world).get(docto) ?? 0n) : micros(docto.imp_pagado)
        if (unmatched === null) movements.paidByComplements.add(docto.uuid)
        // An advance was money before.
        if (isMoved && money === 0n) continue
        const reason = unmatched ?? (convert === null ? 'missing_rate' : null)
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
        movements.events.push({ ...common, ...eventOf(pago, docto, money, invoice!, own, convert) })
      }
  }
  return movements
}

/** The day on which a document counts: a global invoice belongs to the months of InformacionGlobal. */
export function countedOn({ tipo_comprobante, fecha, informacion_global }: Document): Day {
  const { meses = null, anio = null } = informacion_global ?? {}
  if (tipo_comprobante !== 'I' || meses === null || anio === null) return dayOf(fecha)
  const n = Number(meses)
  const months = (n > 12 ? [2 * (n - 12) - 1, 2 * (n - 12)] : [n]).map((month) => `${anio}-${String(month).padStart(2, '0')}`)
  return months.includes(monthOf(fecha)) ? dayOf(fecha) : lastDayOf(months.at(-1)!)
}

function addPaidAtOnce(world: World, { events, paidByComplements }: Movements): void {
  for (const document of populationOf(world, null, ['I'])) {
    if (document.metodo_pago !== 'PUE' || paidByComplements.has(document.uuid)) continue
    const isMoved = document.forma_pago === '30' && namesAdvance(document)
    const total = micros(document.total)
    const money = isMoved && !isNoted(world, document) ? (moneyInForm30(world).get(document) ?? 0n) : total
    if (isMoved && money === 0n) continue
    const rate = rateOf(world, document)!
    const f = (amount: Micros) => times(portion(amount, money, total), rate)
    events.push({
      ...{ uuid: document.uuid, applies_to: null, source: 'cfdi', direction: document.direction, day: countedOn(document), document },
      ...{
        refund: null,
        forma: document.forma_pago,
        pesos: times(total, rate),
        paid: f(total),
        own: money,
        net: f(netOf(document)),
      },
      taxes: taxesOf(document).map((tax) => scaled(tax, f)),
      lines: linesOf(document, f),
    })
  }
}

const isWithheld = (document: Document): boolean => micros(document.iva_retenido) !== 0n

/** Whether a credit note applies an advance to an invoice, or to one that nobody sees. Then it returns nothing. */
export const appliesAdvance = (note: Document, invoice: Document): boolean =>
  namesAdvance(note) &&
  (namesAdvance(invoice) || !note.relacionados.some(({ tipo_relacion, uuid }) => tipo_relacion === '07' && uuid === invoice.uuid))

/**
 * What credit notes return: of each invoice what is beyond the part that was still to be paid when the note came, and never more than was paid
 * and not returned before. A note of an invoice that nobody sees returns all of it.
 */
function addReturned(world: World, { events, paidByComplements }: Movements): void {
  const counted = countedAt(world, null)
  for (const note of populationOf(world, null, ['E'])) {
    if (note.metodo_pago !== 'PUE') continue
    const lowered = partsOf(world, note)
    const all = { amount: micros(note.total), taxes: null }
    for (const [uuid, { amount: part, taxes }] of lowered.size === 0 ? [[null, all] as const] : lowered) {
      const named = world.documents.find((one) => one.uuid === uuid && one.origin === note.origin)
      const isShown =
        named?.tipo_comprobante === 'I' && named.has_xml && named.emisor_rfc === note.emisor_rfc && named.receptor_rfc === note.receptor_rfc
      const invoice = isShown ? named : null
      if (invoice && (!counted.has(invoice.uuid) || isTooLarge(world, invoice))) continue
      const returns =
        invoice === null
          ? [{ returned: part, of: [], day: dayOf(note.fecha) }]
          : returnedOf(world, note, part, invoice, paidByComplements.has(invoice.uuid))
      for (const { returned, of, day } of returns) {
        if (returned === 0n) continue
        const rate = stated(note) ?? world.rates(note.currency!, day)!.rate
        const base = taxes === null ? micros(note.total) : part
        const f = (amount: Micros) => -times(portion(amount, returned, base), rate)
        const own = taxes ?? taxesOf(note)
        const of_ = (kind: Tax['kind']) => sum(own.filter((tax) => tax.kind === kind).map(({ importe }) => importe))
        const net = taxes === null ? netOf(note) : part + of_('retencion') - of_('traslado')
        events.push({
          ...{
            uuid: note.uuid,
            applies_to: invoice?.uuid ?? null,
            source: 'cfdi',
            direction: note.direction,
            day,
            document: invoice ?? note,
          },
          ...{ refund: { note, of }, forma: null, pesos: 0n, paid: f(base), own: -returned, net: f(net) },
          taxes: own.map((tax) => scaled(tax, f)),
          lines: linesOf(note, (amount) => f(taxes === null ? amount : portion(amount, part, micros(note.total)))),
        })
      }
    }
  }
}

/** Whether a credit note takes the advance off an invoice. */
const isNoted = (world: World, invoice: Document): boolean => {
  const applied = new Set(appliedTo(world, invoice, null).map(({ uuid }) => uuid))
  return world.documents.some((one) => one.tipo_comprobante === 'E' && namesAdvance(one) && applied.has(one.uuid))
}

/** What a payment in form 30 of an instant moves beyond the advances. */
const moneyOf = (world: World, uuid: string, invoice: Document, time: string): Micros =>
  sum(
    world.documents
      .filter((one) => one.uuid === uuid && one.origin === invoice.origin)
      .flatMap(({ pagos }) => pagos.filter(({ fecha_pago, forma_pago_p }) => fecha_pago === time && forma_pago_p === '30'))
      .flatMap(({ documentos }) => documentos.filter((docto) => docto.uuid === invoice.uuid))
      .map((docto) => moneyInForm30(world).get(docto) ?? 0n),
  )

/** What a note returns of an invoice, in its own currency, the payments that it returns, and the day on which that counts. */
export function returnedOf(world: World, note: Document, part: Micros, invoice: Document, isPaidLater: boolean) {
  const total = micros(invoice.total)
  const isAtOnce = invoice.metodo_pago === 'PUE' && !isPaidLater
  const pesos = rateOf(world, invoice) === null ? null : inPesos(world, invoice, total)
  const order = { P: 0, E: 1 }
  const history = appliedTo(world, invoice, null).sort((a, b) => compare([a.time, order[a.kind], a.uuid], [b.time, order[b.kind], b.uuid]))
  const before = history.filter(({ kind, time }) => kind === 'P' && time <= note.fecha)
  const of: Payment[] = isAtOnce ? [{ forma: invoice.forma_pago, pesos, amount: total, day: dayOf(invoice.fecha) }] : before
  const isRestated = isWithheld(invoice)
  const ownDay = isAtOnce && (isRestated || appliesAdvance(note, invoice)) ? countedOn(invoice) : dayOf(note.fecha)
  let toPay = isAtOnce ? 0n : total
  // The newest payment last.
  const till: { day: Day | null; left: Micros }[] = isAtOnce ? [{ day: null, left: total }] : []
  for (const { kind, uuid, amount, day, time: paidAt, forma } of history) {
    if (kind === 'P') {
      till.push({ day, left: forma === '30' && namesAdvance(invoice) ? moneyOf(world, uuid, invoice, paidAt) : amount })
      toPay = toPay > amount ? toPay - amount : 0n
      continue
    }
    const forgiven = amount < toPay ? amount : toPay
    toPay -= forgiven
    let back = amount - forgiven
    const byDay = new Map<Day, Micros>()
    for (const one of [...till].reverse()) {
      const some = one.left < back ? one.left : back
      one.left -= some
      back -= some
      const counted = isRestated && one.day !== null ? one.day : ownDay
      byDay.set(counted, (byDay.get(counted) ?? 0n) + some)
    }
    if (uuid !== note.uuid) continue
    const days = new Set(before.map((one) => one.day))
    return [...byDay].map(([on, some]) => ({
      returned: portion(part, some, amount),
      of: isRestated && !isAtOnce && days.size > 1 ? of.filter((_, n) => before[n]!.day === on) : of,
      day: on,
    }))
  }
  // It cannot be converted to the invoice's currency, so that it lowers nothing.
  return [{ returned: part, of, day: ownDay }]
}

function eventOf(pago: Pago, docto: Docto, paid: Micros, invoice: Document, own: Tax[], convert: (amount: Micros) => Micros) {
  const [stated, total] = [micros(docto.imp_pagado), micros(invoice.total)]
  const share = (amount: Micros) => portion(amount, paid, total)
  const taxes =
    own.length > 0 || docto.objeto_imp_dr === '01'
      ? own.map((tax) => scaled(tax, (amount) => portion(convert(amount), paid, stated)))
      : taxesOf(invoice).map((tax) => scaled(tax, (amount) => convert(share(amount))))
  return {
    ...{ source: 'pago' as const, direction: invoice.direction, document: invoice, forma: pago.forma_pago_p, refund: null },
    pesos: paymentOf(pago, docto) ?? convert(stated),
    ...{ paid: convert(paid), own: paid, net: convert(share(netOf(invoice))), taxes },
    lines: linesOf(invoice, (amount) => convert(share(amount))),
  }
}

/** IVA that an event moves from the customer to the supplier. */
export const ivaOf = ({ taxes }: CashEvent): Micros => taxSum(taxes, 'traslado', IVA)

/** What an event adds to the figures of the VAT position, with what of them is of third parties. */
export const figuresOf = ({ taxes, lines }: CashEvent): [LineFigure, Micros][] => [...taxes.flatMap(ivaFigures), ...lines]
