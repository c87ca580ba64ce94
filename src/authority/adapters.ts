import type { System } from '../platform/context.ts'
import type { TaxAuthority } from './port/authority.ts'

/** Each adapter is loaded when it is first used. */
const ADAPTERS: Record<System['settings']['taxAuthority'], (system: System) => Promise<TaxAuthority>> = {
  sandbox: async ({ db, settings }) => {
    const [{ sandboxAuthority }, { sandboxOverrides }, { inventedDocuments }] = await Promise.all([
      import('./sandbox/sandbox.ts'),
      import('./sandbox/overrides.ts'),
      import('./sandbox/invented.ts'),
    ])
    return sandboxAuthority(sandboxOverrides(db, settings.ciecKeys), inventedDocuments)
  },
  sat: async (system) => (await import('./sat/conversation/adapter.ts')).satAuthority(system),
}

/** Returns the adapter that TAX_AUTHORITY names. */
export const authorityOf = (system: System): Promise<TaxAuthority> => ADAPTERS[system.settings.taxAuthority](system)
