import { and, asc, eq, sql } from 'drizzle-orm'
import { organizations } from '../identity/organization/tables.ts'
import type { Database } from '../platform/db/commit.ts'
import { connections } from '../taxpayers/tables.ts'
import { extractors } from './tables.ts'

export type ExtractorRow = typeof extractors.$inferSelect

const one = (organization_id: string, extractor_id: string) =>
  and(eq(extractors.extractor_id, extractor_id), eq(extractors.organization_id, organization_id))

export const listExtractorRows = (db: Database, organization_id: string) =>
  db
    .select()
    .from(extractors)
    .where(eq(extractors.organization_id, organization_id))
    .orderBy(asc(extractors.created_at), asc(extractors.extractor_id))

export const findExtractor = async (db: Database, organization_id: string, extractor_id: string) =>
  (await db.select().from(extractors).where(one(organization_id, extractor_id)).limit(1))[0]

export const insertExtractor = (db: Database, row: ExtractorRow) => db.insert(extractors).values(row)

export const updateExtractor = (db: Database, { organization_id, extractor_id }: ExtractorRow, changes: Partial<ExtractorRow>) =>
  db.update(extractors).set(changes).where(one(organization_id, extractor_id))

export const removeExtractor = (db: Database, organization_id: string, extractor_id: string) =>
  db.delete(extractors).where(one(organization_id, extractor_id))

/** Each of these refuses its whole batch with a guard violation, by making the count null, when its condition does not hold. */
const count = (db: Database, organization_id: string, change: ReturnType<typeof sql>) =>
  db.update(organizations).set({ extractor_count: change }).where(eq(organizations.id, organization_id))

/** Counts one more, if the limit allows it; null is no limit. */
export const takeSlot = (db: Database, organization_id: string, limit: number | null) =>
  count(db, organization_id, sql`case when ${limit} is null or extractor_count < ${limit} then extractor_count + 1 end`)

/** Counts one less, if the extractor exists. */
export const freeSlot = (db: Database, organization_id: string, extractor_id: string) =>
  count(
    db,
    organization_id,
    sql`case when exists (select 1 from extractors where extractor_id = ${extractor_id} and organization_id = ${organization_id})
      then extractor_count - 1 end`,
  )

/** Counts the same, if the extractor exists and what its members depend on still reads as in this row. */
export const assertExtractorUnchanged = (db: Database, row: ExtractorRow) =>
  count(
    db,
    row.organization_id,
    sql`case when exists (select 1 from extractors
      where extractor_id = ${row.extractor_id} and organization_id = ${row.organization_id}
        and trigger_kind = ${row.trigger_kind} and schedule_kind is ${row.schedule_kind} and schedule_spec = ${JSON.stringify(row.schedule_spec)}
        and timezone = ${row.timezone} and armed_day is ${row.armed_day}
        and scope = ${row.scope} and scope_months is ${row.scope_months})
      then extractor_count end`,
  )

export const countExtractors = async (db: Database, organization_id: string): Promise<number> =>
  (await db.select({ n: organizations.extractor_count }).from(organizations).where(eq(organizations.id, organization_id)).limit(1))[0]?.n ??
  0

export const hasActiveConnection = async (db: Database, organization_id: string): Promise<boolean> =>
  (
    await db
      .select({ connection: connections.connection })
      .from(connections)
      .where(and(eq(connections.organization_id, organization_id), eq(connections.state, 'active')))
      .limit(1)
  ).length > 0
