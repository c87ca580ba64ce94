import { and, asc, eq } from 'drizzle-orm'
import type { Database } from '../platform/db/commit.ts'
import { sql as fragment } from '../platform/db/fragment.ts'
import { assertThat } from '../platform/db/guard.ts'
import type { Day } from '../platform/time/calendar.ts'
import { extractors, zones } from './tables.ts'

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

const exists = ({ organization_id, extractor_id }: Pick<ExtractorRow, 'organization_id' | 'extractor_id'>) =>
  fragment`extractor_id = ${extractor_id} and organization_id = ${organization_id}`

/** Refuses its batch unless the organization has this extractor. */
export const assertExtractorExists = (d1: D1Database, organization_id: string, extractor_id: string): D1PreparedStatement =>
  assertThat(d1, fragment`exists (select 1 from extractors where ${exists({ organization_id, extractor_id })})`, 'extractor.exists')

/** Refuses its batch unless the members that depend on each other are still as in this row. */
export const assertExtractorUnchanged = (d1: D1Database, row: ExtractorRow): D1PreparedStatement =>
  assertThat(
    d1,
    fragment`exists (select 1 from extractors where ${exists(row)}
      and trigger_kind = ${row.trigger_kind} and schedule_kind is ${row.schedule_kind} and schedule_spec = ${JSON.stringify(row.schedule_spec)}
      and timezone = ${row.timezone} and armed_day is ${row.armed_day}
      and scope = ${row.scope} and scope_months is ${row.scope_months})`,
    'extractor.unchanged',
  )

/** Registers the time zone of a scheduled extractor, evaluated up to today because nothing runs on the day on which it is saved. */
export const insertZone = (db: Database, timezone: string, today: Day) =>
  db.insert(zones).values({ timezone, evaluated_day: today }).onConflictDoNothing()
