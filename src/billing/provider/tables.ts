import { sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { instant } from '../../platform/db/columns.ts'

/** What the payment provider calls an organization. */
export const billingCustomers = sqliteTable('billing_customers', {
  organization_id: text('organization_id').primaryKey(),
  customer_ref: text('customer_ref').notNull(),
})

/** What the payment provider told, in the commit that did what it says: neither an event nor what it is about counts twice. */
export const providerEvents = sqliteTable(
  'provider_events',
  {
    event_id: text('event_id').primaryKey(),
    type: text('type').notNull(),
    /** The invoice or checkout that was paid. */
    subject: text('subject').notNull(),
    created_at: instant('created_at').notNull(),
  },
  // Several events can tell of one payment.
  (table) => [uniqueIndex('provider_events_subject').on(table.subject)],
)
