import { sql } from 'drizzle-orm'
import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { instant } from '../../platform/db/columns.ts'

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
