import { sql } from 'drizzle-orm'
import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
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
    /** The days on which it is due, as a key of cadence.ts; null when it is not scheduled. */
    cadence: text('cadence'),
    /** The local day on which the cadence was saved, `YYYY-MM-DD`. The extractor is never due on or before this day. */
    armed_day: text('armed_day'),
    last_run_at: instant('last_run_at'),
    created_at: instant('created_at').notNull(),
  },
  (table) => [
    // The list of an organization's extractors, oldest first.
    index('extractors_organization').on(table.organization_id, table.extractor_id),
    // Ticks: the cadences in use in a zone, and a page of the extractors of one cadence.
    index('extractors_due').on(table.timezone, table.cadence, table.extractor_id).where(sql`is_enabled = 1 and cadence is not null`),
  ],
)

/** Time zones of scheduled extractors, with the last local day whose cadences have been evaluated. */
export const zones = sqliteTable('zones', {
  timezone: text('timezone').primaryKey(),
  evaluated_day: text('evaluated_day').notNull(),
})
