import { ratesAt } from '../../authority/rules/rates/rates.ts'
import { type Measurable, type Measured, measure } from '../../cfdi/cash/measure.ts'
import type { System } from '../../platform/context.ts'
import type { Micros } from '../../platform/money.ts'

/** What a row of `cashEvents` adds, or why it adds nothing. */
export type Outcome = ReturnType<typeof measure>

/**
 * Returns how rows of `cashEvents` with `is_odd` are measured, with the published rates of the days on which they need one. Takes one D1
 * call when one of them does, otherwise none.
 */
export async function measurer(
  system: System,
  rows: readonly Measurable[],
  more: readonly { currency: string; day: string }[] = [],
): Promise<{ outcomeOf: (row: Measurable) => Outcome; rateOfDay: (currency: string, day: string) => string | null }> {
  const wanted = [...more]
  for (const row of rows)
    measure(row, (currency, day) => {
      wanted.push({ currency, day })
      return '1'
    })
  const found = wanted.length === 0 ? [] : await ratesAt(system, wanted)
  const rates = new Map(wanted.map(({ currency, day }, n) => [`${currency} ${day}`, found[n]?.rate ?? null]))
  const rateOfDay = (currency: string, day: string): string | null => rates.get(`${currency} ${day}`) ?? null
  return { outcomeOf: (row) => measure(row, rateOfDay), rateOfDay }
}

/** The IVA that is transferred. */
export const ivaOf = ({ iva_16, iva_8, iva_otras }: Pick<Measured, 'iva_16' | 'iva_8' | 'iva_otras'>): Micros => iva_16 + iva_8 + iva_otras
