import type { Rules } from '../../authority/rules/dated.ts'
import { portionOf } from '../../cfdi/cash/measure.ts'
import { type Micros, micros, times } from '../../platform/money.ts'
import { inPesos } from '../common/unrated.ts'
import { type IncomeOf, type Limit, limitsOf, take, type Use, type Used } from './caps.ts'
import { bitOf, isNotDeductible, REASONS } from './reasons.ts'
import type { DeductionDocument } from './store.ts'
import { type Student, TuitionLimits } from './tuition.ts'
import { personalRule, rateOf } from './uses.ts'

export type Status = 'eligible' | 'capped' | 'not_deductible' | 'review'

/** What is decided about a document. Amounts are micros of MXN; those of a credit note are negative. */
export interface Decided {
  document: DeductionDocument
  category: string | null
  cap_group: string | null
  annual_rate: string | null
  gross: Micros | null
  deductible: Micros
  status: Status
  reasons: string[]
  limits: readonly Limit[]
}

const RETURNS = 'G02'

/** The amount of a document before what decides about it; null without XML or rate. */
function grossOf(
  { is_personal, is_known, is_unrated, net_mxn, total_mxn, total, subtotal, descuento, tipo }: DeductionDocument,
  rate: string | null,
) {
  const own = is_personal ? BigInt(total) : (micros(subtotal) ?? 0n) - (micros(descuento) ?? 0n)
  const stated = is_personal ? total_mxn : net_mxn
  const amount = is_known === 0 ? null : is_unrated ? inPesos(own, rate) : stated === null ? null : BigInt(stated)
  return amount === null ? null : tipo === 'E' ? -amount : amount
}

/** What is deducted of an amount: its paid part, and that at the annual rate of an investment. */
export function claimOf(gross: Micros, paid: Micros, total: Micros, isFlow: boolean, rate: string | null): Micros {
  const claimed = isFlow ? portionOf(gross, paid > total ? total : paid, total) : gross
  return rate === null ? claimed : times(claimed, rate)
}

/**
 * Decides about documents in their order, in which they use up limits. By UUID, `rates` are the published rates of those that state none, and
 * `students` whose tuition they are.
 */
export function decideAll(
  documents: readonly DeductionDocument[],
  rules: Rules,
  incomeOf: IncomeOf,
  rates: ReadonlyMap<string, string | null>,
  students: ReadonlyMap<string, readonly Student[]> = new Map(),
): { decided: Decided[]; used: Used } {
  const used = new Map<string, Use>()
  const isDeducted = ({ tipo, mask }: DeductionDocument) => tipo === 'I' && !isNotDeductible(mask)
  const tuition = new TuitionLimits(
    rules,
    documents.filter(isDeducted).map(({ fecha, uuid }) => [fecha.slice(0, 4), students.get(uuid)]),
  )
  const decided = documents.map((document): Decided => {
    const { uso, is_personal, is_known, is_unrated, tipo, uuid, fecha } = document
    const rate = rates.get(uuid) ?? null
    const gross = grossOf(document, rate)
    const ofYear = rules.in('year', fecha.slice(0, 10))
    const rule = is_personal ? personalRule(ofYear, uso!) : null
    const annual_rate = is_personal || tipo === 'E' ? null : rateOf(ofYear, uso)
    const category =
      is_known === 0
        ? null
        : (rule?.category ?? (tipo === 'E' || uso === RETURNS ? 'returns' : annual_rate === null ? 'expense' : 'investment'))
    const [year, isTuition] = [fecha.slice(0, 4), rule?.cap_group === 'tuition']
    const pupils = isTuition ? tuition.known(year, students.get(uuid)) : null
    const limits = pupils ? tuition.of(year, pupils) : rule === null || isTuition ? [] : limitsOf(rules, uso!, year, incomeOf)
    let { mask } = document
    if (isTuition && tipo === 'I' && pupils === null) mask |= bitOf('tuition_without_iedu')
    const total = is_unrated ? inPesos(BigInt(document.total), rate) : null
    if (document.is_cash && total !== null && total > micros(rules.on(fecha.slice(0, 10)).get('cash.threshold'))!)
      mask |= bitOf('cash_over_2000')
    if (is_known && is_unrated && rate === null) mask |= bitOf('missing_rate')
    if (limits.some(({ amount, isUnknown }) => amount === null && isUnknown)) mask |= bitOf('cap_unknown')
    const reasons: string[] = REASONS.filter((reason) => (mask & bitOf(reason)) !== 0)
    const common = { document, category, cap_group: rule?.cap_group ?? null, annual_rate, gross, limits }
    const as = (status: Status, deductible: Micros, more: string[] = []): Decided => {
      const open = document.is_open && !reasons.includes('not_paid') ? ['not_paid'] : []
      return { ...common, status, deductible, reasons: [...reasons, ...more, ...open] }
    }
    if (isNotDeductible(mask)) return as('not_deductible', 0n)
    if (mask !== 0 || gross === null) return as('review', 0n)
    const applied = BigInt(document.paid) + BigInt(document.credited)
    const claimed = claimOf(gross, applied, BigInt(document.total), document.is_flow === 1, annual_rate)
    const deductible = pupils ? tuition.take(year, pupils, limits, used, claimed) : take(limits, used, claimed)
    return deductible < claimed ? as('capped', deductible, [`cap_${limits[0]!.key.split('|')[0]}`]) : as('eligible', deductible)
  })
  return { decided, used }
}
