import { and, asc, desc, eq, getTableColumns, inArray, isNull, lt, ne, or, type SQL, sql } from 'drizzle-orm'
import { type Database, jsonChunks } from '../../platform/db/commit.ts'
import { assertThat } from '../../platform/db/guard.ts'
import { newId } from '../../platform/db/id.ts'
import { bare, changesOf, readFirst, readRows } from '../../platform/db/statement.ts'
import type { Day } from '../../platform/time/calendar.ts'
import { extractors, runs, tickPages, zones } from '../tables.ts'

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

const lastDate = (extractor_id: string): SQL<{ day: Day | null }> =>
  sql`select max(local_date) as day from runs where extractor_id = ${extractor_id} and local_date is not null`

/** The last local date for which the extractor ran, or is planned to; null without one. */
export const lastLocalDate = async ({ $client }: Database, extractor_id: string): Promise<Day | null> =>
  (await readFirst($client, lastDate(extractor_id)))!.day

/** Plans the run of a date that was due before the schedule changed. The sweep dispatches it. */
export const insertOwedRun = ({ extractor_id, organization_id }: ExtractorRow, day: Day, now: Date) =>
  sql`insert into runs
      (run_id, organization_id, extractor_id, trigger, local_date, instant, status, connections, dispatched, created_at, moved_at)
       values (${newId('run')}, ${organization_id}, ${extractor_id}, 'schedule', ${day}, ${now.getTime()}, 'planned', 0, 0,
         ${now.getTime()}, ${now.getTime()}) on conflict do nothing`

export const removeExtractor = (db: Database, organization_id: string, extractor_id: string) =>
  db.delete(extractors).where(one(organization_id, extractor_id))

const exists = ({ organization_id, extractor_id }: Pick<ExtractorRow, 'organization_id' | 'extractor_id'>) =>
  sql`${extractors.extractor_id} = ${extractor_id} and ${extractors.organization_id} = ${organization_id}`

/** Refuses its batch unless the organization has this extractor. */
export const assertExtractorExists = (organization_id: string, extractor_id: string): SQL =>
  assertThat(sql`exists (select 1 from ${extractors} where ${exists({ organization_id, extractor_id })})`, 'extractor.exists')

