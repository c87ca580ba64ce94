import type { System } from '../platform/context.ts'
import type { BillingProvider } from './provider/port.ts'
import { stripe } from './stripe/stripe.ts'

/** The page to which customers are sent, and to which they return from a checkout. */
function pageFor(checkoutUrl: string, organization_id: string): string {
  const url = new URL(checkoutUrl)
  url.searchParams.set('organization', organization_id)
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
      return { checkout: async ({ organization_id }) => customerUrl(organization_id), collector: null }
    case 'stripe':
      return stripe(settings, customerUrl)
  }
}
