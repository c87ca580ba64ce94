import type { Rules } from '../../authority/rules/dated.ts'
import { type Refund, returnedPart, shareOf } from '../../cfdi/cash/exact-amounts.ts'
import { type Micros, micros, sumAll, times } from '../../platform/money.ts'
import { type Finding, FOUND, outOf, type Thing } from '../common/deductible.ts'
import type { DeductionDocument } from './store.ts'
import { REASONS, type Reason, rateOf } from './uses.ts'

export type Part = readonly [part: Micros, of: Micros]

/** An invoice that a credit note lowers: the part of the note, and how the invoice was paid and judged. */
type Lowered = [
  part: string | number,
  metodo_pago: string | null,
  invoice: Refund[2],
  payments: [found: number, amount: string | number, at: string][],
  thing: Thing | null,
  uso: string | null,
  fecha: string,
]

/** The published rates by the UUID of a document that states none, and by currency and day. */
export type Rates = ReadonlyMap<string, string | null>
export const keyOf = (currency: string, day: string): string => `${currency} ${day}`

/** The rates that payments in cash of the invoices of a credit note need. */
export const unknownIn = ({ lowered }: DeductionDocument) =>
  (JSON.parse(lowered ?? '[]') as Lowered[]).flatMap(([, , [, currency], payments]) =>
    payments.flatMap(([bits, , at]) => ((bits & FOUND.unknown_amount) === 0 ? [] : [{ currency: currency!, day: at.slice(0, 10) }])),
  )

/** What is not deducted of a document, why, and what then is: of a credit note at the annual rates of the investments that it returns. */
interface Excluded {
  part: Part
  found: number
  deducted: Part
}

/** What excluded a purchase excludes its credit note, in the part that the note returns of its payments, and by what it is. */
function excludedOfNote({ uuid, fecha, lowered }: DeductionDocument, rules: Rules, rates: Rates): Excluded {
  let [excluded, deducted, all, found] = [0n, 0n, 0n, 0]
  for (const [stated, metodo_pago, invoice, payments, thing, uso, bought_at] of JSON.parse(lowered!) as Lowered[]) {
    const part = BigInt(stated)
    const isPaidAtOnce = metodo_pago === 'PUE' && !invoice[3].some(([kind]) => kind === 'P')
    const returned = returnedPart(part, [uuid, isPaidAtOnce ? 1 : 0, invoice, null])
    const before = payments
      .filter(([, , at]) => isPaidAtOnce || at <= fecha)
      .map(([bits, amount, at]): Lowered[3][number] => {
        const rate = (bits & FOUND.unknown_amount) === 0 ? null : rates.get(keyOf(invoice[1]!, at.slice(0, 10)))
        const isOver = rate && times(BigInt(amount), rate) > micros(rules.on(at.slice(0, 10)).get('cash.threshold'))!
        return [isOver ? bits | FOUND.cash_over_2000 : bits, amount, at]
      })
    const lost = outOf(before, thing)
    const out = lost === 0n ? 0n : shareOf(returned, lost, sumAll(before.map(([, amount]) => BigInt(amount))))
    for (const [bits] of before) found |= bits
    if (thing) found |= thing[2]
    all += part
    const without = out + (thing ? shareOf(part - out, BigInt(thing[0]), BigInt(thing[1])) : 0n)
    const annual_rate = rateOf(rules.in('year', bought_at.slice(0, 10)), uso)
    excluded += without
    deducted += annual_rate === null ? part - without : times(part - without, annual_rate)
  }
  return { part: [excluded, all], found, deducted: [deducted, all] }
}

/** What of an amount a business does not deduct. */
export function excludedOf(document: DeductionDocument, rules: Rules, rates: Rates): Excluded {
  if (document.lowered !== null) return excludedOfNote(document, rules, rates)
  const [part, of] = JSON.parse(document.thing ?? '[0, 1]') as Thing
  const excluded: Part = [BigInt(part), BigInt(of)]
  return { part: excluded, found: document.found, deducted: [excluded[1] - excluded[0], excluded[1]] }
}

export const reasonsIn = (found: number): Finding[] => (Object.keys(FOUND) as Finding[]).filter((name) => (found & FOUND[name]) !== 0)
export const isReason = (name: Finding): name is Finding & Reason => (REASONS as readonly string[]).includes(name)
