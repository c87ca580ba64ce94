import type { Micros } from '../../cfdi/money.ts'
import { parseSum } from '../../cfdi/population/sums.ts'
import { isInvalidOn } from '../../repse/registrations.ts'
import type { DirectionNumber } from '../../visibility/scoped-ledger.ts'
import { ivaOf, type measurer, type Outcome } from '../common/measured.ts'
import type { VatFigure } from './contract.ts'
import { isOverLimit } from './exclusions.ts'
import { parseOdd } from './odd.ts'
import { pendingOn } from './pending.ts'
import { type KnownSuppliers, type monthsOf, parseOpen, type VatReading } from './reading.ts'
import { type GroupRow, SUMS, type Sum } from './store.ts'

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

/** What one group adds, measured where SQL left that to us; or why it is no cash event. */
interface Added {
  reason: string | null
  amounts: Record<Sum, Micros>
  iva: Micros
}

function addedBy(row: GroupRow, { outcomeOf }: Measurer): Added | null {
  if (row.odd === null) {
    const amounts = Object.fromEntries(SUMS.map((name) => [name, parseSum(row[name])])) as Record<Sum, Micros>
    return { reason: row.reason, amounts, iva: row.reason === null ? ivaOf(amounts) : parseSum(row.stated) }
  }
  const odd = parseOdd(row.odd)
  const outcome: Outcome = outcomeOf(odd)
  if (outcome === 'not_counted' || (outcome === 'missing_rate' && odd.tipo !== 'P')) return null
  const statesTaxes = (JSON.parse(odd.source) as unknown[])[3] !== null
  if (outcome === 'missing_rate') return { reason: row.reason ?? outcome, amounts: {} as Record<Sum, Micros>, iva: 0n }
  return { reason: row.reason, amounts: outcome, iva: row.reason === null || statesTaxes ? ivaOf(outcome) : 0n }
}

/** The parts of a group of one supplier and month that were paid without a valid registration; null when a day within decides it. */
const repseRisk = (row: GroupRow, { registrations }: KnownSuppliers, end: string): boolean | null => {
  const registration = registrations.get(row.party ?? '')
  if (!registration || (row.in_scope === 0 && registration.has_activities === 0)) return false
  if (row.odd !== null) return isInvalidOn(registration, parseOdd(row.odd).day)
  const [first, last] = [isInvalidOn(registration, `${row.month}-01`), isInvalidOn(registration, end)]
  return first === last ? first : null
}

/** Adds up everything that was read. `isSplit` gets the suppliers and months whose registration ended within the month. */
export function sumsOf(
  { groups, accrued, pending, notes, exclusions }: VatReading,
  months: ReturnType<typeof monthsOf>,
  suppliers: KnownSuppliers,
  measurer: Measurer,
  onSplit: (row: GroupRow) => void,
): VatSums {
  const sums = new VatSums()
  const isOver = ({ odd }: GroupRow) => odd !== null && isOverLimit(parseOdd(odd), exclusions, measurer.rateOfDay)
  for (const { month, direction } of [...groups, ...accrued]) sums.see(month, direction)
  for (const row of groups) {
    const added = addedBy(row, measurer)
    if (added === null) continue
    const { month, direction } = row
    const { reason, amounts, iva } = added
    const isIssued = direction === 0
    if (reason !== null) {
      count(sums.unreconciled, month, row.odd === null ? row.pairs : 1)
      if (reason === 'other_parties') count(sums.otherParties, month, row.odd === null ? row.pairs : 1)
      sums.add('pagos_sin_conciliar', month, iva)
      sums.add(`pagos_sin_conciliar.${isIssued ? 'iva_cobrado' : 'iva_pagado'}`, month, iva)
      continue
    }
    for (const name of SUMS) if (name !== 'iva_retenido') sums.add(`${isIssued ? 'cobrado' : 'pagado'}.${name}`, month, amounts[name])
    sums.add(isIssued ? 'cobrado.retenido_por_clientes' : 'pagado.retenido_a_terceros', month, amounts.iva_retenido)
    if (isIssued) continue
    const isExcluded = row.is_excluded === 1 || suppliers.definitive.has(row.party!) || isOver(row)
    if (isExcluded) sums.add('no_deducible_excluded', month, iva)
    else {
      if (suppliers.presumed.has(row.party!)) sums.add('at_risk_69b', month, iva)
      const end = months.find((one) => one.month === month)?.end
      const isAtRisk = end === undefined ? false : repseRisk(row, suppliers, end)
      if (isAtRisk === true) sums.add('at_risk_repse', month, iva)
      if (isAtRisk === null) onSplit(row)
    }
  }
  for (const { month, n } of notes) count(sums.otherParties, month, n)
  for (const { direction, month, iva, odd } of accrued) {
    const outcome = odd === null ? null : measurer.outcomeOf(parseOdd(odd))
    if (typeof outcome === 'string') continue
    if (outcome?.dof) sums.dof_rate++
    sums.add(`devengado.${direction === 0 ? 'trasladado' : 'acreditable'}`, month, outcome ? ivaOf(outcome) : parseSum(iva))
  }
  for (const { direction, month: issued, settled, iva, odd } of pending)
    for (const { month, end } of months) {
      const figure = direction === 0 ? 'pendiente_por_cobrar_iva' : 'pendiente_por_acreditar_iva'
      if (odd !== null) sums.add(figure, month, pendingOn(parseOpen(odd), end, measurer.outcomeOf) ?? 0n)
      else if (issued <= month && (settled === null || settled > month)) sums.add(figure, month, parseSum(iva))
    }
  return sums
}
