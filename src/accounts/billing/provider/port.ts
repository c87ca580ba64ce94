import type { Offer } from '../subscription/status.ts'

/** Something that a customer pays for at once. */
export interface CheckoutOrder {
  /** Idempotency key: the provider answers the same order with the same checkout. */
  key: string
  organization_id: string
  offer: Offer
  name: string
  /** Decimal with two places, tax included, in MXN. */
  amount: string
}

/** The organization that owes an invoice. */
export interface CustomerDetails {
  organization_id: string
  name: string
  contact_email: string | null
  /** The provider cannot have a customer record that is older. */
  created_at: Date
  /** The provider's reference of the customer; null when none is stored. */
  customer_ref: string | null
}

/** An open invoice that the provider collects. */
export interface CollectableInvoice {
  invoice_id: string
  organization_id: string
  /** `YYYY-MM`. */
  period: string
  /** Decimal with two places, tax included. */
  total: string
  currency: string
}

/**
 * Hands open invoices to the provider. Repeated calls with the same `attempt` have one effect; calls of a later attempt find what earlier
 * ones made at the provider and continue from there.
 */
export interface InvoiceCollector {
  /** Creates or updates the customer. Returns the provider's reference. */
  upsertCustomer(customer: CustomerDetails, attempt: string): Promise<string>
  /** Creates a draft of the invoice, which the customer does not see yet. Returns the provider's reference. */
  createDraft(customer_ref: string, invoice: CollectableInvoice, attempt: string): Promise<string>
  /** Finalizes the draft, which requests the payment. Returns the URL of the PDF. */
  finalize(customer_ref: string, provider_ref: string, invoice: CollectableInvoice, attempt: string): Promise<string | null>
}

/** A payment provider. Payments come back in its own way: as an operator command or a webhook. */
export interface BillingProvider {
  /** Returns the URL of a page where the order can be paid. */
  checkout(order: CheckoutOrder): Promise<string>
  /** Null when the provider does not collect invoices. */
  collector: InvoiceCollector | null
}
