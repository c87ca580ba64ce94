import { dividedBy, fits, type Micros, micros } from '../money.ts'
import type { Tax } from '../xml/document.ts'

/**
 * IVA by rate, and the other taxes, of an invoice, a credit note or a paid part of an invoice. The column `taxes` lists the amounts in this
 * order, in micros. `16` stands for the general rate, which was 15 % until 2009, and `8` for that of border regions, once 10 % and 11 %.
 */
export const BREAKDOWN = [
  ...(['base_16', 'iva_16', 'base_8', 'iva_8', 'base_0', 'base_exento', 'iva_retenido', 'isr_retenido', 'ieps'] as const),
]
export type Breakdown = Record<(typeof BREAKDOWN)[number], Micros>

/** The kinds of IVA that a document can transfer. */
type Rate = '16' | '8' | '0' | 'exento'

interface RateSum {
  base: Micros
  importe: Micros
  /** Whether each tax states its base. */
  hasBase: boolean
  tasa: string | null
}

/** The IVA that taxes transfer, by rate. */
export type Rates = Map<Rate, RateSum>

/** Rates above this are general ones. The highest one of border regions was 11 %. */
const GENERAL_FROM = 0.12

function rateOf({ tipo_factor, tasa_o_cuota, importe }: Tax): Rate {
  if (tipo_factor === 'Exento') return 'exento'
  const rate = Number(tasa_o_cuota ?? Number.NaN)
  if (Number.isNaN(rate)) return (micros(importe) ?? 0n) > 0n ? '16' : 'exento'
  return rate > GENERAL_FROM ? '16' : rate > 0 ? '8' : '0'
}

/** Adds a transferred tax. Only IVA counts. */
export function addRate(rates: Rates, tax: Tax): void {
  if (tax.impuesto !== '002') return
  const key = rateOf(tax)
  const sum = rates.get(key) ?? { base: 0n, importe: 0n, hasBase: true, tasa: tax.tasa_o_cuota }
  rates.set(key, sum)
  sum.importe += micros(tax.importe) ?? 0n
  if (tax.base === null) sum.hasBase = false
  else sum.base += micros(tax.base) ?? 0n
}

export const ratesOf = (taxes: readonly Tax[]): Rates => {
  const rates: Rates = new Map()
  for (const tax of taxes) addRate(rates, tax)
  return rates
}

/**
 * The breakdown of the IVA that a document transfers: as its header states it, and what the header leaves out as its lines do. A base that
 * neither states is importe ÷ tasa; that of the rate 0 or of exempt goods is what is left of `net`, the amount before taxes.
 */
export function breakRates(
  header: Rates,
  lines: Rates,
  net: Micros | null,
): Pick<Breakdown, 'base_16' | 'iva_16' | 'base_8' | 'iva_8' | 'base_0' | 'base_exento'> {
  const broken = { base_16: 0n, iva_16: 0n, base_8: 0n, iva_8: 0n, base_0: 0n, base_exento: 0n }
  const stated = header.size > 0 ? header : lines
  for (const rate of ['16', '8'] as const) {
    const sum = stated.get(rate)
    if (sum === undefined) continue
    const line = lines.get(rate)
    broken[`iva_${rate}`] = sum.importe
    if (sum.hasBase) broken[`base_${rate}`] = sum.base
    else if (line?.hasBase) broken[`base_${rate}`] = line.base
    else broken[`base_${rate}`] = Number(sum.tasa ?? 0) > 0 ? dividedBy(sum.importe, sum.tasa!) : (net ?? 0n)
  }
  let left = net === null ? 0n : net - broken.base_16 - broken.base_8
  for (const rate of ['0', 'exento'] as const) {
    const sum = [stated.get(rate), lines.get(rate)].find((one) => one?.hasBase)
    if (sum === undefined && !stated.has(rate)) continue
    broken[`base_${rate}`] = sum?.base ?? (left > 0n ? left : 0n)
    left -= broken[`base_${rate}`]
  }
  return broken
}

/** What SQLite's integers hold with room for sums; anything larger is a text in the list. */
const PLAIN = 10n ** 14n

/** Formats the `taxes` column: a JSON list without the zeros at its end. Null when an amount does not fit. */
export function writeBreakdown(breakdown: Breakdown): string | null {
  const amounts = BREAKDOWN.map((name) => breakdown[name])
  if (!amounts.every(fits)) return null
  while (amounts.at(-1) === 0n) amounts.pop()
  return `[${amounts.map((amount) => (amount < PLAIN && amount > -PLAIN ? `${amount}` : `"${amount}"`)).join()}]`
}

/** Parses the `taxes` column. */
export function parseBreakdown(text: string): Breakdown {
  const amounts = JSON.parse(text) as (number | string)[]
  return Object.fromEntries(BREAKDOWN.map((name, i) => [name, BigInt(amounts[i] ?? 0)])) as Breakdown
}
