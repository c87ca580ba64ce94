import { and, asc, eq, isNull, lte, or } from 'drizzle-orm'
import type { Database } from '../db/commit.ts'
import { type InvoiceRow, one } from './invoice-store.ts'
import { billingCustomers, invoices, providerEvents } from './tables.ts'

/** Open invoices that the provider has not been told of and that it is time to tell, those that never were tried first. */
export const untoldInvoices = (db: Database, now: Date, limit: number) =>
  db
    .select()
    .from(invoices)
    .where(and(eq(invoices.status, 'open'), isNull(invoices.provider_ref), or(isNull(invoices.tell_at), lte(invoices.tell_at, now))))
    .orderBy(asc(invoices.tell_at))
    .limit(limit)

export const tellAgain = (db: Database, { organization_id, invoice_id }: InvoiceRow, tell_at: Date) =>
  db.update(invoices).set({ tell_at }).where(one(organization_id, invoice_id))

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

/** Refuses its whole batch with a unique violation when the event, or another about the same payment, was there before. */
export const insertEvent = (db: Database, row: typeof providerEvents.$inferSelect) => db.insert(providerEvents).values(row)
