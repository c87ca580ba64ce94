import { sql } from 'drizzle-orm'
import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { instant } from '../../platform/db/columns.ts'

export const INVOICE_STATUSES = ['open', 'paid', 'void'] as const

export const invoices = sqliteTable(
  'invoices',
  {
    invoice_id: text().primaryKey(),
    organization_id: text().notNull(),
    /** Sequential number within the organization, from 1. */
    sequence: integer().notNull(),
    /** The month that the invoice is for, `YYYY-MM`, in the organization's time zone. */
    period: text().notNull(),
    /** Decimal amounts with two places, in `currency`. */
    subtotal: text().notNull(),
    tax: text().notNull(),
    total: text().notNull(),
    currency: text().notNull(),
    status: text({ enum: INVOICE_STATUSES }).notNull(),
    /** The invoice is due at the same time. */
    issued_at: instant().notNull(),
    /** The due day, `YYYY-MM-DD`, in the organization's time zone. */
    due_on: text().notNull(),
    paid_at: instant(),
    /** The price list; null when the invoice was not issued from a price list. */
    rule_ref: text(),
    /** The invoice's reference at the payment provider; null until it is created there. */
    provider_ref: text(),
    /** End of the grace period, at which the organization is reviewed; null after the review. */
    review_at: instant(),
    /** Time of the next attempt to send the invoice to the payment provider; null after it was sent. */
    send_at: instant(),
    /** URL of the PDF at the payment provider. */
    pdf_url: text(),
  },
  (table) => [
    // GET /billing/invoices, newest first.
    uniqueIndex('invoices_organization').on(table.organization_id, table.sequence),
    // One invoice from a price list for each organization and month.
    uniqueIndex('invoices_period').on(table.organization_id, table.period).where(sql`rule_ref is not null`),
    // Whether the organization owes something, and since when.
    index('invoices_open').on(table.organization_id, table.due_on).where(sql`status = 'open'`),
    // The review of ended grace periods, every quarter of an hour.
    index('invoices_review').on(table.review_at).where(sql`status = 'open' and review_at is not null`),
    // The daily review of everything that is due.
    index('invoices_due').on(table.due_on).where(sql`status = 'open'`),
    // Invoices to send to the payment provider.
    index('invoices_unsent').on(table.send_at).where(sql`status = 'open' and send_at is not null`),
    // Payments that the payment provider reports.
    index('invoices_provider').on(table.provider_ref).where(sql`provider_ref is not null`),
  ],
)

/** Commands that operators recorded with `npm run billing`, and their outcome. */
export const operatorCommands = sqliteTable(
  'operator_orders',
  {
    command_id: text().primaryKey(),
    /**
     * `pay` and `settle` pay an invoice; only `settle` is accepted where the payment provider collects, after the invoice was voided
     * there.
     */
    kind: text({ enum: ['pay', 'settle', 'plan'] }).notNull(),
    organization_id: text().notNull(),
    invoice_id: text(),
    plan: text(),
    /** Number of seats where it differs from the plan's. */
    rfc_allowance: integer(),
    created_at: instant().notNull(),
    done_at: instant(),
    /** Why the command was refused; null when it was carried out. */
    refused: text(),
  },
  // The sweep of commands that are not done.
  (table) => [index('operator_orders_open').on(table.created_at).where(sql`done_at is null`)],
)

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

/** The trials that were used: one for each e-mail address, from the commit that connects the organization's first RFC in it. */
export const trials = sqliteTable('trials', {
  /** The address of the sign-up in its normal form. */
  email: text().primaryKey(),
  organization_id: text().notNull(),
  started_at: instant().notNull(),
})
