import { parseSum } from '../../cfdi/population/sums.ts'
import type { Micros } from '../../platform/money.ts'
import type { Line } from './lines.ts'
import type { WithheldGroup, WithheldRow } from './store.ts'

const NOTHING = { isr_a_favor: 0n, iva_a_favor: 0n, isr_por_enterar: 0n, iva_por_enterar: 0n, missing_count: 0, missing_amount: 0n }
type Sums = typeof NOTHING

/** What is missing of a line: nothing when more is withheld than is expected. */
export const missingOf = ({ missing, expected, amount }: Line): Micros => (missing && expected! > amount ? expected! - amount : 0n)

/** WithholdingSums by month, and the paid parts that are no cash events. */
export class WithholdingSums {
  readonly #months = new Map<string, Sums>()
  unreconciled = 0
  otherParties = 0

  #at(month: string): Sums {
    const sums = this.#months.get(month) ?? { ...NOTHING }
    this.#months.set(month, sums)
    return sums
  }

  addGroup({ month, is_ours, reason, pairs, isr, iva, missing, missing_amount }: WithheldGroup): void {
    if (reason !== null) {
      this.unreconciled += pairs
      if (reason === 'other_parties') this.otherParties += pairs
      return
    }
    const sums = this.#at(month)
    sums[is_ours ? 'isr_por_enterar' : 'isr_a_favor'] += parseSum(isr)
    sums[is_ours ? 'iva_por_enterar' : 'iva_a_favor'] += parseSum(iva)
    sums.missing_count += missing
    sums.missing_amount += parseSum(missing_amount)
  }

  /** `lines` are null when the exchange rate is not known. */
  addOdd({ day }: WithheldRow, lines: readonly Line[] | null): void {
    if (lines === null) this.unreconciled++
    for (const line of lines ?? []) {
      const sums = this.#at(day.slice(0, 7))
      const side = line.role === 'withheld_by_us' ? 'por_enterar' : 'a_favor'
      if (line.impuesto !== 'IEPS') sums[`${line.impuesto === 'ISR' ? 'isr' : 'iva'}_${side}`] += line.amount
      if (line.missing) sums.missing_count++
      sums.missing_amount += missingOf(line)
    }
  }

  months = (): ({ period: string } & Sums)[] =>
    [...this.#months].sort(([a], [b]) => (a < b ? -1 : 1)).map(([period, sums]) => ({ period, ...sums }))
}
