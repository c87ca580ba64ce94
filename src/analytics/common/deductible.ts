import { type SQLWrapper, sql } from 'drizzle-orm'
import { ANY_DAY, byDay } from '../../authority/rules/by-day.ts'
import type { Rules } from '../../authority/rules/dated.ts'
import { shareOf } from '../../cfdi/cash/exact-amounts.ts'
import type { Days } from '../../cfdi/population/population.ts'
import { mainKey } from '../../cfdi/products.ts'
import { inlined } from '../../platform/db/statement.ts'
import { inPesos, type Micros, sumAll } from '../../platform/money.ts'

/**
 * What the law lets be deducted of a purchase, and therefore credited of its IVA (LISR 27-III, 28-XX, 36-II; LIVA 5-I): by the form and amount
 * of each payment, and by what it is. Deductions, the VAT position and risk ask here. Findings are bits.
 */
export const FOUND = {
  // Of a payment, which takes it out, or the part of it that is for fuel:
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
  // As before, and after the two bits of EXCLUDED (vat/exclusions.ts).
  cap_car_rental: 4096,
  car_rental_review: 8192,
  restaurant_form_unknown: 16384,
} as const
export type Finding = keyof typeof FOUND
/** What takes a whole payment out. */
export const OUT = FOUND.cash_over_2000 | FOUND.restaurant_not_by_card
/** The findings that cap what is bought, as bits. */
export const CAPS = FOUND.cap_vehicle | FOUND.cap_car_rental

/** Why IVA is not credited. */
export const EXCLUSIONS = [
  ...(['uso_s01', 'issuer_69b_definitivo', 'cash_over_2000', 'fuel_not_electronic', 'bar', 'restaurant_not_by_card'] as const),
  ...(['restaurant', 'cap_vehicle', 'cap_car_rental'] as const),
] as const

