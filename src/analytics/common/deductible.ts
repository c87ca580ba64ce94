import { type SQLWrapper, sql } from 'drizzle-orm'
import { ANY_DAY, byDay } from '../../authority/rules/by-day.ts'
import type { Rules } from '../../authority/rules/dated.ts'
import { mainKey } from '../../cfdi/main-key.ts'
import type { Days } from '../../cfdi/population/population.ts'
import { inlined } from '../../platform/db/statement.ts'

/**
 * What the law lets be deducted of a purchase, and therefore credited of its IVA (LISR 27-III, 28-XX, 36-II; LIVA 5-I): by the form and amount
 * of each payment, and by what it is. Deductions, the VAT position and risk ask here. Findings are bits.
 */
export const FOUND = {
  // Of a payment, which takes it out:
  cash_over_2000: 1,
  fuel_not_electronic: 2,
  restaurant_not_by_card: 4,
  // Of a payment, to be reviewed: and one in cash of an unknown amount.
  cash_in_parts: 8,
  unknown_amount: 16,
  // Of what is bought: nothing or a part of it is deductible.
  bar: 32,
  restaurant: 64,
  cap_vehicle: 128,
  // To be reviewed.
  vehicle_review: 256,
  possible_travel: 512,
} as const
export type Finding = keyof typeof FOUND
export const OUT = FOUND.cash_over_2000 | FOUND.fuel_not_electronic | FOUND.restaurant_not_by_card

/** Why IVA is not credited. */
export const EXCLUSIONS = [
  ...(['uso_s01', 'issuer_69b_definitivo', 'cash_over_2000', 'fuel_not_electronic', 'bar', 'restaurant_not_by_card'] as const),
  ...(['restaurant', 'cap_vehicle'] as const),
] as const

/** What a CFDI cannot decide of them, as a question. */
export const QUESTIONS_OF = {
  cash_in_parts: 'Was it one purchase that was divided into payments of at most 2,000 in cash (LISR 27-III)?',
  vehicle_review: 'Is it a car for up to ten passengers, what did each one cost, and does it have an electric motor (LISR 36-II)?',
  possible_travel: 'Was it consumed on a trip of more than 50 km (LISR 28-V)?',
} as const

/** Columns of an invoice, as SQL: `total` and `net` in micros of MXN, and the postal codes of its issue and of its receiver. */
export interface Purchase {
  products: string
  total: string
  net: string
  uso: string
  fecha: string
  there: string
  here: string
}
export const purchaseOf = (
  of: Record<'products' | 'total_mxn' | 'net_mxn' | 'uso_cfdi' | 'fecha' | 'lugar_expedicion' | 'receptor_domicilio_fiscal', SQLWrapper>,
): Purchase => {
  const text = (column: SQLWrapper) => inlined(sql`${column}`)
  return {
    ...{ products: text(of.products), total: text(of.total_mxn), net: text(of.net_mxn), uso: text(of.uso_cfdi), fecha: text(of.fecha) },
    ...{ there: text(of.lugar_expedicion), here: text(of.receptor_domicilio_fiscal) },
  }
}

/** Columns of a payment, as SQL: its own amount in micros of MXN, and how many payments in cash its invoice has. */
interface Payment {
  forma: string
  pesos: string
  day: string
  in_cash: string
}

const among = (keys: readonly string[]): string => `(${keys.map((key) => `'${key}'`).join()})`
const beginsWith = (text: string, prefixes: readonly string[]): string =>
  `(${[...Map.groupBy(prefixes, ({ length }) => length)].map(([length, some]) => `substr(${text}, 1, ${length}) in ${among(some)}`).join(' or ') || '0'})`

/** The condition that a line has a product key that begins with one of these. */
export const hasKey = (products: string, prefixes: readonly string[]): string =>
  `(${prefixes.map((prefix) => `instr(',' || ${products}, ',${prefix}') > 0`).join(' or ') || '0'})`

/** The state of a postal code: two digits belong to one, which this text has in their place. */
const STATES = 'AAAAAAAAAAAAAAAAA   BCCDEFFFGHHIIIJJKKKLLLMMNNNNNNOOOOOOOOPPPPQRSSSSTTTTUUUUVWXXYYYZZZabbbcddddddeff'
const stateOf = (code: string): string => `substr('${STATES}', 1 + substr(${code}, 1, 2), 1)`

