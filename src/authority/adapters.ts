import type { System } from '../platform/context.ts'
import type { TaxAuthority } from './port/authority.ts'
import { sandboxOverrides } from './sandbox/overrides.ts'

/** Each adapter is loaded when it is first used. */
const ADAPTERS: Record<System['settings']['taxAuthority'], (system: System) => Promise<TaxAuthority>> = {
  sandbox: async ({ db, settings }) => (await import('./sandbox/sandbox.ts')).sandboxAuthority(sandboxOverrides(db, settings.ciecKeys)),
  sat: async (system) => (await import('./sat/conversation/adapter.ts')).satAuthority(system),
}

/** Returns the adapter that TAX_AUTHORITY names. */
export const authorityOf = (system: System): Promise<TaxAuthority> => ADAPTERS[system.settings.taxAuthority](system)
