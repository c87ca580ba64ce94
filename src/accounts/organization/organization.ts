import { change } from '../../platform/audit/audit.ts'
import type { Ctx, System } from '../../platform/context.ts'
import type { Connection } from '../../platform/tenant/tenant.ts'
import { findConnection, type WithGrantedRanges } from '../../taxpayers/taxpayers.ts'
import type { OrganizationChanges, OrganizationProfile } from './contract.ts'
import { findOrganization, type OrganizationRow, updateOrganization } from './store.ts'

export { findOrganization, insertOrganization, type OrganizationRow, suspendOrganizations, updateOrganization } from './store.ts'

/** Shows a stored organization. */
export const viewOrganization = ({
  id,
  name,
  contact_email,
  logo_url,
  timezone,
  email_confirmed_at,
}: OrganizationRow): OrganizationProfile => ({
  id,
  name,
  contact_email,
  logo_url,
  timezone,
  email_confirmed_at: email_confirmed_at?.toISOString() ?? null,
})

/** Returns the organization of the credential. */
export const getOrganization = async ({ db, organization }: Ctx): Promise<OrganizationProfile> =>
  viewOrganization(await findOrganization(db, organization.id))

/** Changes the members that are given; members that are omitted or null keep their value. An empty logo_url removes the logo. */
export async function changeOrganization(ctx: Ctx, changes: OrganizationChanges): Promise<OrganizationProfile> {
  const given = Object.entries(changes).filter(([, value]) => value !== null && value !== undefined)
  const changed = given.map(([name]) => name)
  const removed = changes.logo_url === '' ? { logo_url: null } : {}
  if (changed.length > 0)
    await change(ctx, { action: 'organization.updated', resource_id: ctx.organization.id, changed }, [
      updateOrganization(ctx.db, ctx.organization.id, { ...Object.fromEntries(given), ...removed }),
    ])
  return getOrganization(ctx)
}

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

const connectionView = (row: WithGrantedRanges): Connection => ({
  ...row,
  first_active_at: row.first_active_at?.getTime() ?? null,
  inactive_since: row.unnotified === null ? null : (JSON.parse(row.unnotified) as { since: number }).since,
  issued_to: row.issued_to?.getTime() ?? null,
  received_to: row.received_to?.getTime() ?? null,
  imported_at: row.imported_at?.getTime() ?? null,
})
