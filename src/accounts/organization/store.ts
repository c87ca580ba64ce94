import { eq, sql } from 'drizzle-orm'
import type { Database } from '../../platform/db/commit.ts'
import { organizations } from '../../platform/tenant/tables.ts'

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
