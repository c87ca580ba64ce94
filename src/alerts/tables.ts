import { sql } from 'drizzle-orm'
import { index, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { instant } from '../platform/db/columns.ts'

export const ALERT_KINDS = ['webhook.undelivered', 'repse.expiring', 'repse.expired', 'connection.ciec_guessed'] as const
export const SEVERITIES = ['warning', 'critical'] as const

/** Situations that an organization should look into. */
export const alerts = sqliteTable(
  'alerts',
  {
    alert_id: text('alert_id').primaryKey(),
    organization_id: text('organization_id').notNull(),
    kind: text('kind', { enum: ALERT_KINDS }).notNull(),
    severity: text('severity', { enum: SEVERITIES }).notNull(),
    /** Identifies the situation: an organization has at most one alert for each key. */
    dedupe_key: text('dedupe_key').notNull(),
    /** The webhook or fiscal entity that the alert is about. */
    resource_id: text('resource_id').notNull(),
    message: text('message').notNull(),
    created_at: instant('created_at').notNull(),
    read_at: instant('read_at'),
  },
  (table) => [
    // Raising an alert whose key exists.
    uniqueIndex('alerts_dedupe').on(table.organization_id, table.dedupe_key),
    // GET /alerts, newest first.
    index('alerts_organization').on(table.organization_id, table.alert_id),
    // GET /alerts?is_read=false.
    index('alerts_unread').on(table.organization_id, table.alert_id).where(sql`read_at is null`),
  ],
)
