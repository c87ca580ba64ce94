import { fixed, quotient, shifted } from '../../../platform/money.ts'
import type { Day } from '../../../platform/time/calendar.ts'

/** An amount in centavos, hundredths of a Mexican peso. */
type Centavos = bigint

interface PriceList {
  /** The first local day on which the list applies. */
  from: Day
  /** The reference that invoices carry. */
  rule_ref: string
  /** Value added tax in per cent. */
  iva: bigint
  /** Prices of a month of the plan, and of each RFC that is active when the invoice is issued, before tax. */
  plans: Record<string, { month: Centavos; rfc: Centavos }>
}

/** Newest first. New prices are a new list: issued invoices keep the list that they name. */
const LISTS: readonly [PriceList, ...PriceList[]] = [
  {
    from: '2026-01-01',
    rule_ref: 'prices/2026-01-01',
    iva: 16n,
    plans: {
      starter: { month: 499_00n, rfc: 99_00n },
      api: { month: 1_999_00n, rfc: 79_00n },
      enterprise_bronze: { month: 4_999_00n, rfc: 59_00n },
      enterprise_silver: { month: 9_999_00n, rfc: 49_00n },
      enterprise_gold: { month: 19_999_00n, rfc: 39_00n },
    },
  },
]

export const CURRENCY = 'MXN'

const decimal = (centavos: Centavos): string => fixed(centavos, 2)

/** Converts a decimal amount with at most two places to centavos. */
export const centavosOf = (amount: string): Centavos => shifted(amount, 2)

const listOn = (day: Day): PriceList => LISTS.find(({ from }) => from <= day) ?? LISTS[LISTS.length - 1]!

/** Decimal amounts with two places. */
const withTax = (subtotal: Centavos, iva: bigint) => {
  const tax = quotient(subtotal * iva, 100n)
  return { subtotal: decimal(subtotal), tax: decimal(tax), total: decimal(subtotal + tax) }
}

/** Quotes a month of the plan with a number of active RFCs, by the price list of a day. Null when the plan is free. */
export function quoteMonth(plan: string, active_rfcs: number, day: Day) {
  const { rule_ref, iva, plans } = listOn(day)
  const price = plans[plan]
  return price ? { rule_ref, ...withTax(price.month + price.rfc * BigInt(active_rfcs), iva) } : null
}

/** Splits an amount that includes tax into subtotal and tax. */
export function splitTotal(amount: string, day: Day) {
  const total = centavosOf(amount)
  const subtotal = quotient(total * 100n, 100n + listOn(day).iva)
  return { subtotal: decimal(subtotal), tax: decimal(total - subtotal), total: decimal(total) }
}

/** Adds decimal amounts. */
export const sumOf = (amounts: readonly string[]): string => decimal(amounts.reduce((sum, one) => sum + centavosOf(one), 0n))

/** The prices of a plan before tax, by the price list of a day. Null when the plan is free. */
export function priceOf(plan: string, day: Day) {
  const { rule_ref, plans } = listOn(day)
  const price = plans[plan]
  return price ? { rule_ref, currency: CURRENCY, month: decimal(price.month), rfc: decimal(price.rfc) } : null
}

/** The price of one more seat, by the price list of a day: a month of an RFC, tax included. Null when the plan is free. */
export function seatPrice(plan: string, day: Day): string | null {
  const { iva, plans } = listOn(day)
  const price = plans[plan]
  return price ? withTax(price.rfc, iva).total : null
}
