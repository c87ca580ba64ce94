import { type Micros, micros, over, quotient, sum, times } from './amounts.ts'
import { countedAt, inPesos, isToItself, isTooLarge, rateOf } from './counting.ts'
import { converted, loweredBy } from './notes.ts'
import type { Day, Direction } from './shapes.ts'
import { addDays, type Document, dayOf, daysBetween, rulesOf, type World } from './world.ts'

/** Less than half a cent is nothing. */
export const LEAST_OPEN = 5_000n

/** What a complement or credit note applies to an invoice, in the invoice's currency. */
export interface Applied {
  uuid: string
  kind: 'P' | 'E'
  day: Day
  time: string
  amount: Micros
  /** Of a complement, what the whole payment is of in MXN. */
  pesos: Micros | null
  forma: string | null
  parcialidad: number
  insoluto: string | null
}

/** What a payment is in MXN, where its rate is stated. */
function pesosOf(pago: Document['pagos'][number], { imp_pagado, moneda_dr, equivalencia_dr }: Docto): Micros | null {
  if (moneda_dr === 'MXN') return micros(imp_pagado)
  const moneda = pago.moneda_p ?? 'MXN'
  const rate = moneda === 'MXN' ? '1' : pago.tipo_cambio_p
  const equivalence = moneda_dr === null || moneda_dr === moneda ? '1' : equivalencia_dr
  return rate === null || equivalence === null ? null : times(over(micros(imp_pagado), equivalence), rate)
}
type Docto = Document['pagos'][number]['documentos'][number]

/** What a payment is of in MXN, whatever it pays: its Monto, or the sum of its parts where that is more. */
export function paymentOf(pago: Document['pagos'][number], docto: Docto): Micros | null {
  const parts = pago.documentos.map((one) => pesosOf(pago, one))
  const paid = parts.includes(null) ? null : sum(parts.map((one) => one!))
  const rate = (pago.moneda_p ?? 'MXN') === 'MXN' ? '1' : pago.tipo_cambio_p
  const stated = rate === null ? null : times(micros(pago.monto), rate)
  return (stated === null || (paid !== null && paid > stated) ? paid : stated) ?? pesosOf(pago, docto)
}

const indexes = new WeakMap<World, Map<string, Document[]>>()

/** The documents that name an invoice, in payments or relations. */
function naming(world: World, uuid: string): readonly Document[] {
  let index = indexes.get(world)
  if (!index) {
    index = new Map()
    for (const one of world.documents) {
      const paid = one.pagos.flatMap(({ documentos }) => documentos.map((docto) => docto.uuid))
      for (const named of new Set([...paid, ...loweredBy(world, one).keys()])) index.set(named, [...(index.get(named) ?? []), one])
    }
    indexes.set(world, index)
  }
  return index.get(uuid) ?? []
}

/** What is applied to an invoice as of a day, or today. */
export function appliedTo(world: World, invoice: Document, asOf: Day | null): Applied[] {
  const counted = countedAt(world, asOf)
  const isUntil = (day: Day) => asOf === null || day <= asOf
  return naming(world, invoice.uuid)
    .filter(
      (source) =>
        counted.has(source.uuid) &&
        source.has_xml &&
        source.origin === invoice.origin &&
        source.emisor_rfc === invoice.emisor_rfc &&
        (source.tipo_comprobante === 'P' || (source.tipo_comprobante === 'E' && source.receptor_rfc === invoice.receptor_rfc)),
    )
    .flatMap((source): Applied[] => {
      const { uuid } = source
      if (source.tipo_comprobante === 'P')
        return source.pagos.flatMap((pago) =>
          pago.documentos
            .filter((one) => one.uuid === invoice.uuid && one.moneda_dr === invoice.currency && isUntil(dayOf(pago.fecha_pago)))
            .map((one) => ({
              ...{ uuid, kind: 'P' as const, day: dayOf(pago.fecha_pago), time: pago.fecha_pago, forma: pago.forma_pago_p },
              pesos: paymentOf(pago, one),
              ...{ amount: micros(one.imp_pagado), parcialidad: Number(one.num_parcialidad ?? 0), insoluto: one.imp_saldo_insoluto },
            })),
        )
      const part = loweredBy(world, source).get(invoice.uuid)
      const amount = part !== undefined && isUntil(dayOf(source.fecha)) ? converted(part, source, invoice) : null
      if (amount === null) return []
      const when = { day: dayOf(source.fecha), time: source.fecha }
      return [{ uuid, kind: 'E', ...when, amount, pesos: null, forma: source.forma_pago, parcialidad: 0, insoluto: null }]
    })
}

