import type { System } from '../platform/context.ts'
import type { TaxAuthority } from './port/authority.ts'
import { inventedDocuments } from './sandbox/invented.ts'
import { sandboxOverrides } from './sandbox/overrides.ts'
import { sandboxAuthority } from './sandbox/sandbox.ts'
import { satAuthority } from './sat/conversation/adapter.ts'

const ADAPTERS: Record<System['settings']['taxAuthority'], (system: System) => TaxAuthority> = {
  sandbox: (system) => sandboxAuthority(sandboxOverrides(system.db, system.settings.ciecKeys), inventedDocuments),
  sat: satAuthority,
}

/** Returns the adapter that TAX_AUTHORITY names. */
export const authorityOf = (system: System): TaxAuthority => ADAPTERS[system.settings.taxAuthority](system)
