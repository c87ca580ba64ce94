import { env } from 'cloudflare:workers'
import { vi } from 'vitest'

export const KEY = 'sk_test_canary_4eC39HqLyjW'
export const WEBHOOK_SECRET = 'whsec_7GqP2vX0'

export const stripeEnv = {
  ...env,
  BILLING_PROVIDER: 'stripe',
  STRIPE_API_BASE: 'https://stripe.test',
  STRIPE_SECRET_KEY: KEY,
  STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET,
} as unknown as Env

export interface Call {
  path: string
  key: string
  form: Record<string, string>
}

/** Its published API as far as it is used, in place of the network: what was asked, and answers that an idempotency key repeats. */
export function stripeStandIn() {
  const calls: Call[] = []
  const made: Call[] = []
  const known = new Map<string, { said: string; answer: unknown }>()
  let down: (call: Call, when: 'before' | 'after') => boolean = () => false
  const ids: Record<string, string> = { customers: 'cus', invoices: 'in', invoiceitems: 'ii', sessions: 'cs' }
  const refuse = (status: number, type: string) => Response.json({ error: { type, message: `You sent ${KEY}` } }, { status })

  async function answer(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
    const request = new Request(input, init)
    const { origin, pathname } = new URL(request.url)
    if (origin !== 'https://stripe.test' || request.method !== 'POST') throw new Error(`The tests reach no network: ${request.url}`)
    const said = new TextDecoder().decode(await request.arrayBuffer())
    const call = { path: pathname, key: request.headers.get('idempotency-key') ?? '', form: Object.fromEntries(new URLSearchParams(said)) }
    calls.push(call)
    if (request.headers.get('authorization') !== `Bearer ${KEY}`) return refuse(401, 'invalid_request_error')
    if (!request.headers.get('content-type')?.startsWith('application/x-www-form-urlencoded')) return refuse(415, 'invalid_request_error')
    if (call.key === '') return refuse(400, 'no_key')
    if (down(call, 'before')) return refuse(503, 'api_error')
    const repeated = known.get(call.key)
    if (repeated && repeated.said !== pathname + said) return refuse(400, 'idempotency_error')
    const noun = pathname.split('/').at(-1)!
    const id = `${ids[noun] ?? 'in'}_${known.size + 1}`
    const fresh = noun === 'sessions' ? { id, url: `https://checkout.stripe.test/${id}` } : { id }
    if (!repeated) {
      known.set(call.key, { said: pathname + said, answer: fresh })
      made.push(call)
    }
    if (down(call, 'after')) return refuse(502, 'api_error')
    return Response.json(repeated?.answer ?? fresh)
  }

  vi.spyOn(globalThis, 'fetch').mockImplementation(answer as typeof fetch)
  return {
    calls,
    /** What exists there: each once, however often it was asked for. */
    made,
    breaks: (when: typeof down) => {
      down = when
    },
  }
}

const utf8 = new TextEncoder()

export async function hmac(secret: string, text: string): Promise<string> {
  const key = await crypto.subtle.importKey('raw', utf8.encode(secret), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
  return new Uint8Array(await crypto.subtle.sign('HMAC', key, utf8.encode(text))).toHex()
}

/** The header over a body, as Stripe makes it. */
export async function signed(body: string, at: number, secret = WEBHOOK_SECRET): Promise<string> {
  const seconds = Math.floor(at / 1_000)
  return `t=${seconds},v1=${await hmac(secret, `${seconds}.${body}`)},v0=${'0'.repeat(64)}`
}
