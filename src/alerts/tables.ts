import { sql } from 'drizzle-orm'
import { index, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { instant } from '../platform/db/columns.ts'

export const ALERT_KINDS = ['webhook.undelivered', 'repse.expiring', 'repse.expired'] as const
export const SEVERITIES = ['warning', 'critical'] as const

/** What an organization should look at. */
export const alerts = sqliteTable(
  'alerts',
  {
    alert_id: text('alert_id').primaryKey(),
    organization_id: text('organization_id').notNull(),
    kind: text('kind', { enum: ALERT_KINDS }).notNull(),
    severity: text('severity', { enum: SEVERITIES }).notNull(),
    /** What there is one alert of, for each organization. */
    dedupe_key: text('dedupe_key').notNull(),
    /** What it is about: a webhook, a fiscal entity. */
    resource_id: text('resource_id').notNull(),
    message: text('message').notNull(),
    created_at: instant('created_at').notNull(),
    read_at: instant('read_at'),
  },
  (table) => [
    // Raising the same again.
    uniqueIndex('alerts_dedupe').on(table.organization_id, table.dedupe_key),
    // GET /alerts, newest first.
    index('alerts_organization').on(table.organization_id, table.alert_id),
    // The same of those that nobody has read.
    index('alerts_unread').on(table.organization_id, table.alert_id).where(sql`read_at is null`),
  ],
)
