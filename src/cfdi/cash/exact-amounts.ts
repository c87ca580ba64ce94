import { dividedBy, fits, type Micros, micros } from '../../platform/money.ts'
import { BREAKDOWN, type Breakdown, converted, isOfLines, parseOwn } from '../taxes/breakdown.ts'
import { creditOf, inMxn, rateOf } from '../totals.ts'
import { returnedBy } from './credits.ts'

/** The `source` of a cash event, parsed. Micros and other amounts are text. */
export type EventSource = [
  amount: string | number,
  currency: string | null,
  /** Null where nothing is converted, or it is not known how. */
  conversion: string | null,
  taxes: string | null,
  invoice_currency: string | null,
  invoice_rate: string | null,
  invoice_total: string | number,
  subtotal: string | null,
  descuento: string | null,
  invoice_taxes: string | null,
  iva_trasladado: string | number | null,
  /** Of a credit note, where SQL does not tell how much of its part `amount` returns money. */
  refund?: Refund | null,
  /** Of a payment, what is money, where an advance pays the rest. */
  money?: string | number | null,
]

/** The credit note, whether its invoice is paid at once, and the invoice with everything that is applied to it; the day of what is meant. */
export type Refund = [
  uuid: string,
  is_paid_at_once: 0 | 1,
  invoice: [
    total: string | number,
    currency: string | null,
    tipo_cambio: string | null,
    applied: [
      ...[kind: 'P' | 'E', at: string, source: string, amount: string | number, currency: string | null, tipo_cambio: string | null],
      /** Of a payment in form 30 what is money; null of everything else. */
      money: string | number | null,
    ][],
  ],
  day: string | null,
]

/** The amounts that a cash event adds, in micros of MXN. */
export interface ExactAmounts extends Breakdown {
  paid: Micros
  net: Micros
}

/** The members of a cash event behind its amounts: of a complement (P), an invoice that is paid at once (I), or a credit note (E). */
export interface ExactEvent {
  tipo: string
  day: string
  source: string
}

/** How much of a part of a credit note returns money, in its own currency. One that cannot be converted lowers nothing. */
export function returnedPart(amount: Micros, refund: Refund | null | undefined): Micros {
  if (refund == null) return amount
  const [uuid, isPaidAtOnce, [total, currency, tipo_cambio, applied], day] = refund
  const settlements = applied.flatMap(([kind, at, source, stated, own, rate, money]) => {
    const inItsCurrency =
      kind === 'P'
        ? BigInt(stated)
        : creditOf({ version: '4.0', currency, tipo_cambio }, { amount: BigInt(stated), currency: own, tipo_cambio: rate })
    return inItsCurrency === null ? [] : [{ kind, at, source, money: money === null ? null : BigInt(money), amount: inItsCurrency }]
  })
  const own = settlements.find((one) => one.kind === 'E' && one.source === uuid)
  if (own === undefined) return amount
  const returned = returnedBy(uuid, { total: BigInt(total), isPaidAtOnce: isPaidAtOnce === 1 }, settlements)
  const meant = returned.filter(({ at }) => day === null || at.slice(0, 10) === day)
  return shareOf(
    amount,
    meant.reduce((sum, one) => sum + one.amount, 0n),
    own.amount,
  )
}

/** Returns MXN for one unit of a currency on a day (CFF 20), as decimal text; null where no rate is loaded. */
export type RateOfDay = (currency: string, day: string) => string | null

/** The amounts in the currency of an invoice, before taxes and by tax. */
function ownAmounts([, , , , currency, rate, , subtotal, descuento, taxes, iva]: EventSource): Breakdown & { net: Micros } {
  const { net: own, breakdown } = parseOwn(taxes ?? '[]')
  const net = own ?? (micros(subtotal) ?? 0n) - (micros(descuento) ?? 0n)
  const isPlain = taxes === null && rateOf(currency, rate) === '1'
  return { net, ...breakdown, ...(isPlain && { base_16: net, iva_16: BigInt(iva ?? 0) }) }
}

/** A part of an amount, `paid ÷ total`, rounded half up to millionths. */
export const shareOf = (amount: Micros, paid: Micros, total: Micros): Micros =>
  paid === total ? amount : total === 0n ? 0n : dividedBy(amount * paid, total.toString())

/**
 * Computes exactly what a cash event adds, where SQL cannot: amounts are large, in proportion, or without a stated exchange rate. Returns a
 * reason when it adds nothing. `dof` says whether the rate of a day was used.
 */
export function exactAmounts(
  { tipo, day, source }: ExactEvent,
  rateOfDay: RateOfDay,
): (ExactAmounts & { dof: boolean }) | 'missing_rate' | 'not_counted' {
  const parsed = JSON.parse(source) as EventSource
  const [amount, currency, conversion, taxes, invoiceCurrency, invoiceRate, invoiceTotal] = parsed
  const own = ownAmounts(parsed)
  const isComplement = tipo === 'P'
  const isPesos = rateOf(currency ?? invoiceCurrency, null) !== null
  let dof = false
  const rateOfTable = (code: string): string | null => {
    dof = true
    return rateOfDay(code, day)
  }
  const rate = isComplement || isPesos ? '1' : (rateOf(invoiceCurrency, invoiceRate) ?? rateOfTable(invoiceCurrency!))
  const isOnlyAdvance = parsed[12] != null && BigInt(parsed[12]) === 0n
  const convert = (one: Micros): Micros | null => {
    if (isOnlyAdvance) return 0n
    if (!isComplement) return inMxn(one, rate)
    return isPesos ? one : conversion === null ? null : converted(one, conversion, rateOfTable)
  }
  const [stated, total] = [BigInt(amount), BigInt(invoiceTotal ?? 0)]
  const paid = parsed[12] == null ? returnedPart(stated, parsed[11]) : BigInt(parsed[12])
  const paidInMxn = convert(paid)
  if (paidInMxn === null) return 'missing_rate'
  const part = (one: Micros): Micros => convert(shareOf(one, paid, total))!
  const listed = isComplement && taxes !== null ? (JSON.parse(taxes) as (number | string)[]) : null
  const listedOf = (n: number): Micros => shareOf(BigInt(listed?.[n] ?? 0), paid, stated)
  // The list of a complement is in MXN already, unless its rate is not stated.
  const taxOf = (name: keyof Breakdown, n: number): Micros =>
    listed === null || isOfLines(n) ? part(own[name]) : dof ? convert(listedOf(n))! : listedOf(n)
  const exact: ExactAmounts = {
    paid: paidInMxn,
    net: part(own.net),
    ...(Object.fromEntries(BREAKDOWN.map((name, n) => [name, taxOf(name, n)])) as Breakdown),
  }
  if (!Object.values(exact).every(fits)) return 'not_counted'
  const sign = tipo === 'E' ? -1n : 1n
  for (const name of Object.keys(exact) as (keyof ExactAmounts)[]) exact[name] *= sign
  return { ...exact, dof }
}
