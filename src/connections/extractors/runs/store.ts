import { and, asc, desc, eq, inArray, isNull, lt, ne, or, sql } from 'drizzle-orm'
import { type Database, jsonChunks } from '../../../platform/db/commit.ts'
import { bare, prepared } from '../../../platform/db/statement.ts'
import { extractors } from '../tables.ts'
import { runs } from './tables.ts'

export type RunRow = typeof runs.$inferSelect

export const insertRun = (db: Database, row: RunRow) => db.insert(runs).values(row)

const CREATED = [
  ...[runs.run_id, runs.organization_id, runs.extractor_id, runs.trigger, runs.instant, runs.status],
  ...[runs.connections, runs.dispatched, runs.after, runs.created_at, runs.moved_at],
]

/** Returns statements that insert planned runs, each for one connection. */
export const insertRuns = (db: Database, rows: readonly RunRow[]): D1PreparedStatement[] =>
  jsonChunks(
    rows.map(({ run_id, organization_id, extractor_id, trigger, fiscal_entity_id, instant, created_at, moved_at, asked }) => [
      ...[run_id, organization_id, extractor_id, trigger, fiscal_entity_id],
      ...[instant.getTime(), created_at.getTime(), moved_at.getTime(), asked],
    ]),
  ).map((json) =>
    prepared(
      db.$client,
      sql`insert into ${runs} ${[...CREATED, runs.fiscal_entity_id, runs.asked].map(bare)}
         select value->>0, value->>1, value->>2, value->>3, value->>5, 'planned', 0, 0, '', value->>6, value->>7, value->>4, value->8
        from json_each(${json})`,
    ),
  )

/** Deletes up to `limit` finished runs whose identifiers sort before `before`. Returns how many it deleted. */
export const deleteRuns = async (db: Database, before: string, limit: number): Promise<number> =>
  (
    await prepared(
      db.$client,
      sql`delete from ${runs} where ${runs.run_id} in (select ${runs.run_id} from ${runs} where ${runs.run_id} < ${before}
        and ${runs.status} <> 'planned' order by ${runs.run_id} limit ${limit})`,
    ).run()
  ).meta.changes

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
  db: Database,
  { due_day, instant }: { due_day: string; instant: Date },
  rows: readonly Pick<RunRow, 'run_id' | 'extractor_id' | 'organization_id'>[],
  now: Date,
): D1PreparedStatement[] =>
  jsonChunks(rows.map(({ run_id, extractor_id, organization_id }) => [run_id, organization_id, extractor_id])).map((json) =>
    prepared(
      db.$client,
      sql`insert into ${runs} ${[...CREATED, runs.local_date].map(bare)}
         select value->>0, value->>1, value->>2, 'schedule', ${instant.getTime()}, 'planned', 0, 0, '', ${now.getTime()}, ${now.getTime()},
           ${due_day}
        from json_each(${json}) where true on conflict do nothing`,
    ),
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
