import { and, asc, eq, lt } from 'drizzle-orm'
import type { Database } from '../../platform/db/commit.ts'
import type { Day } from '../../platform/time/calendar.ts'
import { zones } from '../tables.ts'
import { tickPages } from './tables.ts'

export type TickPage = typeof tickPages.$inferSelect
export type Zone = typeof zones.$inferSelect

export const listZones = (db: Database) => db.select().from(zones)

/** Those of the cadences that are in use in a zone: one seek each, whatever the number of extractors. */
export const cadencesInUse = async (db: Database, timezone: string, cadences: readonly string[]): Promise<string[]> =>
  (
    await db.$client
      .prepare(
        `select value as cadence from json_each(?2) where exists (
           select 1 from extractors indexed by extractors_due
           where timezone = ?1 and cadence = value and is_enabled = 1 and cadence is not null)`,
      )
      .bind(timezone, JSON.stringify(cadences))
      .all<{ cadence: string }>()
  ).results.map(({ cadence }) => cadence)

export const insertPages = (db: Database, pages: readonly TickPage[]): D1PreparedStatement =>
  db.$client
    .prepare(
      `insert into tick_pages (timezone, day, cadence, due_day, instant, after, is_done)
       select value->>0, value->>1, value->>2, value->>3, value->>4, '', 0 from json_each(?1) where true on conflict do nothing`,
    )
    .bind(JSON.stringify(pages.map(({ timezone, day, cadence, due_day, instant }) => [timezone, day, cadence, due_day, instant.getTime()])))

/** Removes the finished pages of a zone's days before one. */
export const forgetPages = (db: Database, timezone: string, before: Day) =>
  db.delete(tickPages).where(and(eq(tickPages.timezone, timezone), lt(tickPages.day, before), eq(tickPages.is_done, true)))

/** Nothing when another tick has advanced the zone meanwhile. */
export const advanceZone = (db: Database, timezone: string, from: Day, to: Day) =>
  db
    .update(zones)
    .set({ evaluated_day: to })
    .where(and(eq(zones.timezone, timezone), eq(zones.evaluated_day, from)))

const thePage = ({ timezone, day, cadence }: Pick<TickPage, 'timezone' | 'day' | 'cadence'>) =>
  and(eq(tickPages.timezone, timezone), eq(tickPages.day, day), eq(tickPages.cadence, cadence))

export const findPage = async (db: Database, page: Pick<TickPage, 'timezone' | 'day' | 'cadence'>): Promise<TickPage | undefined> =>
  (await db.select().from(tickPages).where(thePage(page)).limit(1))[0]

/** Extractors of a cadence that were saved before the day that they are due on. */
export const dueExtractors = async (db: Database, { timezone, cadence, due_day, after }: TickPage, limit: number) =>
  (
    await db.$client
      .prepare(
        `select extractor_id, organization_id, armed_day < ?4 as is_due from extractors indexed by extractors_due
         where timezone = ?1 and cadence = ?2 and extractor_id > ?3 and is_enabled = 1 and cadence is not null
         order by extractor_id limit ?5`,
      )
      .bind(timezone, cadence, after, due_day, limit)
      .all<{ extractor_id: string; organization_id: string; is_due: number }>()
  ).results

export const movePage = (db: Database, page: TickPage, after: string, is_done: boolean) =>
  db
    .update(tickPages)
    .set({ after, is_done })
    .where(and(thePage(page), eq(tickPages.after, page.after)))

export const openPages = (db: Database, before: Date, limit: number) =>
  db
    .select()
    .from(tickPages)
    .where(and(eq(tickPages.is_done, false), lt(tickPages.instant, before)))
    .orderBy(asc(tickPages.instant))
    .limit(limit)
