import type { RuleKey, RuleRow, Rules } from '../../authority/rules/dated.ts'
import { WITHHOLDING_KEYS } from '../../authority/rules/withholding-classes.ts'
import type { Windows } from '../../taxpayers/visibility/window.ts'
import type { Sequences } from './state-store.ts'

/** The months that are still to be read, and the state that the parts show when they are. */
export interface ReportRound {
  to: Pick<Sequences, 'sequence' | 'import_sequence'>
  basis: string
  watermark: number
  months: string[]
}

/** A round whose months are still to be found. */
export const TO_PLAN = 'plan'

/** What the parts depend on beside the documents. */
interface PartsBasis {
  floors: (string | null)[]
  ceilings: (number | null)[]
  /** The values of rules that were in force on days of the documents. */
  rules: RuleRow[]
}

/** The first day of which the authority has documents. */
export const FIRST_DAY = '2018-01-01'

const TERMS = ['financing.default_terms_days'] as const

/** The rules behind the parts, by the report that they are for. */
export const RULES_OF: Readonly<Record<'payment-behavior' | 'diot', readonly RuleKey[]>> = {
  'payment-behavior': TERMS,
  diot: WITHHOLDING_KEYS,
}

/** Formats what the parts depend on beside the documents, as of a day. */
export const basisOf = ({ issued, received }: Windows, rules: Rules, today: string): string =>
  JSON.stringify({
    floors: [issued.floor, received.floor],
    ceilings: [issued.ceiling, received.ceiling],
    rules: rules.rowsOf([...WITHHOLDING_KEYS, ...TERMS], { first: FIRST_DAY, last: today }),
  } satisfies PartsBasis)

/** The values of some rules with which parts were made: those of all of these bases, because a round makes them again month by month. */
export function rulesIn(bases: readonly string[], keys: readonly RuleKey[]): RuleRow[] {
  const rows = bases.flatMap((text) => (JSON.parse(text) as PartsBasis).rules).filter(({ key }) => keys.includes(key))
  return [...new Map(rows.map((row) => [JSON.stringify(row), row])).values()]
}

/** Whether parts that were made with one basis show what they would with another, but for documents of the days between their ceilings. */
export function isSameBasis(before: string, now: string): boolean {
  const [old, next] = [before, now].map((text) => JSON.parse(text) as PartsBasis) as [PartsBasis, PartsBasis]
  const isBounded = ({ ceilings }: PartsBasis) => ceilings.map((one) => one !== null).join()
  return (
    old.floors.join() === next.floors.join() &&
    JSON.stringify(old.rules) === JSON.stringify(next.rules) &&
    isBounded(old) === isBounded(next)
  )
}

/** The instants, in milliseconds, of the ceilings of a basis and of another one between which they moved. Null when they did not. */
export function movedCeilings(before: string, now: string): [from: number, to: number] | null {
  const [old, next] = [before, now].map((text) => (JSON.parse(text) as PartsBasis).ceilings) as [(number | null)[], (number | null)[]]
  const moved = old.flatMap((from, n) => (from === null || next[n] == null || from === next[n] ? [] : [[from, next[n]] as const]))
  return moved.length === 0 ? null : [Math.min(...moved.map(([from]) => from)), Math.max(...moved.map(([, to]) => to))]
}
