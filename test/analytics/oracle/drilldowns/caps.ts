import { type Micros, micros, times } from '../amounts.ts'
import { inPesos, netOf, populationOf, signOf } from '../counting.ts'
import type { Document, World } from '../world.ts'
import { tuitionOf, verdictOf } from './deduction-reasons.ts'

const smaller = (...limits: (Micros | null)[]): Micros | null =>
  limits.reduce<Micros | null>((least, one) => (one === null ? least : least === null || one < least ? one : least), null)

/** What somebody earned in a year, as documents show it; null when they show nothing. */
export function incomeOf(world: World, year: string): Micros | null {
  const range = { from: `${year}-01-01`, to: `${year}-12-31` }
  const wages = populationOf(world, range, ['N']).filter(({ direction }) => direction === 'received')
  const sales = populationOf(world, range, ['I', 'E']).filter(({ direction }) => direction === 'issued')
  if (wages.length + sales.length === 0) return null
  const wage = (one: Document) => micros(one.subtotal)
  return (
    wages.reduce((all, one) => all + inPesos(world, one, wage(one)), 0n) +
    sales.reduce((all, one) => all + inPesos(world, one, netOf(one)) * signOf(one), 0n)
  )
}

/** A limit that is used up: its name, what it allows in a year, and whether an unknown income would lower it. */
export interface Limit {
  key: string
  amount: Micros | null
  isUnknown: boolean
}

/** The highest cap of a student's levels in a year, by what of these documents can be deducted. */
function highest(world: World, curp: string, year: string, documents: readonly Document[]): Micros {
  const caps = documents
    .filter((one) => one.tipo_comprobante === 'I' && one.fecha.startsWith(year) && one.uso_cfdi === 'D10')
    .filter((one) => verdictOf(world, one, 'personal').not_deductible.length === 0)
    .flatMap((one) => tuitionOf(world, one, year) ?? [])
    .flatMap((one) => (one.curp === curp ? [one.cap] : []))
  return caps.reduce((most, one) => (one > most ? one : most), 0n)
}

/**
 * The limits of a personal deduction in a year, all of which it uses up; of tuition one for each student. A null amount limits nothing.
 * `document` is the one whose use decides, `documents` are those of the answer.
 */
export function limitsOf(
  world: World,
  document: Document,
  year: string,
  annual_income: string | undefined,
  documents: readonly Document[],
): Limit[] {
  const rules = world.rules(`${year}-12-31`)
  const rule = rules.personal[document.uso_cfdi ?? '']
  if (!rule || rule.cap_group === null) return []
  const incomeIn = (one: string) => (annual_income === undefined ? incomeOf(world, one) : micros(annual_income))
  const income = incomeIn(year)
  const uma = rules.uma[year] === undefined ? null : micros(rules.uma[year])
  const share = (of: Micros | null, rate: string) => (of === null ? null : times(of < 0n ? 0n : of, rate))
  const umas = (count: number) => (uma === null ? null : uma * BigInt(count))
  const limit = (key: string, amount: Micros | null, isUnknown: boolean): Limit => ({ key: `${key}|${year}`, amount, isUnknown })
  const global = limit('global', smaller(umas(rules.global_cap.uma), share(income, rules.global_cap.income)), income === null)
  if (rule.category === 'donations') {
    const before = incomeIn(String(Number(year) - 1))
    const own = limit('donations', share(before, rules.donation_income), before === null)
    return rule.cap_group === 'global' ? [own, global] : [own]
  }
  if (rule.cap_group === 'global')
    return rule.category === 'funeral' ? [limit('funeral', umas(rules.funeral_uma), false), global] : [global]
  if (rule.cap_group === 'retirement_voluntary') {
    const { income: rate, uma: count } = rules.retirement
    return [limit('retirement_voluntary', smaller(share(income, rate), umas(count)), income === null)]
  }
  if (rule.cap_group === 'retirement_185') return [limit('retirement_185', micros(rules.retirement.fixed), false)]
  const curps = [...new Set((tuitionOf(world, document, year) ?? []).map(({ curp }) => curp))]
  return curps.map((curp) => limit(`tuition|${curp}`, highest(world, curp, year, documents), false))
}
