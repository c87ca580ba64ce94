import { dividedBy, fits, type Micros, micros, times } from '../../platform/money.ts'
import type { Tax } from '../xml/document.ts'

/**
 * Converts an amount by the `conversion` of a payment (tables.ts), rounded to millionths at each step. `rateOf` gives the rate of a currency
 * that takes the place of TipoCambioP. Null when there is none.
 */
export function converted(amount: Micros, conversion: string, rateOf: (currency: string) => string | null = () => null): Micros | null {
  const [equivalence = '1', stated = ''] = conversion.split(' ')
  const rate = Number(stated) > 0 ? stated : rateOf(stated)
  return rate === null ? null : times(dividedBy(amount, equivalence), rate)
}

/** What a document or a complement states as taxes. */
const STATED = [
  ...(['base_16', 'iva_16', 'base_8', 'iva_8', 'base_0', 'base_exento', 'iva_retenido', 'isr_retenido', 'ieps'] as const),
  ...(['base_otras', 'iva_otras', 'ieps_retenido'] as const),
]

/** ObjetoImp of what is subject to no tax. */
export const NOT_SUBJECT = '01'

/** What lines invoice on behalf of a third party (ACuentaTerceros), as part of the members of the same names. */
export const OF_THIRD_PARTIES = ['base_16', 'iva_16', 'base_8', 'iva_8', 'base_0', 'base_exento', 'base_no_objeto'] as const

/**
 * What only lines tell, so that of a paid part it is always in proportion: ObjetoImp 01, ObjetoImp 02 to 08 without a transfer of IVA, and
 * what is of third parties, whole and by rate.
 */
const OF_LINES = ['base_no_objeto', 'base_sin_traslado', 'tercero', ...OF_THIRD_PARTIES.map((name) => `tercero_${name}` as const)] as const

/**
 * The IVA by rate that an invoice, a credit note or a paid part of an invoice transfers, its other taxes, and what its lines tell. `otras` are
 * rates other than 16, 8 and 0 %, such as the 15 and 11 % of former years.
 */
export const BREAKDOWN = [...STATED, ...OF_LINES]
export type Breakdown = Record<(typeof BREAKDOWN)[number], Micros>
type OfLines = Pick<Breakdown, (typeof OF_LINES)[number]>

/** Whether the place of an amount in `BREAKDOWN` is one of those that only lines tell. */
export const isOfLines = (n: number): boolean => n >= STATED.length
/** The first three of them, of which one is not zero where any is not. */
export const SIGNS_OF_LINES = [0, 1, 2].map((n) => STATED.length + n)

export const noneOfLines = (): OfLines => Object.fromEntries(OF_LINES.map((name) => [name, 0n])) as OfLines

/** The IVA of one rate, as several taxes state it together. */
interface Group {
  tax: Tax
  base: Micros
  importe: Micros
  hasBase: boolean
}

/** The IVA that taxes transfer, by factor and rate. */
export type Groups = Map<string, Group>

const groupOf = ({ tipo_factor, tasa_o_cuota }: Tax): string => `${tipo_factor ?? ''}|${tasa_o_cuota === null ? '' : Number(tasa_o_cuota)}`

/** Adds a transferred tax to the groups. Only IVA counts. */
export function addTax(groups: Groups, tax: Tax): void {
  if (tax.impuesto !== '002') return
  const key = groupOf(tax)
  const group = groups.get(key) ?? { tax, base: 0n, importe: 0n, hasBase: false }
  groups.set(key, group)
  group.importe += micros(tax.importe) ?? 0n
  if (tax.base === null) return
  group.base += micros(tax.base) ?? 0n
  group.hasBase = true
}

export const groupsOf = (taxes: readonly Tax[]): Groups => {
  const groups: Groups = new Map()
  for (const tax of taxes) addTax(groups, tax)
  return groups
}

/** The groups of the rates that have names of their own, which are their percentages. */
const RATES = new Map((['16', '8'] as const).map((percent) => [`Tasa|${Number(percent) / 100}`, percent]))

/**
 * The IVA by rate that the groups of a header and of the lines state. A group of the header without a base takes that of the lines, else
 * importe ÷ tasa; groups that only the lines state are added: the header of a CFDI 3.3 leaves out exempt goods.
 */
