import { and, asc, eq, lt } from 'drizzle-orm'
import type { Database } from '../../platform/db/commit.ts'
import type { Day } from '../../platform/time/calendar.ts'
import { zones } from '../tables.ts'
import { tickPages } from './tables.ts'

export type TickPage = typeof tickPages.$inferSelect
export type Zone = typeof zones.$inferSelect

const IN_USE = 'select 1 from extractors indexed by extractors_due where timezone = ?1 and is_enabled = 1 and cadence is not null'

export const listZones = (db: Database) => db.select().from(zones)

/**
 * Returns the given cadences that a zone's enabled extractors use. Reads one row per cadence, however many extractors there are, and leaves
 * out the hundreds of `every_n_days` where none is in use.
 */
export const cadencesInUse = async (db: Database, timezone: string, cadences: readonly string[]): Promise<string[]> =>
  (
    await db.$client
      .prepare(
        `select value as cadence from json_each(iif(exists (${IN_USE} and cadence >= 'e' and cadence < 'f'), ?2, ?3))
         where exists (${IN_USE} and cadence = value)`,
      )
      .bind(timezone, JSON.stringify(cadences), JSON.stringify(cadences.filter((cadence) => !cadence.startsWith('e'))))
      .all<{ cadence: string }>()
  ).results.map(({ cadence }) => cadence)

export const insertPages = (db: Database, pages: readonly TickPage[]): D1PreparedStatement =>
  db.$client
    .prepare(
      `insert into tick_pages (timezone, day, cadence, due_day, instant, after, is_done)
       select value->>0, value->>1, value->>2, value->>3, value->>4, '', 0 from json_each(?1) where true on conflict do nothing`,
    )
    .bind(JSON.stringify(pages.map(({ timezone, day, cadence, due_day, instant }) => [timezone, day, cadence, due_day, instant.getTime()])))

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
    await db.$client
      .prepare(
        `select extractor_id, organization_id, armed_day < ?4 as is_due from extractors indexed by extractors_due
         where timezone = ?1 and cadence = ?2 and extractor_id > ?3 and is_enabled = 1 and cadence is not null
         order by extractor_id limit ?5`,
      )
      .bind(timezone, cadence, after, due_day, limit)
      .all<{ extractor_id: string; organization_id: string; is_due: number }>()
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
