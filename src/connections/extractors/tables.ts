import { sql } from 'drizzle-orm'
import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { DataSourceKey } from '../../authority/port/authority.ts'
import { flag, instant } from '../../platform/db/columns.ts'

export const TRIGGER_KINDS = ['connection_created', 'connection_reactivated', 'schedule'] as const
export const SCHEDULE_KINDS = ['daily', 'every_n_days', 'nth_weekday_monthly'] as const
export const SCOPES = ['full_history', 'last_n_months', 'since_watermark'] as const

export const extractors = sqliteTable(
  'extractors',
  {
    extractor_id: text().primaryKey(),
    organization_id: text().notNull(),
    name: text().notNull(),
    is_enabled: flag().notNull(),
    trigger_kind: text({ enum: TRIGGER_KINDS }).notNull(),
    schedule_kind: text({ enum: SCHEDULE_KINDS }),
    schedule_spec: text({ mode: 'json' }).$type<Record<string, number>>().notNull(),
    timezone: text().notNull(),
    scope: text({ enum: SCOPES }).notNull(),
    scope_months: integer(),
    data_source_keys: text({ mode: 'json' }).$type<DataSourceKey[]>().notNull(),
    /** The days on which it is due, as a key of rules.ts; null when it is not scheduled. */
    cadence: text(),
    /** The local day on which the cadence was saved, `YYYY-MM-DD`. The extractor is never due on or before this day. */
    armed_day: text(),
    last_run_at: instant(),
    created_at: instant().notNull(),
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
  timezone: text().primaryKey(),
  evaluated_day: text().notNull(),
})
