import { Unavailable } from '../../platform/failures.ts'
import { clock } from '../../platform/time/clock.ts'
import type { TaxCertificate } from '../efirma/efirma.ts'
import type { AuthorityLogins } from '../port/authority.ts'
import { DATA_SOURCE_KEYS } from '../port/authority.ts'
import { LOGIN_KINDS, type Login } from '../port/login.ts'
import type { SandboxOverrides } from './overrides.ts'

/** How the sandbox treats a CIEC that begins with `prefix`. It accepts any other CIEC and delivers everything. */
export interface Scenario {
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
  /** How long the authority works on a download. The number follows the prefix: `slow30`. */
  takes_seconds: number
}

/** An RFC of the sandbox takes no more of the service than a large taxpayer does. */
const MOST_DOCUMENTS = 20_000

const PLAIN: Scenario = { prefix: '', accepted: true, fails: null, locked: false, empty: false, documents: null, takes_seconds: 0 }

const failing = (error_class: Unavailable['error_class'], after_metadata = false) => ({ fails: { error_class, after_metadata } })

const SCENARIOS: readonly Scenario[] = [
  { ...PLAIN, prefix: 'rejected', accepted: false },
  { ...PLAIN, prefix: 'locked', accepted: false, locked: true },
  { ...PLAIN, prefix: 'unavailable', ...failing('sat_unavailable') },
  { ...PLAIN, prefix: 'limited', ...failing('rate_limited') },
  { ...PLAIN, prefix: 'interrupted', ...failing('sat_unavailable', true) },
  { ...PLAIN, prefix: 'empty', empty: true },
]

export function scenarioOf(ciec: string): Scenario {
  const [, counted, count] = /^(busy|slow)(\d{1,6})/.exec(ciec) ?? []
  if (counted === 'busy') return { ...PLAIN, prefix: counted, documents: Math.min(Number(count), MOST_DOCUMENTS) }
  if (counted === 'slow') return { ...PLAIN, prefix: counted, takes_seconds: Number(count) }
  return SCENARIOS.find(({ prefix }) => ciec.startsWith(prefix)) ?? PLAIN
}

export const failureOf = ({ error_class }: NonNullable<Scenario['fails']>): Unavailable =>
  new Unavailable(error_class, 'The CIEC makes the sandbox authority fail.')

/** The ends of certificate numbers that the sandbox refuses, like the authority with its codes 304 (revoked) and 305 (invalid). */
const REFUSED_NUMBERS = ['0304', '0305']

/** Whether the sandbox accepts an e.firma with this certificate for an RFC. */
const accepts = (rfc: string, certificate: TaxCertificate, now: Date): boolean =>
  certificate.rfc === rfc &&
  !certificate.isCsd &&
  certificate.valid_from <= now &&
  now <= certificate.valid_to &&
  !REFUSED_NUMBERS.some((end) => certificate.number.endsWith(end))

/**
 * The logins of the sandbox: it accepts every CIEC but those of some scenarios, every e.firma of the RFC that is valid now, but those with
 * some numbers, and none that a test helper made it refuse.
 */
export const sandboxLogins = (overrides: Pick<SandboxOverrides, 'isRefused'>): AuthorityLogins => ({
  sources: DATA_SOURCE_KEYS,
  kinds: LOGIN_KINDS,
  documentKind: null,
  answersMailbox: true,
  async verify(login) {
    return isGood(login) && !(await overrides.isRefused(login))
  },
})

function isGood(login: Login): boolean {
  if ('efirma' in login) return accepts(login.rfc, login.efirma.certificate, clock.date())
  const { accepted, locked } = scenarioOf(login.ciec)
  if (locked) throw new Unavailable('login_failed', 'The CIEC makes the sandbox authority lock the account.', true)
  return accepted
}