export function transferred(
  header: Groups,
  lines: Groups,
): Omit<Breakdown, 'iva_retenido' | 'isr_retenido' | 'ieps' | 'ieps_retenido' | (typeof OF_LINES)[number]> {
  const sums = { base_16: 0n, iva_16: 0n, base_8: 0n, iva_8: 0n, base_0: 0n, base_exento: 0n, base_otras: 0n, iva_otras: 0n }
  for (const [key, group] of new Map([...lines, ...header])) {
    const { tipo_factor, tasa_o_cuota } = group.tax
    const stated = [group, lines.get(key)].find((one) => one?.hasBase)
    const base = stated?.base ?? (Number(tasa_o_cuota) > 0 ? dividedBy(group.importe, tasa_o_cuota!) : 0n)
    if (tipo_factor === 'Exento') sums.base_exento += base
    else if (key === 'Tasa|0') sums.base_0 += base
    else {
      const rate = RATES.get(key) ?? 'otras'
      sums[`base_${rate}`] += base
      sums[`iva_${rate}`] += group.importe
    }
  }
  return sums
}

/** The largest amount that SQLite's integers hold with room for sums. Larger ones are texts in the list. */
const PLAIN = 10n ** 14n

const listOf = (amounts: Micros[]): string => {
  const kept = [...amounts]
  while (kept.at(-1) === 0n) kept.pop()
  return kept.map((amount) => (amount < PLAIN && amount > -PLAIN ? `${amount}` : `"${amount}"`)).join()
}

/** An amount before taxes and its taxes in the currency of the document. */
export interface OwnAmounts {
  net: Micros
  breakdown: Breakdown
}

/**
 * Formats the `taxes` column: a JSON list of the amounts in the order of `BREAKDOWN`, without the zeros at its end. That of a document in
 * another currency that states its rate ends with a list of the same in its own currency, and its net amount there. Null when an amount does
 * not fit.
 */
export function writeBreakdown(breakdown: Breakdown, own?: OwnAmounts): string | null {
  const amounts = BREAKDOWN.map((name) => breakdown[name])
  if (!amounts.every(fits)) return null
  return own === undefined ? `[${listOf(amounts)}]` : `[${wholeListOf(amounts)},${writeOwn(own)}]`
}

const wholeListOf = (amounts: Micros[]): string => amounts.map((amount) => listOf([amount]) || '0').join()

/** Formats the taxes of a document, or of a part of one, in its own currency, and its net amount. */
export const writeOwn = ({ net, breakdown }: OwnAmounts): string => `[${wholeListOf([...BREAKDOWN.map((name) => breakdown[name]), net])}]`

/** The taxes that a payroll receipt or a CFDI de retenciones withholds: the base and the amount of each, in this order. */
export const WITHHELD = ['001', '002', '003'] as const

/** Formats the `taxes` column of these, in MXN. Null when nothing is withheld. */
export const writeWithheld = (taxes: readonly [base: Micros, amount: Micros][]): string | null =>
  taxes.some(([, amount]) => amount !== 0n) && taxes.flat().every(fits) ? `[${listOf(taxes.flat())}]` : null

/** Parses the `taxes` column in the currency of the document. The net amount is null where it is not stated. */
export function parseOwn(text: string): { net: Micros | null; breakdown: Breakdown } {
  const list = JSON.parse(text) as (number | string | (number | string)[])[]
  const nested = list[BREAKDOWN.length]
  const own = (Array.isArray(nested) ? nested : list) as (number | string)[]
  const net = own[BREAKDOWN.length]
  const breakdown = Object.fromEntries(BREAKDOWN.map((name, n) => [name, BigInt(own[n] ?? 0)])) as Breakdown
  return { net: net === undefined ? null : BigInt(net), breakdown }
}

/** Parses the `taxes` column. */
export function parseBreakdown(text: string): Breakdown {
  const amounts = JSON.parse(text) as (number | string)[]
  return Object.fromEntries(BREAKDOWN.map((name, i) => [name, BigInt(amounts[i] ?? 0)])) as Breakdown
}
