import type { System } from '../../platform/context.ts'
import { liveRegistry } from './live.ts'
import type { Registry } from './registry.ts'
import { sandboxRegistry } from './sandbox.ts'
import { sandboxRecords } from './sandbox-overrides.ts'

/** The adapter that REPSE_REGISTRY names. */
export function registryOf({ env, db, now }: System): Registry {
  switch (env.REPSE_REGISTRY) {
    case 'sandbox':
      return sandboxRegistry(sandboxRecords(db), now)
    case 'live':
      return liveRegistry(env.REPSE_REGISTRY_URL)
    default:
      throw new Error('REPSE_REGISTRY names no adapter.')
  }
}
