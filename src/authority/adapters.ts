import type { System } from '../platform/context.ts'
import type { TaxAuthority } from './port/authority.ts'
import { sandboxOverrides } from './sandbox/overrides.ts'
import { sandboxAuthority } from './sandbox/sandbox.ts'

const ADAPTERS: Record<System['settings']['taxAuthority'], (system: System) => TaxAuthority> = {
  sandbox: ({ db, settings }) => sandboxAuthority(sandboxOverrides(db, settings.ciecKeys)),
}

/** Returns the adapter that TAX_AUTHORITY names. */
export const authorityOf = (system: System): TaxAuthority => ADAPTERS[system.settings.taxAuthority](system)
