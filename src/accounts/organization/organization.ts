import { change } from '../../platform/audit/audit.ts'
import type { Ctx } from '../../platform/context.ts'
import type { OrganizationChanges, OrganizationProfile } from './contract.ts'
import { findOrganization, type OrganizationRow, updateOrganization } from './store.ts'

export { findOrganization, insertOrganization, type OrganizationRow, suspendOrganizations, updateOrganization } from './store.ts'

/** Shows a stored organization. */
export const viewOrganization = ({ id, name, contact_email, logo_url, timezone }: OrganizationRow): OrganizationProfile => ({
  id,
  name,
  contact_email,
  logo_url,
  timezone,
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
