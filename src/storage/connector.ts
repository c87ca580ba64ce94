import { notFound } from '../failures.ts'
import { type Ctx, eventsOf, type System } from '../platform/context.ts'
import type { ConnectorScope } from './contract.ts'
import { openCredentials } from './credentials.ts'
import type { DestinationSettings } from './provider-contract.ts'
import { type ConnectorRow, type CountedConnector, findConnector } from './store.ts'

/** Returns a connector of the organization. Throws Failure 404 storage_connector.not_found. */
export async function requireConnector(ctx: Ctx, connector_id: string): Promise<CountedConnector> {
  const row = await findConnector(eventsOf(ctx), ctx.organization.id, connector_id)
  if (!row) throw notFound('storage_connector')
  return row
}

export const configOf = (row: Pick<ConnectorRow, 'config'>) => JSON.parse(row.config) as DestinationSettings['config']

export const scopeOf = (row: Pick<ConnectorRow, 'scope'>) => JSON.parse(row.scope) as ConnectorScope

/** What a driver needs of a connector. Throws when its credentials cannot be opened. */
export const destinationSettingsOf = async (system: System, row: ConnectorRow): Promise<DestinationSettings> =>
  ({ provider: row.provider, config: configOf(row), credentials: await openCredentials(system, row) }) as DestinationSettings