/** Refuses its batch unless the members that depend on each other, and the last date for which it ran, are still these. */
export const assertExtractorUnchanged = (row: ExtractorRow, ranFor: Day | null): SQL =>
  assertThat(
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

export type TickPage = typeof tickPages.$inferSelect
export type Zone = typeof zones.$inferSelect

const inUse = (timezone: string): SQL =>
  sql`select 1 from ${extractors} indexed by extractors_due
    where ${extractors.timezone} = ${timezone} and ${extractors.is_enabled} = 1 and ${extractors.cadence} is not null`

export const listZones = (db: Database) => db.select().from(zones)

/**
 * Returns the given cadences that a zone's enabled extractors use. Reads one row per cadence, however many extractors there are, and leaves
 * out the hundreds of `every_n_days` where none is in use.
 */
export const cadencesInUse = async (db: Database, timezone: string, cadences: readonly string[]): Promise<string[]> =>
  (
    await readRows<{ cadence: string }>(
      db.$client,
      sql`select value as cadence from json_each(iif(
          exists (${inUse(timezone)} and ${extractors.cadence} >= 'e' and ${extractors.cadence} < 'f'),
          ${JSON.stringify(cadences)}, ${JSON.stringify(cadences.filter((cadence) => !cadence.startsWith('e')))}))
        where exists (${inUse(timezone)} and ${extractors.cadence} = value)`,
    )
  ).map(({ cadence }) => cadence)

const COLUMNS = [
  ...[tickPages.timezone, tickPages.day, tickPages.cadence, tickPages.due_day],
  ...[tickPages.instant, tickPages.after, tickPages.is_done],
].map(bare)

export const insertPages = (pages: readonly TickPage[]): SQL => {
  const rows = pages.map(({ timezone, day, cadence, due_day, instant }) => [timezone, day, cadence, due_day, instant.getTime()])
  return sql`insert into ${tickPages} ${COLUMNS}
      select value->>0, value->>1, value->>2, value->>3, value->>4, '', 0 from json_each(${JSON.stringify(rows)}) where true
      on conflict do nothing`
}

/** Deletes a zone's finished pages of days before `before`. */
export const deletePages = (db: Database, timezone: string, before: Day) =>
  db.delete(tickPages).where(and(eq(tickPages.timezone, timezone), lt(tickPages.day, before), eq(tickPages.is_done, true)))

/** Advances a zone from one day to another. Does nothing when a concurrent tick has advanced it. */
export const advanceZone = (db: Database, timezone: string, from: Day, to: Day) =>
  db
    .update(zones)
    .set({ evaluated_day: to })
    .where(and(eq(zones.timezone, timezone), eq(zones.evaluated_day, from)))

const isPage = ({ timezone, day, cadence }: Pick<TickPage, 'timezone' | 'day' | 'cadence'>) =>
  and(eq(tickPages.timezone, timezone), eq(tickPages.day, day), eq(tickPages.cadence, cadence))

export const findPage = async (db: Database, page: Pick<TickPage, 'timezone' | 'day' | 'cadence'>): Promise<TickPage | undefined> =>
  (await db.select().from(tickPages).where(isPage(page)).limit(1))[0]

/** Returns the page's next enabled extractors. `is_due` is 0 for those that were saved on or after the day on which they are due. */
export const extractorsOfCadence = (db: Database, { timezone, cadence, due_day, after }: TickPage, limit: number) =>
  readRows<{ extractor_id: string; organization_id: string; is_due: number }>(
    db.$client,
    sql`select ${extractors.extractor_id}, ${extractors.organization_id}, ${extractors.armed_day} < ${due_day} as is_due
        from ${extractors} indexed by extractors_due
         where ${extractors.timezone} = ${timezone} and ${extractors.cadence} = ${cadence} and ${extractors.extractor_id} > ${after}
           and ${extractors.is_enabled} = 1 and ${extractors.cadence} is not null
         order by ${extractors.extractor_id} limit ${limit}`,
  )

/** Advances a page past the extractor `after`. Does nothing when a concurrent consumer has advanced it. */
export const advancePage = (db: Database, page: TickPage, after: string, is_done: boolean) =>
  db
    .update(tickPages)
    .set({ after, is_done })
    .where(and(isPage(page), eq(tickPages.after, page.after)))

/** Unfinished pages of ticks before an instant, oldest first. */
export const openPages = (db: Database, before: Date, limit: number) =>
  db
    .select()
    .from(tickPages)
    .where(and(eq(tickPages.is_done, false), lt(tickPages.instant, before)))
    .orderBy(asc(tickPages.instant))
    .limit(limit)

export type RunRow = typeof runs.$inferSelect

export const insertRun = (db: Database, row: RunRow) => db.insert(runs).values(row)

const CREATED = [
  ...[runs.run_id, runs.organization_id, runs.extractor_id, runs.trigger, runs.instant, runs.status],
  ...[runs.connections, runs.dispatched, runs.after, runs.created_at, runs.moved_at],
]

/** Returns statements that insert planned runs, each for one connection. */
export const insertRuns = (rows: readonly RunRow[]): SQL[] =>
  jsonChunks(
    rows.map(({ run_id, organization_id, extractor_id, trigger, fiscal_entity_id, instant, created_at, moved_at, asked }) => [
      ...[run_id, organization_id, extractor_id, trigger, fiscal_entity_id],
      ...[instant.getTime(), created_at.getTime(), moved_at.getTime(), asked],
    ]),
  ).map(
    (json) =>
      sql`insert into ${runs} ${[...CREATED, runs.fiscal_entity_id, runs.asked].map(bare)}
         select value->>0, value->>1, value->>2, value->>3, value->>5, 'planned', 0, 0, '', value->>6, value->>7, value->>4, value->8
        from json_each(${json})`,
  )

/** Deletes up to `limit` finished runs whose identifiers sort before `before`. Returns how many it deleted. */
export const deleteRuns = (db: Database, before: string, limit: number): Promise<number> =>
  changesOf(
    db.$client,
    sql`delete from ${runs} where ${runs.run_id} in (select ${runs.run_id} from ${runs} where ${runs.run_id} < ${before}
        and ${runs.status} <> 'planned' order by ${runs.run_id} limit ${limit})`,
  )

/** Makes a planned run wait for the sweep after `until`. */
export const postponeRun = (db: Database, run_id: string, until: Date) =>
  db
    .update(runs)
    .set({ moved_at: until })
    .where(and(eq(runs.run_id, run_id), eq(runs.status, 'planned')))

const isAtCheckpoint = ({ run_id, after }: RunRow) => and(eq(runs.run_id, run_id), eq(runs.status, 'planned'), eq(runs.after, after))

/** Moves a planned run to a checkpoint. Does nothing when a concurrent dispatch has moved it. */
export const saveCheckpoint = (
  db: Database,
  run: RunRow,
  checkpoint: Pick<RunRow, 'after' | 'connections' | 'dispatched' | 'gap_jobs'>,
  now: Date,
) =>
  db
    .update(runs)
    .set({ ...checkpoint, moved_at: now })
    .where(isAtCheckpoint(run))

/** Records the outcome of a planned run. The first outcome is kept. */
export const finishRun = (db: Database, run: RunRow, outcome: Pick<RunRow, 'status' | 'connections' | 'dispatched' | 'gap_jobs'>) =>
  db.update(runs).set(outcome).where(isAtCheckpoint(run))

/** Records that a run was cancelled, and when: the first time is kept. */
export const cancelStatement = (db: Database, run_id: string, now: Date) =>
  db
    .update(runs)
    .set({ status: 'cancelled', moved_at: now })
    .where(and(eq(runs.run_id, run_id), ne(runs.status, 'cancelled')))

/** Sets the extractor's `last_run_at` to the run's instant, unless a later run has set it. */
export const markRun = (db: Database, { extractor_id, instant }: RunRow) =>
  db
    .update(extractors)
    .set({ last_run_at: instant })
    .where(and(eq(extractors.extractor_id, extractor_id), or(isNull(extractors.last_run_at), lt(extractors.last_run_at, instant))))

export const findExtractorOfRun = async (db: Database, extractor_id: string) =>
  (await db.select().from(extractors).where(eq(extractors.extractor_id, extractor_id)).limit(1))[0]

/** The organization's enabled extractors. */
export const enabledExtractors = (db: Database, organization_id: string) =>
  db
    .select()
    .from(extractors)
    .where(and(eq(extractors.organization_id, organization_id), eq(extractors.is_enabled, true)))
    .orderBy(asc(extractors.extractor_id))

/** Planned runs that have not moved since an instant, the longest waiting first. */
export const unfinishedRuns = (db: Database, before: Date, limit: number) =>
  db
    .select()
    .from(runs)
    .where(and(eq(runs.status, 'planned'), lt(runs.moved_at, before)))
    .orderBy(asc(runs.moved_at))
    .limit(limit)

/** Returns statements that insert the planned runs of a tick. A run that exists for the extractor and local date is kept. */
export const insertScheduledRuns = (
  { due_day, instant }: { due_day: string; instant: Date },
  rows: readonly Pick<RunRow, 'run_id' | 'extractor_id' | 'organization_id'>[],
  now: Date,
): SQL[] =>
  jsonChunks(rows.map(({ run_id, extractor_id, organization_id }) => [run_id, organization_id, extractor_id])).map(
    (json) =>
      sql`insert into ${runs} ${[...CREATED, runs.local_date].map(bare)}
         select value->>0, value->>1, value->>2, 'schedule', ${instant.getTime()}, 'planned', 0, 0, '', ${now.getTime()}, ${now.getTime()},
           ${due_day}
        from json_each(${json}) where true on conflict do nothing`,
  )

/** Those of the given runs that are still planned. */
export const plannedRuns = (db: Database, run_ids: readonly string[]) =>
  db
    .select()
    .from(runs)
    .where(and(inArray(runs.run_id, [...run_ids]), eq(runs.status, 'planned')))
    .orderBy(asc(runs.run_id))

/** A page of an extractor's runs, newest first. */
export const runsOfExtractor = (db: Database, organization_id: string, extractor_id: string, before: string | undefined, limit: number) =>
  db
    .select()
    .from(runs)
    .where(
      and(
        eq(runs.extractor_id, extractor_id),
        eq(runs.organization_id, organization_id),
        before === undefined ? undefined : lt(runs.run_id, before),
      ),
    )
    .orderBy(desc(runs.run_id))
    .limit(limit)

/** The organization's runs among these, newest first. */
export const findRuns = (db: Database, organization_id: string, run_ids: readonly string[]): Promise<RunRow[]> =>
  db
    .select()
    .from(runs)
    .where(and(eq(runs.organization_id, organization_id), inArray(runs.run_id, [...run_ids])))
    .orderBy(desc(runs.run_id))
    .all()
