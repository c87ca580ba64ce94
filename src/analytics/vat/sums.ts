import { measureOpenOn, partOf } from '../../cfdi/open/measure-open-on.ts'
import type { Micros } from '../../platform/money.ts'
import type { DirectionNumber } from '../../taxpayers/visibility/scoped-ledger.ts'
import { ivaOf, type measurer, type Outcome } from '../common/measured.ts'
import type { VatFigure } from './contract.ts'
import { type Exclusions, isOverLimit } from './exclusions.ts'
import { parseOdd } from './odd.ts'
import type { GroupRow } from './position.ts'
import type { monthsOf, VatReading } from './reading.ts'
import { SUMS, type Sum } from './store.ts'

type Measurer = Awaited<ReturnType<typeof measurer>>

/** Sums by figure and month. */
export class VatSums {
  readonly #sums = new Map<string, Micros>()
  /** Paid parts that match no invoice, and those among them that name one of other parties, by month. */
  readonly unreconciled = new Map<string, number>()
  readonly otherParties = new Map<string, number>()
  readonly #seen = new Set<string>()
  /** Documents of the range that are converted at the published rate. */
  dof_rate = 0

  add(figure: VatFigure, month: string, amount: Micros): void {
    this.#sums.set(`${figure}|${month}`, this.of(figure, month) + amount)
  }

  see = (month: string, direction: DirectionNumber): void => void this.#seen.add(`${month}|${direction}`)
  /** Whether anything is known of a month and direction: a document, or a payment. */
  isSeen = (month: string, direction: DirectionNumber): boolean => this.#seen.has(`${month}|${direction}`)

  of = (figure: VatFigure, month: string): Micros => this.#sums.get(`${figure}|${month}`) ?? 0n
}

const count = (counts: Map<string, number>, month: string, by: number): void => void counts.set(month, (counts.get(month) ?? 0) + by)

/** What movements add, measured where SQL left that to us; or why they are no cash events. */
interface Added {
  reason: string | null
  amounts: Record<Sum, Micros>
  iva: Micros
  pairs: number
  isExcluded: boolean
  /** Of a single document: whether the rate of a day was used. */
  dof: boolean
}

const NO_AMOUNTS = Object.fromEntries(SUMS.map((name) => [name, 0n])) as Record<Sum, Micros>

/** The group as a whole, and what was left out of it. */
function addedBy(row: GroupRow, exclusions: Exclusions, { outcomeOf, rateOfDay }: Measurer): Added[] {
  const { reason, is_part, is_excluded: isExcluded, sums, stated, pairs, odds } = row
  const isUnmatched = reason !== null && is_part
  const single = odds.map(parseOdd).flatMap((odd): Added[] => {
    const outcome: Outcome = outcomeOf(odd)
    if (outcome === 'not_counted' || (outcome === 'missing_rate' && !is_part)) return []
    const one = { pairs: isUnmatched ? 0 : 1, dof: false, isExcluded: isExcluded || isOverLimit(odd, exclusions, rateOfDay) }
    if (outcome === 'missing_rate') return [{ ...one, reason: reason ?? outcome, amounts: NO_AMOUNTS, iva: 0n }]
    const statesTaxes = (JSON.parse(odd.source) as unknown[])[3] !== null
    return [{ ...one, reason, amounts: outcome, iva: !isUnmatched || statesTaxes ? ivaOf(outcome) : 0n, dof: outcome.dof }]
  })
  return [{ reason, amounts: sums, iva: isUnmatched ? stated : ivaOf(sums), pairs, isExcluded, dof: false }, ...single]
}

/** Adds up everything that was read. */
export function sumsOf({ groups, open, odd, exclusions }: VatReading, months: ReturnType<typeof monthsOf>, measurer: Measurer): VatSums {
  const sums = new VatSums()
  const first = months[0]?.month ?? ''
  for (const { month, direction } of groups) sums.see(month, direction)
  const addGroup = ({ month, direction, is_part, is_presumed, is_lapsed }: (typeof groups)[number], added: Added): void => {
    const { reason, amounts, iva, pairs, isExcluded, dof } = added
    const isIssued = direction === 0
    if (!is_part) {
      sums.add(`devengado.${isIssued ? 'trasladado' : 'acreditable'}`, month, iva)
      if (dof && month >= first) sums.dof_rate++
      if (reason !== null) return
    }
    if (reason !== null) {
      count(sums.unreconciled, month, pairs)
      if (reason === 'other_parties') count(sums.otherParties, month, pairs)
      sums.add('pagos_sin_conciliar', month, iva)
      sums.add(`pagos_sin_conciliar.${isIssued ? 'iva_cobrado' : 'iva_pagado'}`, month, iva)
      return
    }
    for (const name of SUMS) if (name !== 'iva_retenido') sums.add(`${isIssued ? 'cobrado' : 'pagado'}.${name}`, month, amounts[name])
    sums.add(isIssued ? 'cobrado.retenido_por_clientes' : 'pagado.retenido_a_terceros', month, amounts.iva_retenido)
    if (isIssued) return
    if (isExcluded) sums.add('no_deducible_excluded', month, iva)
    else {
      if (is_presumed) sums.add('at_risk_69b', month, iva)
      if (is_lapsed) sums.add('at_risk_repse', month, iva)
    }
  }
  for (const row of groups) for (const added of addedBy(row, exclusions, measurer)) addGroup(row, added)
  const figureOf = (direction: 0 | 1) => (direction === 0 ? 'pendiente_por_cobrar_iva' : 'pendiente_por_acreditar_iva')
  const ivaOfPart = (invoice: string, balance: Micros): Micros => {
    const outcome = balance === 0n ? 'missing_rate' : measurer.outcomeOf(partOf(invoice, balance))
    return typeof outcome === 'string' ? 0n : ivaOf(outcome)
  }
  for (const row of open) {
    const iva = row.invoice === null ? BigInt(row.iva) : ivaOfPart(row.invoice, BigInt(row.balance!))
    for (const { month } of months)
      if (row.month <= month && (row.until === null || month < row.until)) sums.add(figureOf(row.direction), month, iva)
  }
  for (const { direction, invoice } of odd)
    for (const { month, end } of months) sums.add(figureOf(direction), month, ivaOfPart(invoice, measureOpenOn(invoice, end)))
  return sums
}
