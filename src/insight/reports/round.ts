import type { Rules } from '../../rules/dated.ts'
import type { Windows } from '../../visibility/window.ts'
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
  rules: string
}

const RULES = [
  ...(['withholding.autotransporte', 'withholding.resico_pf', 'withholding.arrendamiento', 'withholding.comision'] as const),
  ...(['withholding.honorarios', 'financing.default_terms_days'] as const),
]

/** Formats what the parts depend on beside the documents. */
export const basisOf = ({ issued, received }: Windows, rules: Rules): string =>
  JSON.stringify({
    floors: [issued.floor, received.floor],
    ceilings: [issued.ceiling, received.ceiling],
    rules: JSON.stringify(RULES.map((key) => rules.find(key))),
  } satisfies PartsBasis)

/** Whether parts that were made with one basis show what they would with another, but for documents of the days between their ceilings. */
export function isSameBasis(before: string, now: string): boolean {
  const [old, next] = [before, now].map((text) => JSON.parse(text) as PartsBasis) as [PartsBasis, PartsBasis]
  const isBounded = ({ ceilings }: PartsBasis) => ceilings.map((one) => one !== null).join()
  return old.floors.join() === next.floors.join() && old.rules === next.rules && isBounded(old) === isBounded(next)
}

/** The instants, in milliseconds, of the ceilings of a basis and of another one between which they moved. Null when they did not. */
export function movedCeilings(before: string, now: string): [from: number, to: number] | null {
  const [old, next] = [before, now].map((text) => (JSON.parse(text) as PartsBasis).ceilings) as [(number | null)[], (number | null)[]]
  const moved = old.flatMap((from, n) => (from === null || next[n] == null || from === next[n] ? [] : [[from, next[n]] as const]))
  return moved.length === 0 ? null : [Math.min(...moved.map(([from]) => from)), Math.max(...moved.map(([, to]) => to))]
}
