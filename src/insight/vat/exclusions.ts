import type { EventSource } from '../../cfdi/cash/measure.ts'
import { micros, times } from '../../cfdi/money.ts'
import type { Rules } from '../../rules/dated.ts'
import type { Odd } from './odd.ts'

/** Uso «Sin efectos fiscales» of c_UsoCFDI. */
const NO_TAX_EFFECTS = 'S01'

/** Conditions in SQL on a cash event of what was received, with columns of its invoice. */
export interface Exclusions {
  /** The law does not let its IVA be credited, whoever issued it. */
  isExcluded: string
  /** It bills specialized services by its product keys. */
  isInScope: string
  /** It was paid in cash, so that it depends on its total. */
  isCash: string
  /** The total in MXN above which cash is not deductible. */
  limit: string
}

const among = (keys: readonly string[]): string => `(${keys.map((key) => `'${key}'`).join()})`
const hasKey = (prefixes: readonly string[]): string =>
  `(${prefixes.map((prefix) => `(',' || products) like '%,${prefix}%'`).join(' or ') || '0'})`

/** The conditions of the rules in force. Their values are digits (rules/shapes.ts). */
export function exclusionsOf(rules: Rules): Exclusions {
  const { cash, electronic, review } = rules.get('payment_forms')
  const limit = rules.get('cash.threshold')
  const isInvoice = "tipo <> 'E'"
  const isCash = `(${isInvoice} and forma in ${among(cash)})`
  const isUnelectronic = `forma is not null and forma not in ${among([...electronic, ...review, '99'])}`
  const isFuel = `${isInvoice} and ${isUnelectronic} and ${hasKey(rules.get('deduction.fuel').claves)}`
  return {
    isExcluded: `coalesce((${isCash} and total_mxn + 0 > ${limit} * 1000000) or (${isFuel}) or uso_cfdi = '${NO_TAX_EFFECTS}', 0)`,
    isInScope: `coalesce(${hasKey(rules.find('repse.claves') ?? [])}, 0)`,
    ...{ isCash, limit },
  }
}

/**
 * Whether an event that was paid in cash is of an invoice over the limit whose total in MXN had to be left to us, because the invoice states
 * no exchange rate.
 */
export function isOverLimit(
  { cash_of, source }: Pick<Odd, 'cash_of' | 'source'>,
  { limit }: Exclusions,
  rateOfDay: (currency: string, day: string) => string | null,
): boolean {
  if (cash_of === null) return false
  const [, , , , currency, , total] = JSON.parse(source) as EventSource
  const rate = currency === null ? null : rateOfDay(currency, cash_of)
  return rate !== null && times(BigInt(total), rate) > micros(limit)!
}

/** The rate that `isOverLimit` needs of an event. */
export const rateOfLimit = ({ cash_of = null, source }: Partial<Odd>): { currency: string; day: string }[] => {
  const currency = cash_of === null ? null : (JSON.parse(source!) as EventSource)[4]
  return currency === null ? [] : [{ currency, day: cash_of! }]
}
