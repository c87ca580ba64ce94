import { eq, type SQL, sql } from 'drizzle-orm'
import { change } from '../../platform/audit/audit.ts'
import type { Ctx, System } from '../../platform/context.ts'
import type { Database } from '../../platform/db/commit.ts'
import { organizations } from '../../platform/tenant/tables.ts'
import type { Connection, Tenant } from '../../platform/tenant/tenant.ts'
import { clock } from '../../platform/time/clock.ts'
import { findConnection, type WithGrantedRanges } from '../../taxpayers/taxpayers.ts'
import type { OrganizationChanges, OrganizationProfile } from './contract.ts'

/** Shows a stored organization. */
export const viewOrganization = ({ email_confirmed_at, ...row }: OrganizationRow): OrganizationProfile => {
  const { id, name, contact_email, logo_url, timezone } = row
  return { id, name, contact_email, logo_url, timezone, email_confirmed_at: email_confirmed_at?.toISOString() ?? null }
}

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
export async function readerOf({ db }: System, tenant: Tenant, fiscal_entity_id: string) {
  const [row, organization] = await Promise.all([findConnection(db, tenant, fiscal_entity_id), findOrganization(db, tenant.id)])
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

export type OrganizationRow = typeof organizations.$inferSelect

export const insertOrganization = (db: Database, row: OrganizationRow) => db.insert(organizations).values(row)

export const updateOrganization = (db: Database, id: string, changes: Partial<OrganizationRow>) =>
  db.update(organizations).set(changes).where(eq(organizations.id, id))

export const suspendOrganizations = (db: Database, ids: readonly string[], suspension: OrganizationRow['suspension']) =>
  db
    .update(organizations)
    .set({ suspension })
    .where(sql`${organizations.id} in (select value from json_each(${JSON.stringify(ids)}))`)

export const findOrganization = async (db: Database, id: string): Promise<OrganizationRow> =>
  (await db.select().from(organizations).where(eq(organizations.id, id)).limit(1))[0]!

/** Selects the number of the organization's extractors. */
export const extractorsUsed = (organization_id: string): SQL =>
  sql`select ${organizations.extractor_count} from ${organizations} where ${organizations.id} = ${organization_id}`

/** Counts an extractor that the same batch inserts (1) or deletes (-1). */
export const addToExtractorCount = (db: Database, organization_id: string, change: 1 | -1) =>
  db
    .update(organizations)
    .set({
      extractor_count: sql`${organizations.extractor_count} + ${change}`,
      ...(change === 1 && {
        extractors_since: sql`case when ${organizations.extractor_count} = 0 then ${clock.now()} else ${organizations.extractors_since} end`,
      }),
    })
    .where(eq(organizations.id, organization_id))
