import * as z from 'zod'
import type { Settings } from '../../../platform/settings.ts'
import type { BillingProvider, InvoiceCollector } from '../provider/port.ts'
import { centavosOf } from '../subscription/prices.ts'

const VERSION = '2024-06-20'
const TIMEOUT_MS = 10_000

type Form = { [name: string]: Form | string }

/** Writes nested names in brackets, as Stripe's API expects them. */
const fields = (form: Form, within = ''): [string, string][] =>
  Object.entries(form).flatMap(([name, value]) => {
    const path = within === '' ? name : `${within}[${name}]`
    return typeof value === 'string' ? [[path, value] as [string, string]] : fields(value, path)
  })

type StripeApi = ReturnType<typeof stripeApi>

/** A client of Stripe's HTTP API. Throws when the answer is not 2xx JSON. */
function stripeApi({ stripeApiBase, stripeSecretKey }: Settings) {
  async function request(
    path: string,
    query: string,
    { headers, ...init }: RequestInit & { method: string; headers: Record<string, string> },
  ) {
    const response = await fetch(`${stripeApiBase}${path}${query}`, {
      ...init,
      headers: { authorization: `Bearer ${stripeSecretKey}`, 'stripe-version': VERSION, ...headers },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    const body = (await response.json().catch(() => null)) as { error?: { code?: string; type?: string } } | null
    // Stripe's messages may quote secrets and customer data; codes and types do not.
    if (!response.ok || body === null) {
      const code = body?.error?.code ?? body?.error?.type ?? ''
      throw new Error(`Stripe answered ${response.status} ${code} to ${init.method} ${path.split('/', 3).join('/')}.`)
    }
    return body
  }

  const encoded = (form: Form): string => new URLSearchParams(fields(form)).toString()

  return {
    get: (path: string, query?: Form): Promise<unknown> => request(path, query ? `?${encoded(query)}` : '', { method: 'GET', headers: {} }),
    /** Repeats under the same key get the first answer again for 24 hours, also when it was a failure. */
    post: (path: string, idempotencyKey: string, form: Form): Promise<unknown> =>
      request(path, '', {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded', 'idempotency-key': idempotencyKey },
        body: encoded(form),
      }),
  }
}

const Session = z.object({ url: z.string().min(1) })
const StripeObject = z.object({ id: z.string().min(1), metadata: z.record(z.string(), z.string()).nullish() })
const Page = z.object({ data: z.array(StripeObject), has_more: z.boolean() })
const StripeInvoice = z.object({ status: z.string().nullable(), total: z.number(), invoice_pdf: z.string().nullish() })
type StripeInvoice = z.infer<typeof StripeInvoice>

/** Stripe as the payment provider. `customerUrl` gives the page to which a customer returns from a checkout. */
export function stripe(settings: Settings, customerUrl: (organization_id: string) => string): BillingProvider {
  const api = stripeApi(settings)
  return {
    async checkout({ key, organization_id, offer, name, amount }) {
      const session = await api.post('/v1/checkout/sessions', key, {
        mode: 'payment',
        client_reference_id: organization_id,
        metadata: { organization_id, sold: offer.item, plan: offer.plan },
        line_items: {
          0: { quantity: '1', price_data: { currency: 'mxn', unit_amount: centavosOf(amount).toString(), product_data: { name } } },
        },
        success_url: customerUrl(organization_id),
        cancel_url: customerUrl(organization_id),
      })
      return Session.parse(session).url
    },
    collector: collectorOf(api),
  }
}

/** Returns the id of the newest object with this metadata value. Reads the list, because Stripe's search lags behind what was created. */
async function findByMetadata(
  api: StripeApi,
  path: string,
  filter: Record<string, string>,
  name: string,
  value: string,
): Promise<string | undefined> {
  for (let page = {}; ; ) {
    const { data, has_more } = Page.parse(await api.get(path, { ...filter, limit: '100', ...page }))
    const found = data.find(({ metadata }) => metadata?.[name] === value)
    if (found || !has_more) return found?.id
    page = { starting_after: data[data.length - 1]!.id }
  }
}

const seconds = (date: Date): string => Math.floor(date.getTime() / 1_000).toString()

const collectorOf = (api: StripeApi): InvoiceCollector => ({
  async upsertCustomer({ organization_id, name, contact_email, created_at, customer_ref }, attempt) {
    const form = { name, ...(contact_email !== null && { email: contact_email }) }
    const since = { 'created[gte]': seconds(created_at) }
    const known = customer_ref ?? (await findByMetadata(api, '/v1/customers', since, 'organization_id', organization_id))
    if (known === undefined)
      return StripeObject.parse(await api.post('/v1/customers', `customer:${attempt}`, { ...form, metadata: { organization_id } })).id
    await api.post(`/v1/customers/${known}`, `update:${attempt}`, form)
    return known
  },

  async createDraft(customer, { invoice_id, organization_id, currency }, attempt) {
    const known = await findByMetadata(api, '/v1/invoices', { customer }, 'invoice_id', invoice_id)
    if (known !== undefined) return known
    const created = await api.post('/v1/invoices', `invoice:${attempt}`, {
      customer,
      currency: currency.toLowerCase(),
      collection_method: 'send_invoice',
      days_until_due: '1',
      // Otherwise Stripe finalizes the draft within the hour, even without its item.
      auto_advance: 'false',
      pending_invoice_items_behavior: 'exclude',
      metadata: { invoice_id, organization_id },
    })
    return StripeObject.parse(created).id
  },

  async finalize(customer, invoice, { total, currency, period }, attempt) {
    const path = `/v1/invoices/${invoice}`
    const draft = StripeInvoice.parse(await api.get(path))
    if (draft.status !== 'draft') return pdfOf(draft)
    const amount = centavosOf(total).toString()
    if (String(draft.total) !== amount) {
      if (draft.total !== 0) throw new Error('The total of a draft at Stripe differs from the total of its invoice.')
      const item = { customer, invoice, currency: currency.toLowerCase(), amount, description: period }
      await api.post('/v1/invoiceitems', `item:${attempt}`, item)
    }
    return pdfOf(StripeInvoice.parse(await api.post(`${path}/finalize`, `finalize:${attempt}`, { auto_advance: 'true' })))
  },
})

function pdfOf({ status, invoice_pdf }: StripeInvoice): string | null {
  if (status !== 'open' && status !== 'paid') throw new Error(`An invoice that is open here has the status ${status} at Stripe.`)
  return invoice_pdf ?? null
}
