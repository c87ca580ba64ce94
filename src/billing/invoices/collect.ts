import { findOrganization } from '../../identity/organization/organization.ts'
import type { System } from '../../platform/context.ts'
import { each } from '../../platform/each.ts'
import { type Collection, providerOf } from '../provider.ts'
import { findCustomer, keepCustomer, setProviderRef, setTold, tellAgain, untoldInvoices } from '../provider-store.ts'
import { findInvoice, type InvoiceRow } from './invoice-store.ts'

const PAGE = 20
/** Before the next minute begins. */
const BUSY_MS = 40_000
/** One that the provider refuses waits, and holds no other up; by then nothing of the attempt is under way any more. */
const AGAIN_AFTER_MS = 600_000

/**
 * Tells the provider of the open invoices that it has not been told of. An attempt that ended without a word is repeated under the same
 * keys; one that failed is followed by another, which looks at what the provider has and goes on from there.
 */
export async function collectInvoices(system: System): Promise<void> {
  const { collection } = providerOf(system)
  if (collection === null) return
  const until = Date.now() + BUSY_MS
  await each(await untoldInvoices(system.db, system.now, PAGE), async (listed) => {
    if (Date.now() < until) await tell(system, collection, listed)
  })
}

async function tell(system: System, collection: Collection, listed: InvoiceRow): Promise<void> {
  const { db } = system
  const invoice = await findInvoice(db, listed.organization_id, listed.invoice_id)
  // Paid, told or put off since the list was read.
  if (invoice?.status !== 'open' || invoice.tell_at?.getTime() !== listed.tell_at!.getTime()) return
  const attempt = `${invoice.invoice_id}:${Math.floor(invoice.tell_at.getTime() / 1_000)}`
  try {
    const customer_ref = await customerOf(system, collection, invoice, attempt)
    const provider_ref = invoice.provider_ref ?? (await named(system, collection, invoice, customer_ref, attempt))
    await setTold(db, invoice, await collection.demand(customer_ref, provider_ref, invoice, attempt))
  } catch (error) {
    await tellAgain(db, invoice, new Date(Date.now() + AGAIN_AFTER_MS))
    throw error
  }
}

async function customerOf({ db }: System, collection: Collection, { organization_id }: InvoiceRow, attempt: string): Promise<string> {
  const { name, contact_email, created_at } = await findOrganization(db, organization_id)
  const known = await findCustomer(db, organization_id)
  const debtor = { organization_id, name, contact_email, created_at, customer_ref: known ?? null }
  const customer_ref = await collection.customer(debtor, attempt)
  if (known !== undefined) return known
  await keepCustomer(db, { organization_id, customer_ref })
  // Of two at once the first stands.
  return (await findCustomer(db, organization_id))!
}

/** Kept before anything else is done with it. */
async function named({ db }: System, collection: Collection, invoice: InvoiceRow, customer_ref: string, attempt: string): Promise<string> {
  const provider_ref = await collection.invoice(customer_ref, invoice, attempt)
  await setProviderRef(db, invoice, provider_ref)
  return provider_ref
}
