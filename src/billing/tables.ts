import { sql } from 'drizzle-orm'
import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { instant } from '../platform/db/columns.ts'

export const INVOICE_STATUSES = ['open', 'paid', 'void'] as const

export const invoices = sqliteTable(
  'invoices',
  {
    invoice_id: text('invoice_id').primaryKey(),
    organization_id: text('organization_id').notNull(),
    /** Counts the organization's invoices from 1: its number. */
    sequence: integer('sequence').notNull(),
    /** The local month that it is for, `YYYY-MM`. */
    period: text('period').notNull(),
    /** Decimal amounts with two places, in `currency`. */
    subtotal: text('subtotal').notNull(),
    tax: text('tax').notNull(),
    total: text('total').notNull(),
    currency: text('currency').notNull(),
    status: text('status', { enum: INVOICE_STATUSES }).notNull(),
    /** Also when it is due. */
    issued_at: instant('issued_at').notNull(),
    /** The local day of the organization's zone on which it is due, `YYYY-MM-DD`. */
    due_on: text('due_on').notNull(),
    paid_at: instant('paid_at'),
    /** The price list that it was made by; null when no rule made it. */
    rule_ref: text('rule_ref'),
    /** What the payment provider calls it; null until it has it. */
    provider_ref: text('provider_ref'),
    /** When its grace ends, until that was acted upon: the organization's standing is looked at then. */
    review_at: instant('review_at'),
    /** When the payment provider is told of it next; null when it has been. */
    tell_at: instant('tell_at'),
    /** Where the payment provider has it as a PDF. */
    pdf_url: text('pdf_url'),
  },
  (table) => [
    // GET /billing/invoices, newest first.
    uniqueIndex('invoices_organization').on(table.organization_id, table.sequence),
    // One for each organization and month.
    uniqueIndex('invoices_period').on(table.organization_id, table.period).where(sql`rule_ref is not null`),
    // Whether the organization owes something, and since when.
    index('invoices_open').on(table.organization_id, table.due_on).where(sql`status = 'open'`),
    // The look of every quarter of an hour at whose grace is over.
    index('invoices_review').on(table.review_at).where(sql`status = 'open' and review_at is not null`),
    // The daily look at the same, whatever was acted upon.
    index('invoices_due').on(table.due_on).where(sql`status = 'open'`),
    // What the payment provider has not been told of.
    index('invoices_untold').on(table.tell_at).where(sql`status = 'open' and tell_at is not null`),
    // What the payment provider says was paid.
    index('invoices_provider').on(table.provider_ref).where(sql`provider_ref is not null`),
  ],
)

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

/** What an operator recorded with `npm run billing`, and what became of it. */
export const operatorCommands = sqliteTable(
  'operator_orders',
  {
    order_id: text('order_id').primaryKey(),
    /** settle: as pay, also where the provider collects: what it knows of the invoice is void. */
    kind: text('kind', { enum: ['pay', 'settle', 'plan'] }).notNull(),
    organization_id: text('organization_id').notNull(),
    invoice_id: text('invoice_id'),
    plan: text('plan'),
    /** Seats, where they are to differ from the plan's. */
    rfc_allowance: integer('rfc_allowance'),
    created_at: instant('created_at').notNull(),
    done_at: instant('done_at'),
    /** Why it could not be done; null when it was. */
    refused: text('refused'),
  },
  // The sweep: what is to be done.
  (table) => [index('operator_orders_open').on(table.created_at).where(sql`done_at is null`)],
)
