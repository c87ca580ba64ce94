import type { Ctx, System } from '../../platform/context.ts'
import type { Connection } from '../../platform/tenant/tenant.ts'
import { findConnection, type WithReaches } from '../../taxpayers/taxpayers.ts'
import { findOrganization } from './organization.ts'

/** Returns the context in which a process of the service acts for an organization. */
export const actingFor = async (system: System, organization_id: string, process: string): Promise<Ctx> => ({
  ...system,
  organization: await findOrganization(system.db, organization_id),
  actor: { kind: 'system', process },
  connection: null,
})

/** Returns an organization with its connection to an RFC, for reads outside a request; undefined when there is no such connection. */
export async function readerOf({ db }: System, organization_id: string, fiscal_entity_id: string) {
  const [row, organization] = await Promise.all([
    findConnection(db, organization_id, fiscal_entity_id),
    findOrganization(db, organization_id),
  ])
  return row && { organization, connection: connectionView(row) }
}

const connectionView = (row: WithReaches): Connection => ({
  ...row,
  first_active_at: row.first_active_at?.getTime() ?? null,
  inactive_since: row.untold === null ? null : (JSON.parse(row.untold) as { since: number }).since,
  issued_to: row.issued_to?.getTime() ?? null,
  received_to: row.received_to?.getTime() ?? null,
  imported_at: row.imported_at?.getTime() ?? null,
})
