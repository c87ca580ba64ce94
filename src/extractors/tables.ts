import { sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import type { DataSourceKey } from '../authority/port/catalog.ts'
import { flag, instant } from '../platform/db/columns.ts'

export const TRIGGER_KINDS = ['connection_created', 'connection_reactivated', 'schedule'] as const
export const SCHEDULE_KINDS = ['daily', 'every_n_days', 'nth_weekday_monthly'] as const
export const SCOPES = ['full_history', 'last_n_months', 'since_watermark'] as const

export const extractors = sqliteTable(
  'extractors',
  {
    extractor_id: text('extractor_id').primaryKey(),
    organization_id: text('organization_id').notNull(),
    name: text('name').notNull(),
    is_enabled: flag('is_enabled').notNull(),
    trigger_kind: text('trigger_kind', { enum: TRIGGER_KINDS }).notNull(),
    schedule_kind: text('schedule_kind', { enum: SCHEDULE_KINDS }),
    schedule_spec: text('schedule_spec', { mode: 'json' }).$type<Record<string, number>>().notNull(),
    timezone: text('timezone').notNull(),
    scope: text('scope', { enum: SCOPES }).notNull(),
    scope_months: integer('scope_months'),
    data_source_keys: text('data_source_keys', { mode: 'json' }).$type<DataSourceKey[]>().notNull(),
    /** The days it is due on, as a key of cadence.ts; null when it is not scheduled. */
    cadence: text('cadence'),
    /** The local day on which the cadence was saved, `YYYY-MM-DD`: it never runs on or before it. */
    armed_day: text('armed_day'),
    last_run_at: instant('last_run_at'),
    created_at: instant('created_at').notNull(),
  },
  (table) => [
    // The organization's list, oldest first.
    index('extractors_organization').on(table.organization_id, table.extractor_id),
    // A tick: the cadences in use in a zone, and a page of the extractors of one.
    index('extractors_due').on(table.timezone, table.cadence, table.extractor_id).where(sql`is_enabled = 1 and cadence is not null`),
  ],
)

/** Zones that scheduled extractors are in, with the last local day whose cadences have been evaluated. */
export const zones = sqliteTable('zones', {
  timezone: text('timezone').primaryKey(),
  evaluated_day: text('evaluated_day').notNull(),
})

/** Pages of a tick: what is left to do of a cadence that is due on a local day of a zone. Written with the zone's advance. */
export const tickPages = sqliteTable(
  'tick_pages',
  {
    timezone: text('timezone').notNull(),
    /** The local day of the tick: with the zone its identity. */
    day: text('day').notNull(),
    cadence: text('cadence').notNull(),
    /** The last day up to the tick's on which the cadence falls: the local date of its runs. */
    due_day: text('due_day').notNull(),
    /** The tick's instant, of all its runs. */
    instant: instant('instant').notNull(),
    /** The last extractor that has been planned; empty at first. */
    after: text('after').notNull(),
    is_done: flag('is_done').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.timezone, table.day, table.cadence] }),
    // The sweep: pages that nobody finished.
    index('tick_pages_open').on(table.instant).where(sql`is_done = 0`),
  ],
)

export const RUN_TRIGGERS = ['manual', 'connection_created', 'connection_reactivated', 'schedule'] as const

/** One dispatch of an extractor. Written before anything of it is done, so that a crash leaves something to finish. */
export const runs = sqliteTable(
  'runs',
  {
    run_id: text('run_id').primaryKey(),
    organization_id: text('organization_id').notNull(),
    extractor_id: text('extractor_id').notNull(),
    trigger: text('trigger', { enum: RUN_TRIGGERS }).notNull(),
    /** Of a scheduled run: the local day that it is for. */
    local_date: text('local_date'),
    /** The one connection that it is about; null for all of the organization's. */
    fiscal_entity_id: text('fiscal_entity_id'),
    /** Decides ranges, windows and what counts as fetched already. */
    instant: instant('instant').notNull(),
    status: text('status', { enum: ['planned', 'dispatched', 'no_connections'] }).notNull(),
    connections: integer('connections').notNull(),
    dispatched: integer('dispatched').notNull(),
    created_at: instant('created_at').notNull(),
  },
  (table) => [
    // The sweep: runs that a crash left unfinished.
    index('runs_planned').on(table.created_at).where(sql`status = 'planned'`),
    // GET /extractors/{id}/runs, newest first.
    index('runs_extractor').on(table.extractor_id, table.run_id),
    // One run for each extractor and local date.
    uniqueIndex('runs_local_date').on(table.extractor_id, table.local_date).where(sql`local_date is not null`),
  ],
)
