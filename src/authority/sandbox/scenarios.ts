import { Unavailable } from '../../failures.ts'

/** How the sandbox treats a CIEC that begins with `prefix`. It accepts any other CIEC and delivers everything. */
interface Scenario {
  prefix: string
  /** Whether the login is accepted. */
  accepted: boolean
  /** The error of downloads, and whether it follows the metadata; null when downloads succeed. */
  fails: { error_class: Unavailable['error_class']; after_metadata: boolean } | null
  /** Whether the authority has locked the account. */
  locked: boolean
  /** Whether the taxpayer has no documents. */
  empty: boolean
  /** How many documents a month has; null for the usual 20 to 60. The number follows the prefix: `busy5000`. */
  documents: number | null
}

const SCENARIOS: readonly Scenario[] = [
  { prefix: 'rejected', accepted: false, fails: null, locked: false, empty: false, documents: null },
  { prefix: 'locked', accepted: false, fails: null, locked: true, empty: false, documents: null },
  {
    prefix: 'unavailable',
    accepted: true,
    fails: { error_class: 'sat_unavailable', after_metadata: false },
    locked: false,
    empty: false,
    documents: null,
  },
  {
    prefix: 'limited',
    accepted: true,
    fails: { error_class: 'rate_limited', after_metadata: false },
    locked: false,
    empty: false,
    documents: null,
  },
  {
    prefix: 'interrupted',
    accepted: true,
    fails: { error_class: 'sat_unavailable', after_metadata: true },
    locked: false,
    empty: false,
    documents: null,
  },
  { prefix: 'empty', accepted: true, fails: null, locked: false, empty: true, documents: null },
]

const PLAIN: Scenario = { prefix: '', accepted: true, fails: null, locked: false, empty: false, documents: null }

export function scenarioOf(ciec: string): Scenario {
  const busy = /^busy(\d{1,6})/.exec(ciec)?.[1]
  if (busy !== undefined) return { ...PLAIN, prefix: 'busy', documents: Number(busy) }
  return SCENARIOS.find(({ prefix }) => ciec.startsWith(prefix)) ?? PLAIN
}

export const failureOf = ({ error_class }: NonNullable<Scenario['fails']>): Unavailable =>
  new Unavailable(error_class, 'The CIEC makes the sandbox authority fail.')
