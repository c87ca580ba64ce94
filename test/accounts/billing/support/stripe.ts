import { createScheduledController } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, expect, vi } from 'vitest'
import worker from '../../../../src/index.ts'
import { losingMessages } from '../../../downloads/support/downloads.ts'
import { at } from '../../../support/clock.ts'
import { send } from '../../../support/wire.ts'
import { type Form, Refusal, StripeObjects } from './stripe-objects.ts'

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
  method: string
  path: string
  /** Empty of a GET. */
  key: string
  /** Of a GET its query. */
  form: Form
}

/**
 * before: it answers 500 and does nothing. after: it does what it is asked and answers 500. lost: it does it, and its answer gets lost.
 * unreached: it never hears of it.
 */
export type Break = 'before' | 'after' | 'lost' | 'unreached'

interface Result {
  status: number
  body: string
}

const refusal = (status: number, type: string): Result => ({
  status,
  body: JSON.stringify({ error: { type, message: `You sent ${KEY}` } }),
})

/**
 * Its published API as far as it is used, in place of the network: what there is, what was asked, and first results that an idempotency
 * key repeats until it is forgotten, those of 500 included.
 */
export function stripeStandIn() {
  const objects = new StripeObjects()
  const calls: Call[] = []
  const made: Call[] = []
  const known = new Map<string, { said: string; result: Result }>()
  let broken: (call: Call) => Break | null = () => null
  let answered: (call: Call) => Promise<void> | void = () => {}

  function done(call: Call): Result {
    try {
      const body = JSON.stringify(call.method === 'GET' ? objects.ask(call.path, call.form) : objects.do(call.path, call.form))
      if (call.method === 'POST') made.push(call)
      return { status: 200, body }
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      return refusal(error.status, error.type)
    }
  }

  function resultOf(call: Call): { result: Result; isLost?: boolean } {
    const said = JSON.stringify([call.path, call.form])
    const first = known.get(call.key)
    if (first) return { result: first.said === said ? first.result : refusal(400, 'idempotency_error') }
    const how = broken(call)
    if (how === 'unreached') return { result: refusal(0, ''), isLost: true }
    const actual = how === 'before' ? null : done(call)
    const result = actual === null || how === 'after' ? refusal(500, 'api_error') : actual
    if (call.key !== '') known.set(call.key, { said, result })
    return { result, isLost: how === 'lost' }
  }

  async function answer(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
    const request = new Request(input, init)
    const { method, headers } = request
    const { origin, pathname: path, search } = new URL(request.url)
    if (origin !== 'https://stripe.test') throw new Error(`The tests reach no network: ${request.url}`)
    const said = method === 'GET' ? search : new TextDecoder().decode(await request.arrayBuffer())
    const call = { method, path, key: headers.get('idempotency-key') ?? '', form: Object.fromEntries(new URLSearchParams(said)) }
    calls.push(call)
    const refused = refusalOf(call, headers)
    const { result, isLost } = refused ? { result: refused } : resultOf(call)
    await answered(call)
    if (isLost) throw new TypeError('Network connection lost.')
    return new Response(result.body, { status: result.status, headers: { 'content-type': 'application/json' } })
  }

  vi.spyOn(globalThis, 'fetch').mockImplementation(answer as typeof fetch)
  return {
    calls,
    /** What was done there, each time that it was. */
    made,
    customers: objects.customers,
    invoices: objects.invoices,
    breaks: (how: typeof broken) => {
      broken = how
    },
    /** Before an answer is sent. */
    answers: (then: typeof answered) => {
      answered = then
    },
    /** As it does with keys after 24 hours. */
    forgets: () => known.clear(),
  }
}

function refusalOf({ method, key }: Call, headers: Headers): Result | null {
  if (headers.get('authorization') !== `Bearer ${KEY}`) return refusal(401, 'invalid_request_error')
  if (method === 'GET') return key === '' ? null : refusal(400, 'key_without_effect')
  if (!headers.get('content-type')?.startsWith('application/x-www-form-urlencoded')) return refusal(415, 'invalid_request_error')
  return key === '' || key.length > 255 ? refusal(400, 'no_key') : null
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

export const WEBHOOK = '/v1/billing/stripe/webhook'

export const eventOf = (id: string, type: string, object: object) => JSON.stringify({ id, type, data: { object } })

/** A body sent to the webhook, signed unless another header is given. */
export async function notify(body: string, header?: string) {
  const headers = { 'content-type': 'application/json; charset=utf-8', 'stripe-signature': header ?? (await signed(body, Date.now())) }
  return send('POST', WEBHOOK, { headers, body, env: stripeEnv })
}

export const minute = () => worker.scheduled(createScheduledController({ cron: '* * * * *', scheduledTime: new Date() }), stripeEnv)

/** Before each test of a file a noon without any invoice. Answers what the test logs; nothing of what Stripe gets or quotes may be in it. */
export function atStripe(): string[] {
  const logged: string[] = []
  beforeEach(async () => {
    at('2027-03-10T18:00:00Z')
    losingMessages()
    logged.length = 0
    for (const method of ['log', 'error'] as const) vi.spyOn(console, method).mockImplementation((line) => void logged.push(String(line)))
    const tables = ['invoices', 'billing_customers', 'operator_orders', 'provider_events']
    await env.DB.batch(tables.map((table) => env.DB.prepare(`delete from ${table}`)))
  })
  afterEach(() => {
    expect(logged.join('\n')).not.toContain(KEY)
    expect(logged.join('\n')).not.toContain(WEBHOOK_SECRET)
    vi.restoreAllMocks()
    vi.useRealTimers()
  })
  return logged
}
