import { sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { instant } from '../../platform/db/columns.ts'

/** References of organizations at the payment provider. */
export const billingCustomers = sqliteTable('billing_customers', {
  organization_id: text('organization_id').primaryKey(),
  customer_ref: text('customer_ref').notNull(),
})

/** Payment events, recorded in the commit that applies them, so that neither an event nor a payment counts twice. */
export const providerEvents = sqliteTable(
  'provider_events',
  {
    event_id: text('event_id').primaryKey(),
    type: text('type').notNull(),
    /** The provider's reference of the invoice or checkout that was paid. */
    subject: text('subject').notNull(),
    created_at: instant('created_at').notNull(),
  },
  // Several events can report one payment.
  (table) => [uniqueIndex('provider_events_subject').on(table.subject)],
)
