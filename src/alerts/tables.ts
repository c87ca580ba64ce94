import { sql } from 'drizzle-orm'
import { index, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { instant } from '../platform/db/columns.ts'

export const ALERT_KINDS = [
  'webhook.undelivered',
  'repse.expiring',
  'repse.expired',
  'connection.ciec_guessed',
  'connection.login_refused',
  'storage.failed',
  'certificate.expiring',
  'efirma.expiring',
  'mailbox.notification_received',
] as const
export const SEVERITIES = ['warning', 'critical'] as const

/** Situations that an organization should look into. */
export const alerts = sqliteTable(
  'alerts',
  {
    alert_id: text().primaryKey(),
    organization_id: text().notNull(),
    kind: text({ enum: ALERT_KINDS }).notNull(),
    severity: text({ enum: SEVERITIES }).notNull(),
    /** Identifies the situation: an organization has at most one alert for each key. */
    dedupe_key: text().notNull(),
    /** The webhook, fiscal entity, storage connector or notification that the alert is about. */
    resource_id: text().notNull(),
    message: text().notNull(),
    created_at: instant().notNull(),
    read_at: instant(),
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