/** The judgement under the rules in force on the days of payments and, of what is bought, of its Fecha. Values of rules are digits. */
export function judgeOf(rules: Rules, days: Days) {
  const isCash = (forma: string, day: string) => `${forma} in ${byDay(rules, day, days, (on) => among(on.get('payment_forms').cash))}`

  function paymentFound({ forma, pesos, day, in_cash }: Payment, { products, total }: Purchase): string {
    const dated = (make: (on: Rules) => string) => byDay(rules, day, days, make)
    const limit = dated((on) => `${on.get('cash.threshold')} * 1000000`)
    const several = dated((on) => String(FOUND[on.get('cash.several_payments') === 'review' ? 'cash_in_parts' : 'cash_over_2000']))
    const isFuel = dated((on) => hasKey(products, on.get('deduction.fuel').claves))
    const isRestaurant = dated((on) => {
      const { claves, bars } = on.get('deduction.restaurants')
      return `(${hasKey(products, claves)} and (select ${beginsWith('main', claves)} and not ${beginsWith('main', bars)} from (select ${mainOf(products)} as main)))`
    })
    return `(iif(${isCash(forma, day)}, case when ${pesos} is null then ${FOUND.unknown_amount} when abs(${pesos} + 0) > ${limit} then ${FOUND.cash_over_2000}
        when ${total} + 0 > ${limit} and ${in_cash} > 1 then ${several} else 0 end + iif(${isFuel}, ${FOUND.fuel_not_electronic}, 0), 0)
      + iif(${forma} not in ${dated((on) => among(on.get('deduction.restaurants').formas))} and ${isRestaurant}, ${FOUND.restaurant_not_by_card}, 0))`
  }

  /** Selects `found`, `amount` and `at` of the payments in a JSON list of `[forma, micros of MXN, amount, day]` of a purchase. */
  const paymentsFound = (payments: string, of: Purchase): string =>
    `select ${paymentFound({ forma: 'forma', pesos: 'pesos', day: 'at', in_cash: 'in_cash' }, of)} as found, amount, at
      from (select value->>0 as forma, value->>1 as pesos, value->>2 as amount, value->>3 as at, sum(${isCash('value->>0', 'value->>3')}) over () as in_cash from json_each(${payments})) limit -1`

  /** JSON `[part, of, findings]`: the part of a purchase that is not deductible by what it is. Null when all of it is. */
  function thingFound({ products, net, uso, fecha, there, here }: Purchase): string {
    const dated = (make: (on: Rules) => string) => byDay(rules, fecha, { ...days, first: ANY_DAY }, make)
    const eating = dated((on) => {
      const { claves, bars, rate } = on.get('deduction.restaurants')
      const travel = `iif(coalesce(${stateOf(there)} <> ${stateOf(here)}, 0), ${FOUND.possible_travel}, 0)`
      return `when ${hasKey(products, claves)} then (select case when ${beginsWith('main', bars)} then json_array(1, 1, ${FOUND.bar})
        when ${beginsWith('main', claves)} then json_array(${1_000_000 - Math.round(Number(rate) * 1_000_000)}, 1000000, ${FOUND.restaurant} + ${travel}) end
        from (select ${mainOf(products)} as main))`
    })
    const vehicles = dated((on) => {
      const { claves, electric, review, limit, electric_limit, goods } = on.get('deduction.vehicles')
      const [cars, all] = [
        [...claves, ...electric],
        [...claves, ...electric, ...review],
      ]
      // Amounts are in the currency of the invoice, and so is the limit. Where the costs of several vehicles differ, `n` is 0.
      return `when ${hasKey(products, all)} and coalesce(${uso} not in ${among(goods)}, 1) then (
        select case when beyond > 0 or is_open then json_array((coalesce(beyond, 0) + 5000) / 10000, (every + 5000) / 10000, iif(beyond > 0, ${FOUND.cap_vehicle}, 0) + iif(is_open, ${FOUND.vehicle_review}, 0)) end
        from (select sum(iif(is_car and n > 0, max(0, amount - n * most), 0)) as beyond, max(every) as every,
            max(is_vehicle and (every is null or (amount > max(n, 1) * most and not (is_car and n > 0)))) as is_open
          from (select *, cast(iif(${beginsWith('name', electric)}, ${electric_limit}, ${limit}) * 1000000 * iif(abs(every - ${net}) < 1000000, 1, every * 1.0 / ${net}) as integer) as most,
              ${beginsWith('name', cars)} as is_car, ${beginsWith('name', all)} as is_vehicle
            from (select *, sum(amount) over () as every
              from (select value as name, iif(substr(value, 9, 1) = 'x', cast(substr(value, 10) as integer), 1) as n,
                iif(instr(value, '=') > 0, cast(substr(value, instr(value, '=') + 1) as integer), ${net} + 0) as amount from json_each('["' || replace(${products}, ',', '","') || '"]'))))))`
    })
    return `case ${eating} ${vehicles} end`
  }
  return { isCash, paymentFound, paymentsFound, thingFound }
}

const mainOf = (products: string): string => inlined(mainKey(sql.raw(products)))
