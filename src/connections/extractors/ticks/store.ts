import { and, asc, eq, lt, type SQL, sql } from 'drizzle-orm'
import type { Database } from '../../../platform/db/commit.ts'
import { bare, prepared } from '../../../platform/db/statement.ts'
import type { Day } from '../../../platform/time/calendar.ts'
import { extractors, zones } from '../tables.ts'
import { tickPages } from './tables.ts'

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
    await prepared(
      db.$client,
      sql`select value as cadence from json_each(iif(
          exists (${inUse(timezone)} and ${extractors.cadence} >= 'e' and ${extractors.cadence} < 'f'),
          ${JSON.stringify(cadences)}, ${JSON.stringify(cadences.filter((cadence) => !cadence.startsWith('e')))}))
        where exists (${inUse(timezone)} and ${extractors.cadence} = value)`,
    ).all<{ cadence: string }>()
  ).results.map(({ cadence }) => cadence)

const COLUMNS = [
  ...[tickPages.timezone, tickPages.day, tickPages.cadence, tickPages.due_day],
  ...[tickPages.instant, tickPages.after, tickPages.is_done],
].map(bare)

export const insertPages = (db: Database, pages: readonly TickPage[]): D1PreparedStatement => {
  const rows = pages.map(({ timezone, day, cadence, due_day, instant }) => [timezone, day, cadence, due_day, instant.getTime()])
  return prepared(
    db.$client,
    sql`insert into ${tickPages} ${COLUMNS}
      select value->>0, value->>1, value->>2, value->>3, value->>4, '', 0 from json_each(${JSON.stringify(rows)}) where true
      on conflict do nothing`,
  )
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
export const extractorsOfCadence = async (db: Database, { timezone, cadence, due_day, after }: TickPage, limit: number) =>
  (
    await prepared(
      db.$client,
      sql`select ${extractors.extractor_id}, ${extractors.organization_id}, ${extractors.armed_day} < ${due_day} as is_due
        from ${extractors} indexed by extractors_due
         where ${extractors.timezone} = ${timezone} and ${extractors.cadence} = ${cadence} and ${extractors.extractor_id} > ${after}
           and ${extractors.is_enabled} = 1 and ${extractors.cadence} is not null
         order by ${extractors.extractor_id} limit ${limit}`,
    ).all<{ extractor_id: string; organization_id: string; is_due: number }>()
  ).results

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
