import { centavosOf } from './prices.ts'
import type { BillingProvider } from './provider.ts'

/** Secrets that are there only where they are used. */
export interface StripeSecrets {
  STRIPE_SECRET_KEY?: string
  STRIPE_WEBHOOK_SECRET?: string
}

const VERSION = '2024-06-20'
const PATIENCE_MS = 10_000

type Form = { [name: string]: Form | string }

/** Nested names in brackets, as its API takes them. */
const fields = (form: Form, within = ''): [string, string][] =>
  Object.entries(form).flatMap(([name, value]) => {
    const path = within === '' ? name : `${within}[${name}]`
    return typeof value === 'string' ? [[path, value] as [string, string]] : fields(value, path)
  })

/** Stripe over its HTTP API. Every call is a POST under an idempotency key: repeated, it answers what it answered. */
export function stripe(env: Env, returnTo: (organization_id: string) => string): BillingProvider {
  const key = (env as StripeSecrets).STRIPE_SECRET_KEY
  if (!key) throw new Error('BILLING_PROVIDER is stripe, which needs the secret STRIPE_SECRET_KEY.')

  async function post(path: string, idempotencyKey: string, form: Form): Promise<Record<string, unknown>> {
    const response = await fetch(`${env.STRIPE_API_BASE}${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/x-www-form-urlencoded',
        'stripe-version': VERSION,
        'idempotency-key': idempotencyKey,
      },
      body: new URLSearchParams(fields(form)).toString(),
      signal: AbortSignal.timeout(PATIENCE_MS),
    })
    const body = (await response.json().catch(() => null)) as { error?: { code?: string; type?: string } } | null
    // Its messages may quote what was sent; codes and types do not.
    if (!response.ok || body === null)
      throw new Error(
        `Stripe answered ${response.status} ${body?.error?.code ?? body?.error?.type ?? ''} to POST ${path.split('/', 3).join('/')}.`,
      )
    return body as Record<string, unknown>
  }

  const said = (body: Record<string, unknown>, member: string): string => {
    const value = body[member]
    if (typeof value !== 'string' || value === '') throw new Error(`Stripe’s answer has no ${member}.`)
    return value
  }

  return {
    async checkout({ key: idempotencyKey, organization_id, name, amount }) {
      const session = await post('/v1/checkout/sessions', idempotencyKey, {
        mode: 'payment',
        client_reference_id: organization_id,
        metadata: { organization_id },
        line_items: {
          0: { quantity: '1', price_data: { currency: 'mxn', unit_amount: centavosOf(amount).toString(), product_data: { name } } },
        },
        success_url: returnTo(organization_id),
        cancel_url: returnTo(organization_id),
      })
      return said(session, 'url')
    },
    collection: {
      async customer({ organization_id, name, contact_email }) {
        const form = { name, metadata: { organization_id }, ...(contact_email !== null && { email: contact_email }) }
        return said(await post('/v1/customers', `customer:${organization_id}`, form), 'id')
      },
      async invoice(customer, { invoice_id, organization_id, total, currency, period }) {
        const created = await post('/v1/invoices', `invoice:${invoice_id}`, {
          customer,
          currency: currency.toLowerCase(),
          collection_method: 'send_invoice',
          days_until_due: '1',
          auto_advance: 'true',
          pending_invoice_items_behavior: 'exclude',
          metadata: { invoice_id, organization_id },
        })
        const invoice = said(created, 'id')
        await post('/v1/invoiceitems', `item:${invoice_id}`, {
          customer,
          invoice,
          currency: currency.toLowerCase(),
          amount: centavosOf(total).toString(),
          description: period,
        })
        await post(`/v1/invoices/${invoice}/finalize`, `finalize:${invoice_id}`, { auto_advance: 'true' })
        return invoice
      },
    },
  }
}
