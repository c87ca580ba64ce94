import { index, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { instant } from '../db/columns.ts'

export const auditEvents = sqliteTable(
  'audit_events',
  {
    audit_event_id: text('audit_event_id').primaryKey(),
    organization_id: text('organization_id').notNull(),
    actor: text('actor').notNull(),
    action: text('action').notNull(),
    resource_id: text('resource_id').notNull(),
    /** Names of the members that were sent or changed, as JSON; never their values. */
    changed: text('changed', { mode: 'json' }).$type<string[]>().notNull(),
    request_id: text('request_id').notNull(),
    created_at: instant('created_at').notNull(),
  },
  // GET /audit-events, newest first.
  (table) => [index('audit_events_organization').on(table.organization_id, table.audit_event_id)],
)
