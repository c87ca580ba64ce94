import { and, count, eq } from 'drizzle-orm'
import type { Database } from '../../platform/db/commit.ts'
import { connections } from '../../taxpayers/tables.ts'
import { members } from '../team/tables.ts'
import { organizations } from './tables.ts'

export type OrganizationRow = typeof organizations.$inferSelect

export const insertOrganization = (db: Database, row: OrganizationRow) => db.insert(organizations).values(row)

export const updateOrganization = (db: Database, id: string, changes: Partial<OrganizationRow>) =>
  db.update(organizations).set(changes).where(eq(organizations.id, id))

export const findOrganization = async (db: Database, id: string): Promise<OrganizationRow> =>
  (await db.select().from(organizations).where(eq(organizations.id, id)).limit(1))[0]!

export async function countLive(db: Database, organization_id: string): Promise<{ total_members: number; active_rfcs: number }> {
  const [people, rfcs] = await db.batch([
    db
      .select({ n: count() })
      .from(members)
      .where(and(eq(members.organization_id, organization_id), eq(members.status, 'active'))),
    db
      .select({ n: count() })
      .from(connections)
      .where(and(eq(connections.organization_id, organization_id), eq(connections.state, 'active'))),
  ])
  return { total_members: people[0]!.n, active_rfcs: rfcs[0]!.n }
}
