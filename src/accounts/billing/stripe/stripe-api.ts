import type { Settings } from '../../../platform/settings.ts'

const VERSION = '2024-06-20'
const TIMEOUT_MS = 10_000

type Form = { [name: string]: Form | string }

/** Writes nested names in brackets, as Stripe's API expects them. */
const fields = (form: Form, within = ''): [string, string][] =>
  Object.entries(form).flatMap(([name, value]) => {
    const path = within === '' ? name : `${within}[${name}]`
    return typeof value === 'string' ? [[path, value] as [string, string]] : fields(value, path)
  })

export interface StripeApi {
  get(path: string, query?: Form): Promise<unknown>
  /** Repeats under the same key get the first answer again for 24 hours, also when it was a failure. */
  post(path: string, idempotencyKey: string, form: Form): Promise<unknown>
}

/** A client of Stripe's HTTP API. Throws when the answer is not 2xx JSON. */
export function stripeApi({ stripeApiBase, stripeSecretKey }: Settings): StripeApi {
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
    get: (path, query) => request(path, query ? `?${encoded(query)}` : '', { method: 'GET', headers: {} }),
    post: (path, idempotencyKey, form) =>
      request(path, '', {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded', 'idempotency-key': idempotencyKey },
        body: encoded(form),
      }),
  }
}
