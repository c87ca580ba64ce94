import type { System } from '../platform/context.ts'
import type { TaxAuthority } from './port/authority.ts'
import { sandboxState } from './sandbox/overrides.ts'
import { sandboxAuthority } from './sandbox/sandbox.ts'

/** The adapter that TAX_AUTHORITY names. */
export function authorityOf({ env, db, settings }: System): TaxAuthority {
  switch (env.TAX_AUTHORITY) {
    case 'sandbox':
      return sandboxAuthority(sandboxState(db, settings.ciecKeys))
    default:
      throw new Error('TAX_AUTHORITY names no adapter.')
  }
}
