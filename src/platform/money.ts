import { product, ratioOf, shifted } from './decimal.ts'

/** An amount that is added up: an integer number of millionths. A bigint here, decimal text on its way to and from SQL. */
export type Micros = bigint

const MICROS = 1_000_000
const PLAIN = /^(\d{1,9})(?:\.(\d{0,6}))?$/

/** Converts decimal text to micros, rounded half up at the sixth decimal. Null stays null. */
export function micros(text: string | null): Micros | null {
  if (text === null) return null
  const plain = PLAIN.exec(text)
  if (plain) return BigInt(Number(plain[1]) * MICROS + Number((plain[2] ?? '').padEnd(6, '0')))
  return shifted(text, 6)
}

/** The schemas allow 18 digits before the point. */
const LIMIT = 10n ** 24n

/** Whether an amount has at most 18 digits before the point. A figure in MXN that has more is left out of every sum. */
export const fits = (amount: Micros): boolean => amount < LIMIT && amount > -LIMIT

/** Multiplies micros by a decimal rate, rounded half up. */
export const times = (amount: Micros, rate: string): Micros => product(amount, rate)

/** Divides micros by a decimal rate, rounded half up. */
export const dividedBy = (amount: Micros, rate: string): Micros => ratioOf(amount, rate)

const PESOS = ['MXN', 'XXX']

/** Whether an amount needs no exchange rate. A document without a currency is in pesos; XXX is that of documents without amounts. */
export const isPesos = (currency: string | null): boolean => currency === null || PESOS.includes(currency)

/** The same as a condition of SQL, on the first of these columns that is not null. */
export const inPesos = (...columns: string[]): string =>
  `coalesce(${columns.join(', ')}, 'MXN') in (${PESOS.map((one) => `'${one}'`).join(', ')})`

const CENT = 10_000
const MAX_EXACT = Number.MAX_SAFE_INTEGER - CENT

/** Converts micros to decimal text, rounded half up to two places. */
export const decimal = (amount: Micros | string): string => {
  const value = Number(amount)
  const size = Math.abs(value)
  const cents = size <= MAX_EXACT ? String(centsOf(size)) : bigCents(BigInt(amount))
  const digits = cents.padStart(3, '0')
  return `${value < 0 && cents !== '0' ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`
}

const centsOf = (size: number): number => {
  const raised = size + CENT / 2
  return (raised - (raised % CENT)) / CENT
}

const bigCents = (value: Micros): string => (((value < 0n ? -value : value) + BigInt(CENT / 2)) / BigInt(CENT)).toString()
