import { Unavailable } from '../../failures.ts'

/** What a CIEC that begins with `prefix` makes the sandbox do. Anything else is accepted and delivers everything. */
interface Scenario {
  prefix: string
  /** Whether the login passes. */
  accepted: boolean
  /** What a download or a document throws, and whether the metadata comes before it. */
  fails: { error_class: Unavailable['error_class']; after_metadata: boolean } | null
  /** A taxpayer without a single document. */
  empty: boolean
}

const SCENARIOS: readonly Scenario[] = [
  { prefix: 'rejected', accepted: false, fails: null, empty: false },
  { prefix: 'unavailable', accepted: true, fails: { error_class: 'sat_unavailable', after_metadata: false }, empty: false },
  { prefix: 'limited', accepted: true, fails: { error_class: 'rate_limited', after_metadata: false }, empty: false },
  { prefix: 'interrupted', accepted: true, fails: { error_class: 'sat_unavailable', after_metadata: true }, empty: false },
  { prefix: 'empty', accepted: true, fails: null, empty: true },
]

const PLAIN: Scenario = { prefix: '', accepted: true, fails: null, empty: false }

export const scenarioOf = (ciec: string): Scenario => SCENARIOS.find(({ prefix }) => ciec.startsWith(prefix)) ?? PLAIN

export const failureOf = ({ error_class }: NonNullable<Scenario['fails']>): Unavailable =>
  new Unavailable(error_class, 'The sandbox authority was asked to fail here.')
