import type { System } from '../../platform/context.ts'
import type { BillingProvider } from './provider/port.ts'
import { stripe } from './stripe/stripe.ts'
import type { Offer } from './subscription/status.ts'

/** The page to which customers are sent, and to which they return from a checkout. */
function pageFor(checkoutUrl: string, organization_id: string): string {
  const url = new URL(checkoutUrl)
  url.searchParams.set('organization', organization_id)
  return url.href
}

/** The page, with the offer that its customer orders. */
function orderUrl(customerUrl: string, { item, plan }: Offer): string {
  const url = new URL(customerUrl)
  url.searchParams.set('item', item)
  url.searchParams.set('plan', plan)
  return url.href
}

/**
 * The provider that BILLING_PROVIDER names. With `manual`, an operator sells on a page of their own and records payments with `npm run
 * billing`.
 */
export function providerOf({ settings }: Pick<System, 'settings'>): BillingProvider {
  const customerUrl = (organization_id: string): string => pageFor(settings.checkoutUrl, organization_id)
  switch (settings.billingProvider) {
    case 'manual':
      return { checkout: async ({ organization_id, offer }) => orderUrl(customerUrl(organization_id), offer), collector: null }
    case 'stripe':
      return stripe(settings, customerUrl)
  }
}
