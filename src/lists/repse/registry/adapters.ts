import type { System } from '../../../platform/context.ts'
import { liveRegistry } from './live.ts'
import type { Registry } from './registry.ts'
import { sandboxRegistry } from './registry.ts'
import { recordOverrides } from './sandbox-overrides.ts'

const ADAPTERS: Record<System['settings']['repseRegistry'], (system: System) => Registry> = {
  sandbox: ({ db, now }) => sandboxRegistry(recordOverrides(db), now),
  live: ({ settings }) => liveRegistry(settings.repseRegistryUrl),
}

/** Returns the adapter that REPSE_REGISTRY names. */
export const registryOf = (system: System): Registry => ADAPTERS[system.settings.repseRegistry](system)
