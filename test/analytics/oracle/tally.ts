import { exact, type Micros, sum } from './amounts.ts'
import type { Entry } from './shapes.ts'

/** Adds up figures and remembers what each is made of, for its entries. */
export interface Tally {
  add(figure: string, uuid: string, amount: Micros, applies_to?: string | null): void
  sum(figure: string): Micros
  /** The number of pairs of a document and what it applies to. */
  count(figure: string): number
  entries(figure: string): Entry[]
}

export function newTally(): Tally {
  const figures = new Map<string, Map<string, Micros>>()
  const of = (figure: string) => figures.get(figure) ?? new Map<string, Micros>()
  return {
    add(figure, uuid, amount, applies_to = null) {
      const pairs = of(figure)
      const pair = `${uuid}|${applies_to ?? ''}`
      figures.set(figure, pairs.set(pair, (pairs.get(pair) ?? 0n) + amount))
    },
    sum: (figure) => sum(of(figure).values()),
    count: (figure) => of(figure).size,
    entries: (figure) =>
      [...of(figure)].map(([pair, amount]) => {
        const [uuid = '', applies_to = ''] = pair.split('|')
        return { uuid, amount: exact(amount), applies_to: applies_to || null }
      }),
  }
}
