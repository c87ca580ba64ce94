import { index, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { instant } from '../db/columns.ts'

export const auditEvents = sqliteTable(
  'audit_events',
  {
    audit_event_id: text().primaryKey(),
    organization_id: text().notNull(),
    actor: text().notNull(),
    action: text().notNull(),
    resource_id: text().notNull(),
    /** Names of the members that were sent or changed, as JSON; never their values. */
    changed: text({ mode: 'json' }).$type<string[]>().notNull(),
    request_id: text().notNull(),
    created_at: instant().notNull(),
  },
  // GET /audit-events, newest first.
  (table) => [index('audit_events_organization').on(table.organization_id, table.audit_event_id)],
)
