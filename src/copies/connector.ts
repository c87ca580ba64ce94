import { type Ctx, eventsOf } from '../platform/context.ts'
import { notFound } from '../platform/failures.ts'
import type { ConnectorScope } from './contract.ts'
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
