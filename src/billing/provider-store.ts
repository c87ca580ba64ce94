import { and, eq, lte, sql } from 'drizzle-orm'
import type { Database } from '../platform/db/commit.ts'
import { type InvoiceRow, one } from './invoices/invoice-store.ts'
import { billingCustomers, invoices, providerEvents } from './tables.ts'

/** Open invoices that it is time to tell the provider of, those that wait longest first. */
export const untoldInvoices = (db: Database, now: Date, limit: number) =>
  db
    .select()
    .from(invoices)
    .where(and(sql`status = 'open'`, lte(invoices.tell_at, now)))
    .orderBy(invoices.tell_at)
    .limit(limit)

/** After an attempt that failed; another one that was faster stands. */
export const tellAgain = (db: Database, { organization_id, invoice_id, tell_at: attempted }: InvoiceRow, tell_at: Date) =>
  db
    .update(invoices)
    .set({ tell_at })
    .where(and(one(organization_id, invoice_id), eq(invoices.tell_at, attempted!)))

export const setTold = (db: Database, { organization_id, invoice_id }: InvoiceRow, pdf_url: string | null) =>
  db.update(invoices).set({ tell_at: null, pdf_url }).where(one(organization_id, invoice_id))

export const setProviderRef = (db: Database, { organization_id, invoice_id }: InvoiceRow, provider_ref: string) =>
  db.update(invoices).set({ provider_ref }).where(one(organization_id, invoice_id))

/** The invoice that the provider calls so, or else one of this id: the provider may know it before its name for it is kept here. */
export const findPaidInvoice = async (db: Database, provider_ref: string, invoice_id: string | undefined) => {
  const named = await db.select().from(invoices).where(eq(invoices.provider_ref, provider_ref)).limit(1)
  if (named[0] || invoice_id === undefined) return named[0]
  return (await db.select().from(invoices).where(eq(invoices.invoice_id, invoice_id)).limit(1))[0]
}

export const findCustomer = async (db: Database, organization_id: string): Promise<string | undefined> =>
  (await db.select().from(billingCustomers).where(eq(billingCustomers.organization_id, organization_id)).limit(1))[0]?.customer_ref

export const keepCustomer = (db: Database, row: typeof billingCustomers.$inferSelect) =>
  db.insert(billingCustomers).values(row).onConflictDoNothing()

/** Whether the provider told of this payment before. */
export const isKnown = async (db: Database, subject: string): Promise<boolean> =>
  (await db.select().from(providerEvents).where(eq(providerEvents.subject, subject)).limit(1)).length > 0

/** Refuses its whole batch with a unique violation when the event, or another about the same payment, was there before. */
export const insertEvent = (db: Database, row: typeof providerEvents.$inferSelect) => db.insert(providerEvents).values(row)
