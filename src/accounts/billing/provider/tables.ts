import { sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { instant } from '../../../platform/db/columns.ts'

/** References of organizations at the payment provider. */
export const billingCustomers = sqliteTable('billing_customers', {
  organization_id: text().primaryKey(),
  customer_ref: text().notNull(),
})

/** Payment events, recorded in the commit that applies them, so that neither an event nor a payment counts twice. */
export const providerEvents = sqliteTable(
  'provider_events',
  {
    event_id: text().primaryKey(),
    type: text().notNull(),
    /** The provider's reference of the invoice or checkout that was paid. */
    subject: text().notNull(),
    created_at: instant().notNull(),
  },
  // Several events can report one payment.
  (table) => [uniqueIndex('provider_events_subject').on(table.subject)],
)
