import { Unavailable } from '../../failures.ts'
import type { AuthorityLogins } from '../port/authority.ts'
import { DATA_SOURCE_KEYS } from '../port/catalog.ts'
import type { SandboxOverrides } from './overrides.ts'
import { scenarioOf } from './scenarios.ts'

/** The logins of the sandbox: it accepts every CIEC but those of some scenarios, and those that a test helper made it refuse. */
export const sandboxLogins = (overrides: Pick<SandboxOverrides, 'isRefused'>): AuthorityLogins => ({
  sources: DATA_SOURCE_KEYS,
  async verify({ rfc, ciec }) {
    const { accepted, locked } = scenarioOf(ciec)
    if (locked) throw new Unavailable('login_failed', 'The CIEC makes the sandbox authority lock the account.', true)
    return accepted && !(await overrides.isRefused(rfc, ciec))
  },
})
