import { change } from '../../platform/audit/audit.ts'
import type { Ctx } from '../../platform/context.ts'
import type { Organization, OrganizationChanges } from './contract.ts'
import { findOrganization, type OrganizationRow, updateOrganization } from './store.ts'

export { findOrganization, insertOrganization, type OrganizationRow, updateOrganization } from './store.ts'

/** How an organization is shown. */
export const viewOrganization = ({ id, name, contact_email, logo_url, timezone }: OrganizationRow): Organization => ({
  id,
  name,
  contact_email,
  logo_url,
  timezone,
})

/** The organization that the credential is bound to. */
export const getOrganization = async ({ db, organization }: Ctx): Promise<Organization> =>
  viewOrganization(await findOrganization(db, organization.id))

/** Changes what is given; what is omitted or null stays as it is. */
export async function changeOrganization(ctx: Ctx, changes: OrganizationChanges): Promise<Organization> {
  const given = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== null && value !== undefined))
  const changed = Object.keys(given)
  if (changed.length > 0)
    await change(ctx, { action: 'organization.updated', resource_id: ctx.organization.id, changed }, [
      updateOrganization(ctx.db, ctx.organization.id, given),
    ])
  return getOrganization(ctx)
}
