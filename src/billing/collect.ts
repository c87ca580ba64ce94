import { findOrganization } from '../account/account.ts'
import type { System } from '../env.ts'
import { each } from '../extractors/each.ts'
import type { InvoiceRow } from './invoice-store.ts'
import { type BillingProvider, providerOf } from './provider.ts'
import { findCustomer, keepCustomer, setProviderRef, tellAgain, untoldInvoices } from './provider-store.ts'

const PAGE = 20
/** One that the provider refuses waits, and holds no other up. */
const AGAIN_AFTER_MS = 600_000

/** Tells the provider of the open invoices that it does not know. Bears repetition: every call goes under a key derived from our ids. */
export async function collectInvoices(system: System): Promise<void> {
  const { collection } = providerOf(system)
  if (collection === null) return
  await each(await untoldInvoices(system.db, system.now, PAGE), (invoice) => tell(system, collection, invoice))
}

async function tell(system: System, collection: NonNullable<BillingProvider['collection']>, invoice: InvoiceRow): Promise<void> {
  const { db, now } = system
  const { organization_id } = invoice
  try {
    const customer = (await findCustomer(db, organization_id)) ?? (await introduce(system, collection, organization_id))
    await setProviderRef(db, invoice, await collection.invoice(customer, invoice))
  } catch (error) {
    await tellAgain(db, invoice, new Date(now.getTime() + AGAIN_AFTER_MS))
    throw error
  }
}

async function introduce({ db }: System, collection: NonNullable<BillingProvider['collection']>, organization_id: string): Promise<string> {
  const { name, contact_email } = await findOrganization(db, organization_id)
  const customer_ref = await collection.customer({ organization_id, name, contact_email })
  await keepCustomer(db, { organization_id, customer_ref })
  return customer_ref
}
