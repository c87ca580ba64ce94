import { inPesos } from '../../platform/money.ts'
/** The most digits of micros with which SQL computes; longer ones are left to the caller. */
export const DIGITS = 13

/** Whether an amount or a rate is left to the caller: SQLite's integers could not hold the product, or the rate is not stated. */
export const needsExactAmount = (micros: string): string => `coalesce(length(${micros}) > ${DIGITS} or ${micros} < '0', 1)`

const isPesos = (alias: string): string => inPesos(`${alias}.currency`)
/** How many decimal places a text has. */
export const placesOf = (text: string): string => `iif(instr(${text}, '.') = 0, 0, length(${text}) - instr(${text}, '.'))`

/** Decimal text with at most six places in micros, as far as floating point is exact. */
export const microsOfText = (text: string): string => `cast(round(${text} * 1000000) as integer)`

/** The same of the exchange rate of a document: SQL multiplies by one of at most four digits and six places. */
export const needsExactRate = (alias: string): string =>
  `(not ${isPesos(alias)} and coalesce(${alias}.tipo_cambio + 0 <= 0 or ${alias}.tipo_cambio + 0 >= 10000 or ${placesOf(`${alias}.tipo_cambio`)} > 6, 1))`

/** An amount in micros at the exchange rate of a document, rounded half up to micros. Neither needs exact arithmetic. */
export function atRate(micros: string, alias: string): string {
  const rate = microsOfText(`${alias}.tipo_cambio`)
  return `case when ${isPesos(alias)} then ${micros} else (${micros}) / 1000000 * ${rate} + ((${micros}) % 1000000 * ${rate} + 500000) / 1000000 end`
}