/** What a CFDI cannot decide of them, as a question. */
export const QUESTIONS_OF = {
  cash_in_parts: 'Was it one purchase that was divided into payments of at most 2,000 in cash (LISR 27-III)?',
  vehicle_review: 'Is it a car for up to ten passengers, what did each one cost, and does it have an electric motor (LISR 36-II)?',
  possible_travel: 'Was it consumed on a trip of more than 50 km (LISR 28-V)?',
  car_rental_review: 'Was a car rented, for how many days, and does it have an electric motor (LISR 28-XIII)?',
  restaurant_form_unknown: 'Is it paid by card or electronic wallet (LISR 28-XX)?',
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
  /** Its credit notes, in parts of its total: what they took off before, and the part of the one that is judged (null for none). */
  noted?: { before: string; part: string; of: string }
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

/** As `thingFound` has it. */
export type Thing = [part: number, of: number, found: number, fuel: number]

/** SQL for an amount of a credit note in the currency of its invoice, each `[currency, rate]`; 0 when a rate is not stated. */
export const inCurrencyOf = (amount: string, note: readonly [string, string], invoice: readonly [string, string]): string => {
  const [from, to] = [note, invoice].map(([currency, rate]) => `iif(${inPesos(currency)}, 1.0, ${rate})`)
  return `coalesce(iif(coalesce(${note[0]}, 'MXN') = coalesce(${invoice[0]}, 'MXN'), ${amount} + 0, ${amount} * ${from} / ${to}), 0)`
}

/** Columns of a payment, as SQL: its own amount in micros of MXN, and how many payments in cash its invoice has. */
interface Payment {
  forma: string
  pesos: string
  day: string
  in_cash: string
}

const among = (keys: readonly string[]): string => `(${keys.map((key) => `'${key}'`).join()})`
/** The condition that a key begins with one of these. */
export const beginsWith = (text: string, prefixes: readonly string[]): string =>
  `(${[...Map.groupBy(prefixes, ({ length }) => length)].map(([length, some]) => `substr(${text}, 1, ${length}) in ${among(some)}`).join(' or ') || '0'})`

/** The most keys that are searched one by one: SQLite refuses expressions of more than 100 levels. */
const FEW = 16

/** The condition that a line has a product key that begins with one of these. */
export const hasKey = (products: string, prefixes: readonly string[]): string =>
  prefixes.length > FEW
    ? `exists (select 1 from ${linesOf(products)} where ${beginsWith('value', prefixes)})`
    : `(${prefixes.map((prefix) => `instr(',' || ${products}, ',${prefix}') > 0`).join(' or ') || '0'})`

/** The lines of a column `products`, as a table. */
const linesOf = (products: string): string => `json_each('["' || replace(${products}, ',', '","') || '"]')`

/** SQL for a part of micros, rounded half up. The parts are small enough not to overflow. */
export const partIn = (amount: string, part: string, of: string): string =>
  `iif(${amount} < 0, -1, 1) * (abs(${amount}) / (${of}) * (${part}) + (abs(${amount}) % (${of}) * (${part}) + (${of}) / 2) / (${of}))`

/** What is not deductible of payments, of each `[findings, amount]`: of those for fuel its part of what a purchase (`thingFound`) lets be deducted. */
export const outOf = (
  payments: readonly (readonly [found: number, amount: string | number, ...unknown[]])[],
  thing: Thing | null,
): Micros =>
  sumAll(
    payments.map(([found, amount]) =>
      (found & OUT) !== 0
        ? BigInt(amount)
        : (found & FOUND.fuel_not_electronic) !== 0 && thing
          ? shareOf(BigInt(amount), BigInt(thing[3]), BigInt(thing[1] - thing[0]))
          : 0n,
    ),
  )

/** The state of a postal code: two digits belong to one, which this text has in their place. */
const STATES = 'AAAAAAAAAAAAAAAAA   BCCDEFFFGHHIIIJJKKKLLLMMNNNNNNOOOOOOOOPPPPQRSSSSTTTTUUUUVWXXYYYZZZabbbcddddddeff'
const stateOf = (code: string): string => `substr('${STATES}', 1 + substr(${code}, 1, 2), 1)`

/** The judgement under the rules in force on the days of payments and, of what is bought, on its Fecha. Values of rules are digits. */
export function judgeOf(rules: Rules, days: Days) {
  const isCash = (forma: string, day: string) => `${forma} in ${byDay(rules, day, days, (on) => among(on.get('payment_forms').cash))}`

  function paymentFound({ forma, pesos, day, in_cash }: Payment, { products, total, fecha }: Purchase): string {
    const dated = (make: (on: Rules) => string) => byDay(rules, day, days, make)
    const limit = dated((on) => `${on.get('cash.threshold')} * 1000000`)
    const several = dated((on) => String(FOUND[on.get('cash.several_payments') === 'review' ? 'cash_in_parts' : 'cash_over_2000']))
    const isFuel = byDay(rules, fecha, { ...days, first: ANY_DAY }, (on) => hasKey(products, on.get('deduction.fuel').claves))
    const isRestaurant = dated((on) => {
      const { claves, bars } = on.get('deduction.restaurants')
      return `(${hasKey(products, claves)} and (select ${beginsWith('main', claves)} and not ${beginsWith('main', bars)} from (select ${mainOf(products)} as main)))`
    })
    return `(iif(${isCash(forma, day)}, case when ${pesos} is null then ${FOUND.unknown_amount} when abs(${pesos} + 0) > ${limit} then ${FOUND.cash_over_2000}
        when ${total} + 0 > ${limit} and ${in_cash} > 1 then ${several} else 0 end + iif(${isFuel}, ${FOUND.fuel_not_electronic}, 0), 0)
      + iif(${forma} not in ${dated((on) => among(on.get('deduction.restaurants').formas))} and ${isRestaurant}, iif(${forma} = '99', ${FOUND.restaurant_form_unknown}, ${FOUND.restaurant_not_by_card}), 0))`
  }

  /** Selects `found`, `amount` and `at` of the payments in a JSON list of `[forma, micros of MXN, amount, day]` of a purchase. */
  const paymentsFound = (payments: string, of: Purchase): string =>
    `select ${paymentFound({ forma: 'forma', pesos: 'pesos', day: 'at', in_cash: 'in_cash' }, of)} as found, amount, at
      from (select value->>0 as forma, value->>1 as pesos, value->>2 as amount, value->>3 as at, sum(${isCash('value->>0', 'value->>3')}) over () as in_cash from json_each(${payments})) limit -1`

  /**
   * JSON `[part, of, findings, fuel]`: the part of a purchase that is not deductible by what it is, and the part that is fuel. Of a credit note
   * on a car, the part that takes off what was beyond its limit; on a rented one it may take off days instead, which is a question. Null when
   * all of it is deductible and nothing is fuel.
   */
  function thingFound({ products, net, uso, fecha, there, here, noted }: Purchase): string {
    const dated = (make: (on: Rules) => string) => byDay(rules, fecha, { ...days, first: ANY_DAY }, make)
    const eating = dated((on) => {
      const { claves, bars, rate } = on.get('deduction.restaurants')
      const travel = `iif(coalesce(${stateOf(there)} <> ${stateOf(here)}, 0), ${FOUND.possible_travel}, 0)`
      return `case when ${hasKey(products, claves)} then (select case when ${beginsWith('main', bars)} then json_array(1, 1, ${FOUND.bar}, 0)
        when ${beginsWith('main', claves)} then json_array(${1_000_000 - Math.round(Number(rate) * 1_000_000)}, 1000000, ${FOUND.restaurant} + ${travel}, 0) end
        from (select ${mainOf(products)} as main)) end`
    })
    const keysOf = (on: Rules) => {
      const { claves, electric, review } = on.get('deduction.vehicles')
      const cars = [...claves, ...electric]
      return { cars, vehicles: [...cars, ...review], rental: on.get('deduction.car_rental').claves, fuel: on.get('deduction.fuel').claves }
    }
    const hasLines = dated((on) => {
      const { vehicles, rental, fuel } = keysOf(on)
      // What their keys begin with is enough: the lines tell.
      return hasKey(products, [...new Set([...vehicles, ...rental, ...fuel].map((key) => key.slice(0, 6)))])
    })
    const kind = dated((on) => {
      const { cars, vehicles, rental, fuel } = keysOf(on)
      const isGoods = `coalesce(${uso} in ${among(on.get('deduction.vehicles').goods)}, 0)`
      return `case when ${beginsWith('value', vehicles)} then iif(${isGoods}, '', iif(${beginsWith('value', cars)}, 'car', 'vehicle'))
        when ${beginsWith('value', rental)} then 'rental' when ${beginsWith('value', fuel)} then 'fuel' else '' end`
    })
    // Amounts are in the currency of the invoice, and so are limits. Where it is not known how many they are, `n` is 0.
    const limit = dated((on) => {
      const { electric, limit, electric_limit } = on.get('deduction.vehicles')
      return `case when ${beginsWith('name', electric)} then ${electric_limit} when kind = 'rental' then ${on.get('deduction.car_rental').limit} else ${limit} end`
    })
    const [before, own] = noted ? [noted.before, noted.part].map((part) => `(${part}) * 1.0 * every / (${noted.of})`) : ['0', 'null']
    const lines = `case when ${hasLines} then (
        select case when bits > 0 or fuel > 0 then json_array(cast(part / unit + 0.5 as integer), cast(whole / unit + 0.5 as integer), bits, cast(fuel / unit + 0.5 as integer)) end
        from (select iif(over = 0, 0, min(coalesce(own, every), max(0, over - before))) as part,
            max(case when over = 0 then coalesce(every, 1) else coalesce(own, every - before) end, 1) as whole, iif(over > 0 and own is not null, 0, coalesce(fuel, 1)) as fuel,
            iif(over > 0 or coalesce(every, 1) < 3000000000, 1.0, 10000.0) as unit,
            iif(cars > 0, ${FOUND.cap_vehicle}, 0) + iif(rent > 0, ${FOUND.cap_car_rental}, 0) + iif(is_open, ${FOUND.vehicle_review}, 0) + iif(is_unclear or (rent > 0 and before + coalesce(own, 0) between 1 and every - 10000), ${FOUND.car_rental_review}, 0) as bits
          from (select *, cars + rent as over, ${before} as before, ${own} as own
            from (select max(every) as every, total(iif(kind = 'car' and n > 0, max(0, amount - n * most), 0)) as cars,
                total(iif(kind = 'rental' and n > 0, max(0, amount - n * most), 0)) as rent, sum(iif(kind = 'fuel', amount, 0)) as fuel,
                max(kind in ('car', 'vehicle') and (most is null or (amount > max(n, 1) * most and not (kind = 'car' and n > 0)))) as is_open,
                max(kind = 'rental' and (most is null or (n = 0 and amount > most))) as is_unclear
              from (select *, cast(${limit} * 1000000 * iif(abs(every - ${net}) < 1000000, 1, every * 1.0 / ${net}) as integer) as most
                from (select *, sum(amount) over () as every from (select value as name, ${kind} as kind,
                    iif(substr(value, 9, 1) = 'x', cast(substr(value, 10) as integer), 1) as n,
                    iif(instr(value, '=') > 0, cast(substr(value, instr(value, '=') + 1) as integer), ${net} + 0) as amount from ${linesOf(`replace(replace(${products}, '|', ','), '@', '=')`)}))))))) end`
    return `coalesce(${eating}, ${lines})`
  }
  return { isCash, paymentFound, paymentsFound, thingFound }
}

const mainOf = (products: string): string => inlined(mainKey(sql.raw(products)))
