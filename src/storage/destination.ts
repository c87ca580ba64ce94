import type { System } from '../platform/context.ts'
import { sealCredentials } from './credentials.ts'
import { destinationSettingsOf } from './connector.ts'
import { destinationOf } from './drivers/adapters.ts'
import type { Destination } from './drivers/port.ts'
import type { ConnectorCredentials } from './provider-contract.ts'
import { type ConnectorRow, replaceCredentials } from './store.ts'
import { withPrefix } from './template.ts'

/**
 * Returns the destination of a connector, which lies in this events shard, with paths relative to its prefix. Credentials that the provider
 * issues in the place of those that are stored take their place. Throws when the stored ones cannot be opened.
 */
export async function openDestination(system: System, d1: D1Database, row: ConnectorRow): Promise<Destination> {
  const settings = await destinationSettingsOf(system, row)
  const { put, read, remove } = destinationOf(system, settings, async (credentials) => {
    await replaceCredentials(d1, row, await sealCredentials(system, row, credentials as ConnectorCredentials)).run()
  })
  const placed = (path: string) => withPrefix(settings.config.prefix, path)
  return {
    put: (path, object) => put(placed(path), object),
    read: (path) => read(placed(path)),
    remove: (path) => remove(placed(path)),
  }
}
