/** The digits of micros with which SQL computes; what has more is left to the caller. */
export const DIGITS = 13

/** Whether an amount or a rate is left to the caller: SQLite's integers could not hold the product, or the rate is not stated. */
export const isOddAmount = (micros: string): string => `coalesce(length(${micros}) > ${DIGITS} or ${micros} < '0', 1)`

const isPesos = (alias: string): string => `coalesce(${alias}.currency, 'MXN') in ('MXN', 'XXX')`
const places = (rate: string): string => `iif(instr(${rate}, '.') = 0, 0, length(${rate}) - instr(${rate}, '.'))`

/** The same of the exchange rate of a document: SQL multiplies by one of at most four digits and six places. */
export const isOddRate = (alias: string): string =>
  `(not ${isPesos(alias)} and coalesce(${alias}.tipo_cambio + 0 <= 0 or ${alias}.tipo_cambio + 0 >= 10000 or ${places(`${alias}.tipo_cambio`)} > 6, 1))`

/** An amount in micros at the exchange rate of a document, rounded half up to micros. Neither is odd. */
export function atRate(micros: string, alias: string): string {
  const rate = `cast(round(${alias}.tipo_cambio * 1000000) as integer)`
  return `case when ${isPesos(alias)} then ${micros} else (${micros}) / 1000000 * ${rate} + ((${micros}) % 1000000 * ${rate} + 500000) / 1000000 end`
}
