import { and, desc, eq, lt, sql } from 'drizzle-orm'
import type { Database } from '../../platform/db/commit.ts'
import { assertThat } from '../../platform/db/guard.ts'
import { invoices } from './tables.ts'

export type InvoiceRow = typeof invoices.$inferSelect

/** The condition for one invoice of the organization. */
export const oneInvoice = (organization_id: string, invoice_id: string) =>
  and(eq(invoices.invoice_id, invoice_id), eq(invoices.organization_id, organization_id))

export const findInvoice = async (db: Database, organization_id: string, invoice_id: string): Promise<InvoiceRow | undefined> =>
  (await db.select().from(invoices).where(oneInvoice(organization_id, invoice_id)).limit(1))[0]

export const listInvoiceRows = (db: Database, organization_id: string, before: number | undefined, limit: number) =>
  db
    .select()
    .from(invoices)
    .where(and(eq(invoices.organization_id, organization_id), before === undefined ? undefined : lt(invoices.sequence, before)))
    .orderBy(desc(invoices.sequence))
    .limit(limit)

/** The organization's open invoices, oldest first. */
export const listOpenInvoices = (db: Database, organization_id: string) =>
  db
    .select()
    .from(invoices)
    .where(and(eq(invoices.organization_id, organization_id), eq(invoices.status, 'open')))
    .orderBy(invoices.due_on)

/** Adds an open invoice under the organization's next number; does nothing when the month has an invoice from a price list already. */
export const insertInvoice = (
  db: Database,
  row: Omit<InvoiceRow, 'sequence' | 'status' | 'paid_at' | 'provider_ref' | 'send_at' | 'pdf_url'>,
): D1PreparedStatement =>
  db.$client
    .prepare(
      `insert into invoices (
         invoice_id, organization_id, sequence, period, subtotal, tax, total, currency, status, issued_at, due_on, rule_ref, review_at, tell_at)
       select ?1, ?2, (select coalesce(max(sequence), 0) + 1 from invoices where organization_id = ?2), ?3, ?4, ?5, ?6, ?7, 'open', ?8, ?9, ?10, ?11, ?8
       where true on conflict do nothing`,
    )
    .bind(
      row.invoice_id,
      row.organization_id,
      row.period,
      ...[row.subtotal, row.tax, row.total, row.currency],
      row.issued_at.getTime(),
      row.due_on,
      row.rule_ref,
      row.review_at?.getTime() ?? null,
    )

/** Refuses its batch unless the invoice is open. */
export const assertInvoiceOpen = (db: Database, { organization_id, invoice_id }: InvoiceRow): D1PreparedStatement =>
  assertThat(
    db.$client,
    sql`exists (select 1 from invoices where invoice_id = ${invoice_id} and organization_id = ${organization_id} and status = 'open')`,
    'invoice.open',
  )

export const markPaid = (db: Database, { organization_id, invoice_id }: InvoiceRow, now: Date) =>
  db.update(invoices).set({ status: 'paid', paid_at: now }).where(oneInvoice(organization_id, invoice_id))
