import { Unavailable } from '../../platform/failures.ts'
import type { AuthorityLogins } from '../port/authority.ts'
import { DATA_SOURCE_KEYS } from '../port/catalog.ts'
import { LOGIN_KINDS, type Login } from '../port/login.ts'
import type { SandboxOverrides } from './overrides.ts'
import { accepts, scenarioOf } from './scenarios.ts'

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
  if ('efirma' in login) return accepts(login.rfc, login.efirma.certificate, new Date())
  const { accepted, locked } = scenarioOf(login.ciec)
  if (locked) throw new Unavailable('login_failed', 'The CIEC makes the sandbox authority lock the account.', true)
  return accepted
}
