import type { System } from '../../platform/context.ts'
import { clock } from '../../platform/time/clock.ts'
import { each } from '../../platform/work/pages.ts'
import { findOrganization } from '../organization/organization.ts'
import { providerOf } from './adapters.ts'
import { findInvoice, type InvoiceRow, listUnsentInvoices, markSent, postponeSending, setProviderRef } from './invoices/store.ts'
import type { InvoiceCollector } from './provider/port.ts'
import { findCustomerRef, insertCustomer } from './provider/store.ts'

const PAGE = 20
/** The most statements that sending an invoice takes. */
const INVOICE_STATEMENTS = 12
/** Long enough that a refused invoice does not block others and that the failed attempt is over. */
const RETRY_AFTER_MS = 600_000

/**
 * Sends open invoices to a payment provider that collects. An attempt that was interrupted is repeated under the same idempotency keys; a
 * failed attempt is followed by another one, which continues from what the provider has.
 */
export async function collectInvoices(system: System): Promise<void> {
  const { collector } = providerOf(system)
  if (collector === null) return
  await each(await listUnsentInvoices(system.db, system.now, PAGE), async (listed) => {
    if (system.budget.allows(INVOICE_STATEMENTS)) await sendInvoice(system, collector, listed)
  })
}

async function sendInvoice(system: System, collector: InvoiceCollector, listed: InvoiceRow): Promise<void> {
  const { db } = system
  const invoice = await findInvoice(db, listed.organization_id, listed.invoice_id)
  // It was paid, sent or postponed since the list was read.
  if (invoice?.status !== 'open' || invoice.send_at?.getTime() !== listed.send_at!.getTime()) return
  const attempt = `${invoice.invoice_id}:${Math.floor(invoice.send_at.getTime() / 1_000)}`
  try {
    const customer_ref = await customerRefOf(system, collector, invoice, attempt)
    const provider_ref = invoice.provider_ref ?? (await createDraft(system, collector, invoice, customer_ref, attempt))
    await markSent(db, invoice, await collector.finalize(customer_ref, provider_ref, invoice, attempt))
  } catch (error) {
    await postponeSending(db, invoice, new Date(clock.now() + RETRY_AFTER_MS))
    throw error
  }
}

async function customerRefOf(
  { db }: System,
  collector: InvoiceCollector,
  { organization_id }: InvoiceRow,
  attempt: string,
): Promise<string> {
  const { name, contact_email, created_at } = await findOrganization(db, organization_id)
  const known = await findCustomerRef(db, organization_id)
  const details = { organization_id, name, contact_email, created_at, customer_ref: known ?? null }
  const customer_ref = await collector.upsertCustomer(details, attempt)
  if (known !== undefined) return known
  await insertCustomer(db, { organization_id, customer_ref })
  // A concurrent attempt may have stored its reference first.
  return (await findCustomerRef(db, organization_id))!
}

/** Creates the draft, and stores its reference before anything else is done with it. */
async function createDraft(
  { db }: System,
  collector: InvoiceCollector,
  invoice: InvoiceRow,
  customer_ref: string,
  attempt: string,
): Promise<string> {
  const provider_ref = await collector.createDraft(customer_ref, invoice, attempt)
  await setProviderRef(db, invoice, provider_ref)
  return provider_ref
}
