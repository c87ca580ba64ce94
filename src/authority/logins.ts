import type { System } from '../platform/context.ts'
import type { AuthorityLogins } from './port/authority.ts'
import type { LoginKind } from './port/login.ts'
import { sandboxOverrides } from './sandbox/overrides.ts'
import { sandboxLogins } from './sandbox/scenarios.ts'
import { satLogins } from './sat/send.ts'

const ADAPTERS: Record<System['settings']['taxAuthority'], (system: System) => AuthorityLogins> = {
  sandbox: (system) => sandboxLogins(sandboxOverrides(system.db, system.settings.ciecKeys)),
  sat: satLogins,
}

/** Returns the part of the adapter in TAX_AUTHORITY that requests need. Background work needs the rest. */
export const loginsOf = (system: System): AuthorityLogins => ADAPTERS[system.settings.taxAuthority](system)

/** Whether anybody can log in with logins of a kind: the adapter, or a fetcher. */
export const isUsed = (system: System, kind: LoginKind): boolean =>
  loginsOf(system).kinds.includes(kind) || system.settings.fetcherKeys !== null
