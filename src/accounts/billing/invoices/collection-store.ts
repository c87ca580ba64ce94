import { and, eq, lte, sql } from 'drizzle-orm'
import type { Database } from '../../../platform/db/commit.ts'
import { type InvoiceRow, oneInvoice } from './store.ts'
import { invoices } from './tables.ts'

/** Open invoices that are due to be sent to the payment provider, the longest waiting first. */
export const listUnsentInvoices = (db: Database, now: Date, limit: number) =>
  db
    .select()
    .from(invoices)
    .where(and(sql`${invoices.status} = 'open'`, lte(invoices.send_at, now)))
    .orderBy(invoices.send_at)
    .limit(limit)

/** Postpones the next attempt, unless a concurrent attempt has succeeded or has already postponed it. */
export const postponeSending = (db: Database, { organization_id, invoice_id, send_at: attempted }: InvoiceRow, send_at: Date) =>
  db
    .update(invoices)
    .set({ send_at })
    .where(and(oneInvoice(organization_id, invoice_id), eq(invoices.send_at, attempted!)))

export const markSent = (db: Database, { organization_id, invoice_id }: InvoiceRow, pdf_url: string | null) =>
  db.update(invoices).set({ send_at: null, pdf_url }).where(oneInvoice(organization_id, invoice_id))

export const setProviderRef = (db: Database, { organization_id, invoice_id }: InvoiceRow, provider_ref: string) =>
  db.update(invoices).set({ provider_ref }).where(oneInvoice(organization_id, invoice_id))

/**
 * The invoice with this reference at the provider, or else with this id: the provider may know the invoice before its reference is stored
 * here.
 */
export const findInvoiceAtProvider = async (db: Database, provider_ref: string, invoice_id: string | undefined) => {
  const [referenced] = await db.select().from(invoices).where(eq(invoices.provider_ref, provider_ref)).limit(1)
  if (referenced || invoice_id === undefined) return referenced
  return (await db.select().from(invoices).where(eq(invoices.invoice_id, invoice_id)).limit(1))[0]
}
