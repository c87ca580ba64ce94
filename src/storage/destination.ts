import type { System } from '../platform/context.ts'
import { commit } from '../platform/db/commit.ts'
import { configOf } from './connector.ts'
import { openCredentials, sealCredentials } from './credentials.ts'
import { type DestinationSpec, destinationOf } from './drivers/adapters.ts'
import type { Destination } from './drivers/port.ts'
import type { ConnectorCredentials } from './provider-contract.ts'
import { type ConnectorRow, replaceCredentials } from './store.ts'
import { withPrefix } from './template.ts'

type Opened = Pick<
  ConnectorRow,
  'connector' | 'connector_id' | 'organization_id' | 'provider' | 'config' | 'credentials' | 'credentials_version'
>

/**
 * Opens the destination of a connector in its events shard. Paths are relative to its prefix. Credentials that the provider issues in the
 * place of those are stored. Throws DestinationError.
 */
export async function openDestination(system: System, d1: D1Database, row: Opened): Promise<Destination> {
  const config = configOf(row)
  const spec = { provider: row.provider, config, credentials: await openCredentials(system, row) } as DestinationSpec
  const destination = destinationOf(system, spec, async (credentials) => {
    const sealed = await sealCredentials(system, row, credentials as ConnectorCredentials)
    await commit(d1, [replaceCredentials(d1, row, sealed)])
  })
  const placed = (path: string) => withPrefix(config.prefix, path)
  return {
    put: (path, object) => destination.put(placed(path), object),
    read: (path) => destination.read(placed(path)),
    remove: (path) => destination.remove(placed(path)),
  }
}
