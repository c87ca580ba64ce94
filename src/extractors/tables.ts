import { sql } from 'drizzle-orm'
import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { flag, instant } from '../db/columns.ts'
import type { DataSourceKey } from '../sources/catalog.ts'

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
  // The organization's list, oldest first.
  (table) => [index('extractors_organization').on(table.organization_id, table.extractor_id)],
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
    /** The one connection that it is about; null for all of the organization's. */
    fiscal_entity_id: text('fiscal_entity_id'),
    /** Decides ranges, windows and what counts as fetched already. */
    instant: instant('instant').notNull(),
    status: text('status', { enum: ['planned', 'dispatched', 'no_connections'] }).notNull(),
    connections: integer('connections').notNull(),
    dispatched: integer('dispatched').notNull(),
    created_at: instant('created_at').notNull(),
  },
  // The sweep: runs that a crash left unfinished.
  (table) => [index('runs_planned').on(table.created_at).where(sql`status = 'planned'`)],
)
