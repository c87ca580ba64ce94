import { sql } from 'drizzle-orm'
import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { instant } from '../db/columns.ts'
import { ALERT_KINDS, SEVERITIES } from './kinds.ts'

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
    /** The RFC that it is about; null when it is about none. */
    fiscal_entity_id: text(),
    rfc: text(),
    /** The amount that is at stake, as decimal text, with its currency. */
    amount: text(),
    currency: text(),
    message: text().notNull(),
    /** The same in Spanish. */
    message_es: text().notNull(),
    created_at: instant().notNull(),
    read_at: instant(),
    /** When its cause ended, of an alert whose cause can. */
    resolved_at: instant(),
    /** How much of it events have reported (`NOTIFIED`). */
    notified: integer().notNull().default(0),
    /** Whether it was decided who gets it by mail. */
    is_mailed: integer({ mode: 'boolean' }).notNull().default(false),
  },
  (table) => [
    // Raising an alert whose key exists.
    uniqueIndex('alerts_dedupe').on(table.organization_id, table.dedupe_key),
    // GET /alerts, newest first.
    index('alerts_organization').on(table.organization_id, table.alert_id),
    // GET /alerts?sort=weight.
    index('alerts_weight').on(table.organization_id, table.severity, sql`${table.alert_id} desc`),
    // GET /alerts of an RFC.
    index('alerts_rfc').on(table.organization_id, table.rfc, table.alert_id),
    // Reporting alerts as events.
    index('alerts_unnotified').on(table.alert_id).where(sql`notified <> 1`),
    // The alerts of an organization that are to be mailed.
    index('alerts_unmailed').on(table.organization_id, table.alert_id).where(sql`is_mailed = 0`),
    // Finding out whether the causes of open alerts have ended.
    index('alerts_open')
      .on(table.alert_id)
      .where(
        sql`resolved_at is null and kind in ('connection.invalid', 'connection.failing', 'organization.suspended', 'cancellation.requested')`,
      ),
    // GET /alerts?is_read=false.
    index('alerts_unread').on(table.organization_id, table.alert_id).where(sql`read_at is null`),
  ],
)
