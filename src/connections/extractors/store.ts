import { and, asc, eq, getTableColumns, type SQL, sql } from 'drizzle-orm'
import type { Database } from '../../platform/db/commit.ts'
import { assertThat } from '../../platform/db/guard.ts'
import { newId } from '../../platform/db/id.ts'
import { prepared } from '../../platform/db/statement.ts'
import type { Day } from '../../platform/time/calendar.ts'
import { extractors, zones } from './tables.ts'

export type ExtractorRow = typeof extractors.$inferSelect

/** An extractor with the last local day of its zone whose cadences have been evaluated; null before a tick of the zone. */
export type EvaluatedExtractor = ExtractorRow & { evaluated_day: Day | null }

const selectEvaluated = (db: Database) =>
  db
    .select({ ...getTableColumns(extractors), evaluated_day: zones.evaluated_day })
    .from(extractors)
    .leftJoin(zones, eq(zones.timezone, extractors.timezone))

const one = (organization_id: string, extractor_id: string) =>
  and(eq(extractors.extractor_id, extractor_id), eq(extractors.organization_id, organization_id))

export const listExtractorRows = (db: Database, organization_id: string): Promise<EvaluatedExtractor[]> =>
  selectEvaluated(db)
    .where(eq(extractors.organization_id, organization_id))
    .orderBy(asc(extractors.created_at), asc(extractors.extractor_id))
    .all()

export const findExtractor = async (db: Database, organization_id: string, extractor_id: string): Promise<EvaluatedExtractor | undefined> =>
  (await selectEvaluated(db).where(one(organization_id, extractor_id)).limit(1))[0]

export const insertExtractor = (db: Database, row: ExtractorRow) => db.insert(extractors).values(row)

export const updateExtractor = (db: Database, { organization_id, extractor_id }: ExtractorRow, changes: Partial<ExtractorRow>) =>
  db.update(extractors).set(changes).where(one(organization_id, extractor_id))

const lastDate = (extractor_id: string): SQL =>
  sql`select max(local_date) as day from runs where extractor_id = ${extractor_id} and local_date is not null`

/** The last local date for which the extractor ran, or is planned to; null without one. */
export const lastLocalDate = async ({ $client }: Database, extractor_id: string): Promise<Day | null> =>
  (await prepared($client, lastDate(extractor_id)).first<{ day: Day | null }>())!.day

/** Plans the run of a date that was due before the schedule changed. The sweep dispatches it. */
export const insertOwedRun = ({ $client }: Database, { extractor_id, organization_id }: ExtractorRow, day: Day, now: Date) =>
  prepared(
    $client,
    sql`insert into runs
      (run_id, organization_id, extractor_id, trigger, local_date, instant, status, connections, dispatched, created_at, moved_at)
       values (${newId('run')}, ${organization_id}, ${extractor_id}, 'schedule', ${day}, ${now.getTime()}, 'planned', 0, 0,
         ${now.getTime()}, ${now.getTime()}) on conflict do nothing`,
  )

export const removeExtractor = (db: Database, organization_id: string, extractor_id: string) =>
  db.delete(extractors).where(one(organization_id, extractor_id))

const exists = ({ organization_id, extractor_id }: Pick<ExtractorRow, 'organization_id' | 'extractor_id'>) =>
  sql`${extractors.extractor_id} = ${extractor_id} and ${extractors.organization_id} = ${organization_id}`

/** Refuses its batch unless the organization has this extractor. */
export const assertExtractorExists = (d1: D1Database, organization_id: string, extractor_id: string): D1PreparedStatement =>
  assertThat(d1, sql`exists (select 1 from ${extractors} where ${exists({ organization_id, extractor_id })})`, 'extractor.exists')

/** Refuses its batch unless the members that depend on each other, and the last date for which it ran, are still these. */
export const assertExtractorUnchanged = (d1: D1Database, row: ExtractorRow, ranFor: Day | null): D1PreparedStatement =>
  assertThat(
    d1,
    sql`exists (select 1 from ${extractors} where ${exists(row)}
      and ${extractors.trigger_kind} = ${row.trigger_kind} and ${extractors.schedule_kind} is ${row.schedule_kind}
        and ${extractors.schedule_spec} = ${JSON.stringify(row.schedule_spec)}
      and ${extractors.timezone} = ${row.timezone} and ${extractors.armed_day} is ${row.armed_day}
      and ${extractors.scope} = ${row.scope} and ${extractors.scope_months} is ${row.scope_months})
      and (${lastDate(row.extractor_id)}) is ${ranFor}`,
    'extractor.unchanged',
  )

/** Registers the time zone of a scheduled extractor, evaluated up to today because nothing runs on the day on which it is saved. */
export const insertZone = (db: Database, timezone: string, today: Day) =>
  db.insert(zones).values({ timezone, evaluated_day: today }).onConflictDoNothing()

/** The last local day of a zone whose cadences have been evaluated; null before it has any. */
export const evaluatedDay = async (db: Database, timezone: string): Promise<Day | null> =>
  (await db.select().from(zones).where(eq(zones.timezone, timezone)).limit(1))[0]?.evaluated_day ?? null