export interface Balance {
  total: Micros
  paid: Micros
  credited: Micros
  balance: Micros
  isOpen: boolean
  payments: Applied[]
}

/** What is paid and owed of a PPD invoice, in its currency. */
export function balanceOf(world: World, invoice: Document, asOf: Day | null): Balance {
  const applied = appliedTo(world, invoice, asOf)
  const of = (kind: Applied['kind']) => sum(applied.filter((one) => one.kind === kind).map(({ amount }) => amount))
  const [total, paid, credited] = [micros(invoice.total), of('P'), of('E')]
  const left = total - paid - credited
  const balance = left < 0n ? 0n : left
  return { total, paid, credited, balance, isOpen: balance >= LEAST_OPEN, payments: applied.filter(({ kind }) => kind === 'P') }
}

/** Whether the balance that the last complement states is another by more than a cent. */
export function isMismatch(world: World, invoice: Document): boolean {
  const { balance, payments } = balanceOf(world, invoice, null)
  const last = payments.reduce<Applied | null>((one, other) => (one === null || other.parcialidad > one.parcialidad ? other : one), null)
  if (last?.insoluto == null) return false
  const difference = micros(last.insoluto) - balance
  return difference > 10_000n || difference < -10_000n
}

export interface Open extends Balance {
  invoice: Document
  /** Balance in MXN at the invoice's rate; null without a rate. */
  pesos: Micros | null
  due: Day
  isParsed: boolean
}

const PLAIN = /[̀-ͯ]/g

/** Days until an invoice is due that its terms of payment state; null without any. */
export function termsOf(condiciones: string | null): number | null {
  const text = (condiciones ?? '').normalize('NFD').replace(PLAIN, '').toLowerCase()
  if (/contado|inmediato/.test(text)) return 0
  const days = /(\d{1,3})\s*(?:dias?|days?|d)\b/.exec(text)?.[1] ?? /\bneto?\s*(?:a\s*)?(\d{1,3})\b/.exec(text)?.[1]
  return days === undefined || Number(days) > 365 ? null : Number(days)
}

export function dueOf(world: World, invoice: Document): { due: Day; isParsed: boolean } {
  const terms = termsOf(invoice.condiciones_pago)
  return { due: addDays(dayOf(invoice.fecha), terms ?? rulesOf(world, invoice).default_terms_days), isParsed: terms !== null }
}

/** The PPD invoices of a direction that count and are open as of a day. */
export function openInvoices(world: World, direction: Direction, asOf: Day): Open[] {
  const counted = countedAt(world, asOf)
  const at = asOf < world.today ? asOf : null
  return world.documents
    .filter(
      (one) =>
        counted.has(one.uuid) &&
        one.direction === direction &&
        one.tipo_comprobante === 'I' &&
        one.metodo_pago === 'PPD' &&
        one.has_xml &&
        dayOf(one.fecha) <= asOf &&
        !isToItself(one) &&
        !isTooLarge(world, one),
    )
    .map((invoice) => {
      const balance = balanceOf(world, invoice, at)
      const pesos = rateOf(world, invoice) === null ? null : inPesos(world, invoice, balance.balance)
      return { invoice, ...balance, pesos, ...dueOf(world, invoice) }
    })
    .filter(({ isOpen }) => isOpen)
}

/** Σ(amount × days) ÷ Σ amount and the part paid in time, of complements of the twelve months up to a day; null without any. */
export function punctuality(world: World, invoices: readonly Document[], range: { after: Day | null; to: Day }) {
  const at = range.to < world.today ? range.to : null
  let [paid, weighted, onTime, count, invoicesPaid] = [0n, 0n, 0n, 0, 0]
  for (const invoice of invoices) {
    const { due } = dueOf(world, invoice)
    const payments = appliedTo(world, invoice, at).filter(
      ({ kind, day }) => kind === 'P' && day <= range.to && (range.after === null || day > range.after),
    )
    if (payments.length > 0) invoicesPaid++
    for (const { day, amount } of payments) {
      const pesos = inPesos(world, invoice, amount)
      count++
      paid += pesos
      weighted += pesos * BigInt(daysBetween(dayOf(invoice.fecha), day))
      if (day <= due) onTime += pesos
    }
  }
  return { paid, weighted: paid === 0n ? null : quotient(weighted * 100n, paid), onTime, count, invoicesPaid }
}
