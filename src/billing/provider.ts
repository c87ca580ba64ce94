import { planOf } from '../plans/plans.ts'
import type { Ctx, System } from '../platform/context.ts'
import { errorMessage } from '../platform/log.ts'
import { localDayOf } from '../platform/time/calendar.ts'
import type { InvoiceRow } from './invoices/invoice-store.ts'
import { stripe } from './stripe/stripe.ts'
import { type Offer, offerFor } from './subscription/offers.ts'
import { quoteMonth, seatPrice } from './subscription/prices.ts'
import type { StoredSubscription } from './subscription/subscription-store.ts'

/** Something to be paid at once. */
export interface CheckoutOrder {
  /** The same order asked for again is the same one at the provider. */
  key: string
  organization_id: string
  sold: Offer
  name: string
  /** Decimal, tax included, in MXN. */
  amount: string
}

/** Who is to pay an invoice. */
export interface Debtor {
  organization_id: string
  name: string
  contact_email: string | null
  /** Before it the provider cannot have known the organization. */
  created_at: Date
  /** What the provider calls it; null while that is not known here. */
  customer_ref: string | null
}

/**
 * How the provider is told of an open invoice, each call once or again. Calls of one attempt, repeated, are the same ones at the
 * provider; those of another find what it has and go on from there.
 */
export interface Collection {
  /** Makes the customer, or brings it up to date. Answers what the provider calls it. */
  customer(debtor: Debtor, attempt: string): Promise<string>
  /** Makes the invoice, which asks for nothing yet. Answers what the provider calls it. */
  invoice(customer_ref: string, invoice: InvoiceRow, attempt: string): Promise<string>
  /** Asks for the money. Answers where the invoice is as a PDF. */
  demand(customer_ref: string, provider_ref: string, invoice: InvoiceRow, attempt: string): Promise<string | null>
}

/** Who collects the money. What was paid comes back through the provider's own way: an operator's order, a webhook. */
export interface BillingProvider {
  /** A page where an order can be paid. */
  checkout(order: CheckoutOrder): Promise<string>
  /** How the provider is told of open invoices; null where nobody has to be told. */
  collection: Collection | null
}

/** Where customers are sent, and come back to. */
const pageOf = (env: Env, organization_id: string): string => {
  const url = new URL(env.CHECKOUT_URL)
  url.searchParams.set('organization', organization_id)
  return url.href
}

/** An operator sells on a page of their own, and records what was paid with `npm run billing`. */
const manual = (env: Env): BillingProvider => ({
  checkout: async ({ organization_id }) => pageOf(env, organization_id),
  collection: null,
})

/** The provider that BILLING_PROVIDER names. */
export function providerOf({ env }: Pick<System, 'env'>): BillingProvider {
  switch (env.BILLING_PROVIDER as string) {
    case 'manual':
      return manual(env)
    case 'stripe':
      return stripe(env, (organization_id) => pageOf(env, organization_id))
    default:
      throw new Error('BILLING_PROVIDER must be manual or stripe.')
  }
}

/**
 * Where the organization can pay for what it lacks: a seat more, or on the trial the smallest plan. Null when the provider does not
 * answer: what was refused is refused all the same.
 */
export async function seatCheckout(ctx: Ctx, { plan, rfc_allowance, timezone }: StoredSubscription): Promise<string | null> {
  const day = localDayOf(ctx.now, timezone)
  const offer = offerFor(plan)
  const isPlan = offer.sold === 'plan'
  const amount = isPlan ? quoteMonth(offer.plan, 1, day)!.total : seatPrice(plan, day)
  if (amount === null) return null
  const name = `${planOf(offer.plan).name}, ${isPlan ? `${day.slice(0, 7)} with 1 RFC` : '1 more RFC'}`
  const { id } = ctx.organization
  const key = `${offer.sold}:${id}:${offer.plan}:${rfc_allowance}:${day}`
  try {
    return await providerOf(ctx).checkout({ key, organization_id: id, sold: offer, name, amount })
  } catch (error) {
    console.error(
      JSON.stringify({ level: 'error', request_id: ctx.requestId, message: 'No checkout could be opened.', error: errorMessage(error) }),
    )
    return null
  }
}
