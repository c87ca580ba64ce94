import type { Settings } from '../../platform/settings.ts'

const VERSION = '2024-06-20'
const PATIENCE_MS = 10_000

type Form = { [name: string]: Form | string }

/** Nested names in brackets, as its API takes them. */
const fields = (form: Form, within = ''): [string, string][] =>
  Object.entries(form).flatMap(([name, value]) => {
    const path = within === '' ? name : `${within}[${name}]`
    return typeof value === 'string' ? [[path, value] as [string, string]] : fields(value, path)
  })

export interface StripeApi {
  get(path: string, query?: Form): Promise<unknown>
  /** Under an idempotency key, which for a day answers what it answered at first, a failure too. */
  post(path: string, idempotencyKey: string, form: Form): Promise<unknown>
}

/** Stripe's HTTP API. */
export function stripeApi({ stripeApiBase, stripeSecretKey }: Settings): StripeApi {
  async function ask(path: string, query: string, { headers, ...init }: RequestInit & { method: string; headers: Record<string, string> }) {
    const response = await fetch(`${stripeApiBase}${path}${query}`, {
      ...init,
      headers: { authorization: `Bearer ${stripeSecretKey}`, 'stripe-version': VERSION, ...headers },
      signal: AbortSignal.timeout(PATIENCE_MS),
    })
    const body = (await response.json().catch(() => null)) as { error?: { code?: string; type?: string } } | null
    // Its messages may quote what was sent; codes and types do not.
    if (!response.ok || body === null) {
      const why = body?.error?.code ?? body?.error?.type ?? ''
      throw new Error(`Stripe answered ${response.status} ${why} to ${init.method} ${path.split('/', 3).join('/')}.`)
    }
    return body
  }

  const encoded = (form: Form): string => new URLSearchParams(fields(form)).toString()

  return {
    get: (path, query) => ask(path, query ? `?${encoded(query)}` : '', { method: 'GET', headers: {} }),
    post: (path, idempotencyKey, form) =>
      ask(path, '', {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded', 'idempotency-key': idempotencyKey },
        body: encoded(form),
      }),
  }
}
