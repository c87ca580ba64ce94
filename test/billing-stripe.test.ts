import { createScheduledController } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { isSigned } from '../src/billing/stripe-signature.ts'
import worker from '../src/index.ts'
import { type Billed, billed } from './support/billing.ts'
import { basic } from './support/client.ts'
import { losingMessages } from './support/downloads.ts'
import { at, audited, created, draft } from './support/extractors.ts'
import { freshRfc } from './support/journeys.ts'
import { type Call, hmac, KEY, signed, stripeEnv, stripeStandIn, WEBHOOK_SECRET } from './support/stripe.ts'
import { json, send } from './support/wire.ts'

const NOW = '2027-03-10T18:00:00Z'
const WEBHOOK = '/v1/billing/stripe/webhook'
let logged: string[]

beforeEach(async () => {
  at(NOW)
  losingMessages()
  logged = []
  for (const method of ['log', 'error'] as const) vi.spyOn(console, method).mockImplementation((line) => void logged.push(String(line)))
  await env.DB.batch(['invoices', 'billing_customers', 'operator_orders'].map((table) => env.DB.prepare(`delete from ${table}`)))
})
afterEach(() => {
  // Neither what is sent to Stripe's network nor what it quotes comes into a log.
  expect(logged.join('\n')).not.toContain(KEY)
  expect(logged.join('\n')).not.toContain(WEBHOOK_SECRET)
  vi.restoreAllMocks()
  vi.useRealTimers()
})

const minute = () => worker.scheduled(createScheduledController({ cron: '* * * * *', scheduledTime: new Date() }), stripeEnv)
const eventOf = (id: string, type: string, object: object) => JSON.stringify({ id, type, data: { object } })

async function tell(body: string, header?: string) {
  const headers = { 'content-type': 'application/json; charset=utf-8', 'stripe-signature': header ?? (await signed(body, Date.now())) }
  return send('POST', WEBHOOK, { headers, body, env: stripeEnv })
}

describe('the signature', () => {
  const SECONDS = 1_803_000_000
  const now = new Date(SECONDS * 1_000)
  const bytes = (text: string) => new TextEncoder().encode(text)
  const BODY = '{"id":"evt_1","type":"invoice.paid","data":{"object":{"id":"in_1"}}}'
  /** printf '1803000000.%s' "$BODY" | openssl dgst -sha256 -hmac whsec_7GqP2vX0 */
  const RIGHT = '6f5100ad1afddc9a79e2d65d18dce5eec8584e3d2eb3e71225ba4ec472a963bd'

  it.each([
    [BODY, RIGHT],
    ['{"ñ":"é"}', 'f5c0bbd8cde5514f5b3bc5b48346e92787b4c021cb0787e597b522831eacb8de'],
  ])('is the one that openssl makes: %s', async (body, v1) => {
    expect(await isSigned(bytes(body), `t=${SECONDS},v1=${v1}`, WEBHOOK_SECRET, now)).toBe(true)
    expect(await hmac(WEBHOOK_SECRET, `${SECONDS}.${body}`)).toBe(v1)
  })

  const zeros = '0'.repeat(64)
  it.each([
    ['one of several', `t=${SECONDS},v1=${zeros},v1=${RIGHT}`, 0, true],
    ['spaces', `t=${SECONDS}, v1=${RIGHT}`, 0, true],
    ['five minutes old', `t=${SECONDS},v1=${RIGHT}`, 300_000, true],
    ['a millisecond older', `t=${SECONDS},v1=${RIGHT}`, 300_001, false],
    ['from further ahead', `t=${SECONDS},v1=${RIGHT}`, -300_001, false],
    ['another time', `t=${SECONDS + 1},v1=${RIGHT}`, 0, false],
    ['another scheme', `t=${SECONDS},v0=${RIGHT}`, 0, false],
    ['upper case', `t=${SECONDS},v1=${RIGHT.toUpperCase()}`, 0, false],
    ['half of it', `t=${SECONDS},v1=${RIGHT.slice(0, 32)}`, 0, false],
    ['no time', `v1=${RIGHT}`, 0, false],
    ['nothing', '', 0, false],
    ['none', undefined, 0, false],
    ['a long one', `t=${SECONDS},v1=${RIGHT},${'v1=0,'.repeat(1_000)}`, 0, false],
  ])('%s: %s', async (_, header, later, expected) => {
    expect(await isSigned(bytes(BODY), header, WEBHOOK_SECRET, new Date(now.getTime() + later))).toBe(expected)
  })

  it('is of this body, under this secret', async () => {
    const header = `t=${SECONDS},v1=${RIGHT}`
    expect(await isSigned(bytes(`${BODY} `), header, WEBHOOK_SECRET, now)).toBe(false)
    expect(await isSigned(bytes(BODY), header, `${WEBHOOK_SECRET}x`, now)).toBe(false)
  })
})

describe('the webhook', () => {
  it('refuses what is not signed, not JSON, not an event, or not for it', async () => {
    const body = eventOf('evt_1', 'invoice.paid', { id: 'in_1' })
    const refused = async (header?: string, text = body) => {
      const { status, body: told } = await tell(text, header)
      return [status, told.code]
    }
    expect(await refused('')).toEqual([400, 'billing.signature'])
    expect(await refused(await signed(body, Date.now() - 301_000))).toEqual([400, 'billing.signature'])
    expect(await refused(await signed(body, Date.now(), 'whsec_other'))).toEqual([400, 'billing.signature'])
    for (const text of ['{', '[]', '{"id":"evt_1"}', '"\\ud800"']) expect(await refused(undefined, text)).toEqual([400, 'billing.event'])
    const sent = { headers: { 'content-type': 'application/json', 'stripe-signature': await signed(body, Date.now()) }, body }
    expect((await send('POST', WEBHOOK, sent)).status).toBe(404)
    expect((await send('POST', WEBHOOK, { ...sent, headers: { 'content-type': 'text/plain' }, env: stripeEnv })).status).toBe(415)
  })

  it('takes events that it does not know, of invoices and organizations that it does not know', async () => {
    for (const [type, object] of [
      ['customer.created', { id: 'cus_1' }],
      ['invoice.paid', { id: 'in_unknown', metadata: { invoice_id: 'inv_unknown' } }],
      ['checkout.session.completed', { id: 'cs_unknown', payment_status: 'paid', metadata: { organization_id: 'org_unknown' } }],
      ['checkout.session.completed', { id: 'cs_other', payment_status: 'paid' }],
    ] as const)
      expect((await tell(eventOf(`evt_${type}`, type, object))).body).toEqual({ received: true })
  })

  async function owing() {
    const of = await billed('starter')
    await created(of, { ...draft, trigger_kind: 'connection_reactivated' })
    await of.connect(freshRfc())
    const invoice = await of.invoice('2027-03-01')
    await worker.scheduled(createScheduledController({ cron: '0 10 * * *', scheduledTime: new Date() }), env)
    expect(await of.states()).toEqual(['paused active payment'])
    return { ...of, owed: invoice.invoice_id }
  }

  it('pays an invoice once, however often, in whatever order and at once it is told', async () => {
    const of = await owing()
    await env.DB.prepare('update invoices set provider_ref = ? where invoice_id = ?').bind(`in_${of.owed}`, of.owed).run()
    const body = eventOf(`evt_${of.owed}`, 'invoice.paid', { id: `in_${of.owed}` })
    const again = eventOf(`evt_2_${of.owed}`, 'invoice.paid', { id: `in_${of.owed}` })
    for (const { status } of await Promise.all([body, body, again, body].map((one) => tell(one)))) expect(status).toBe(200)
    expect((await tell(body)).status).toBe(200)
    expect([await of.states(), await of.runs()]).toEqual([['active'], ['connection_reactivated']])
    expect(await audited(of, 'invoice.paid')).toEqual([expect.objectContaining({ actor: 'system:stripe' })])
  })

  it('pays an invoice that Stripe knows before its name there is kept here', async () => {
    const of = await owing()
    await tell(eventOf(`evt_${of.owed}`, 'invoice.paid', { id: 'in_early', metadata: { invoice_id: of.owed } }))
    expect((await of.invoices())[0]!.status).toBe('paid')
  })

  it('leaves the event to be told again when the commit fails', async () => {
    const of = await owing()
    const body = eventOf(`evt_${of.owed}`, 'invoice.paid', { id: 'in_x', metadata: { invoice_id: of.owed } })
    await env.DB.prepare("create trigger refuse before insert on audit_events begin select raise(abort, 'no events today'); end").run()
    const headers = { 'content-type': 'application/json', 'stripe-signature': await signed(body, Date.now()) }
    expect((await send('POST', WEBHOOK, { headers, body, env: stripeEnv, breaks: true })).status).toBe(500)
    await env.DB.prepare('drop trigger refuse').run()
    expect((await of.invoices())[0]!.status).toBe('open')
    expect((await tell(body)).status).toBe(200)
    expect((await of.invoices())[0]!.status).toBe('paid')
  })
})

describe('the checkout of a seat', () => {
  const resume = (of: Billed, id: string) =>
    send('PATCH', `/v1/billing/rfcs/${id}`, { ...json({ active: true }), authorization: basic(of.owner), env: stripeEnv })

  async function full() {
    const of = await billed('starter')
    const { fiscal_entity_id: id } = (await of.connect(freshRfc())).body
    await of.active(id, false)
    await of.ask('POST', '/v1/test-helpers/organization', { rfc_allowance: 0 })
    return { ...of, rfc: id }
  }
  const paid = (of: Billed, session: string, event: string, type = 'checkout.session.completed', payment_status = 'paid') =>
    tell(eventOf(event, type, { id: session, payment_status, metadata: { organization_id: of.id } }))

  it('is opened once a day for what is lacking, and paid it is a seat, once', async () => {
    const of = await full()
    const stripe = stripeStandIn()
    const replies = [await resume(of, of.rfc), await resume(of, of.rfc)]
    expect(replies.map(({ status, body }) => [status, body.code, body.checkout_url])).toEqual(
      Array(2).fill([402, 'billing.seats', 'https://checkout.stripe.test/cs_1']),
    )
    expect([stripe.calls.length, stripe.made]).toEqual([
      2,
      [
        {
          path: '/v1/checkout/sessions',
          key: `seat:${of.id}:starter:0:2027-03-10`,
          form: {
            mode: 'payment',
            client_reference_id: of.id,
            'metadata[organization_id]': of.id,
            'line_items[0][quantity]': '1',
            'line_items[0][price_data][currency]': 'mxn',
            'line_items[0][price_data][unit_amount]': '11484',
            'line_items[0][price_data][product_data][name]': 'Starter, 1 more RFC',
            success_url: expect.stringContaining(of.id),
            cancel_url: expect.stringContaining(of.id),
          },
        },
      ],
    ])
    const session = `cs_of_${of.id}`
    await paid(of, session, `evt_0_${of.id}`, 'checkout.session.completed', 'unpaid')
    expect((await of.billing()).seats.allowance).toBe(0)
    await Promise.all([
      paid(of, session, `evt_1_${of.id}`, 'checkout.session.async_payment_succeeded'),
      paid(of, session, `evt_1_${of.id}`, 'checkout.session.async_payment_succeeded'),
      paid(of, session, `evt_2_${of.id}`),
    ])
    expect((await of.billing()).seats.allowance).toBe(1)
    expect((await resume(of, of.rfc)).status).toBe(200)
    expect(await audited(of, 'billing.checkout_paid')).toHaveLength(1)
    await paid(of, `${session}_more`, `evt_3_${of.id}`)
    expect((await of.billing()).seats.allowance).toBe(2)
  })

  it('is the smallest plan for whoever is on the trial, which brings back what its end paused', async () => {
    const of = await billed('diagnostic')
    const { fiscal_entity_id: id } = (await of.connect(freshRfc())).body
    at('2027-03-20T18:00:00Z')
    await worker.scheduled(createScheduledController({ cron: '0 10 * * *', scheduledTime: new Date() }), env)
    const stripe = stripeStandIn()
    expect((await resume(of, id)).body).toMatchObject({ code: 'billing.seats', checkout_url: expect.stringMatching(/^https:\/\/checkout/) })
    expect(stripe.made[0]!.form).toMatchObject({ 'line_items[0][price_data][unit_amount]': '69368' })
    await paid(of, `cs_${of.id}`, `evt_${of.id}`)
    expect([await of.states(), (await of.billing()).plan]).toEqual([['active'], 'starter'])
  })

  it.each([
    [2, 5],
    [9, 9],
  ])('that is a plan has all its seats, also for a trial with %i of its own: %i', async (own, seats) => {
    const of = await billed('diagnostic')
    await of.ask('POST', '/v1/test-helpers/organization', { rfc_allowance: own })
    await paid(of, `cs_${of.id}`, `evt_${of.id}`)
    expect(await of.billing()).toMatchObject({ plan: 'starter', seats: { allowance: seats } })
  })

  it('that cannot be opened refuses all the same', async () => {
    const of = await full()
    const stripe = stripeStandIn()
    stripe.breaks(() => true)
    const { status, body } = await resume(of, of.rfc)
    expect([status, body.code, body.checkout_url]).toEqual([402, 'billing.seats', undefined])
    vi.spyOn(globalThis, 'fetch').mockRejectedValue(new TypeError('Network connection lost.'))
    expect((await resume(of, of.rfc)).status).toBe(402)
    expect(logged.filter((line) => line.includes('No checkout'))).toHaveLength(2)
  })
})

describe('open invoices', () => {
  const steps = ['/v1/customers', '/v1/invoices', '/v1/invoiceitems', /finalize$/] as const
  const isAt = ({ path }: Call, step: (typeof steps)[number]) => (typeof step === 'string' ? path === step : step.test(path))

  it('are told to Stripe within a minute, one customer for each organization, and never again', async () => {
    const of = await billed()
    await of.ask('PATCH', '/v1/organization', { contact_email: 'pagos@example.com' })
    const first = await of.invoice()
    const stripe = stripeStandIn()
    await minute()
    const made = stripe.made.map(({ path, key, form }) => ({ path, key, form }))
    const invoice = { customer: 'cus_1', currency: 'mxn' }
    expect(made).toEqual([
      { path: '/v1/customers', key: `customer:${of.id}`, form: expect.objectContaining({ email: 'pagos@example.com' }) },
      {
        path: '/v1/invoices',
        key: `invoice:${first.invoice_id}`,
        form: expect.objectContaining({ ...invoice, collection_method: 'send_invoice', 'metadata[invoice_id]': first.invoice_id }),
      },
      {
        path: '/v1/invoiceitems',
        key: `item:${first.invoice_id}`,
        form: { ...invoice, invoice: 'in_2', amount: '116000', description: '2027-03' },
      },
      { path: '/v1/invoices/in_2/finalize', key: `finalize:${first.invoice_id}`, form: { auto_advance: 'true' } },
    ])
    await minute()
    expect(stripe.calls).toHaveLength(4)
    await of.invoice()
    await minute()
    expect(stripe.made.filter(({ path }) => path === '/v1/customers')).toHaveLength(1)
    await tell(eventOf(`evt_${of.id}`, 'invoice.paid', { id: 'in_2' }))
    expect((await of.invoices()).map(({ status }) => status)).toEqual(['open', 'paid'])
  })

  it.each(steps.flatMap((step) => (['before', 'after'] as const).map((when) => [when, step] as const)))(
    'that break %s %s are there once when it works again, and do not keep others from theirs',
    async (when, step) => {
      const [of, other] = [await billed(), await billed()]
      await of.invoice('2027-03-09')
      await other.invoice('2027-03-10')
      const stripe = stripeStandIn()
      let first = true
      stripe.breaks((call, now) => {
        const breaks = first && now === when && isAt(call, step)
        if (breaks) first = false
        return breaks
      })
      await minute().catch(() => {})
      expect(first).toBe(false)
      // One is told, and the other waits for ten minutes.
      const names = async () => (await env.DB.prepare('select provider_ref from invoices').raw<(string | null)[]>()).flat()
      expect((await names()).filter(Boolean)).toHaveLength(1)
      at('2027-03-10T18:09:59Z')
      await minute()
      expect((await names()).filter(Boolean)).toHaveLength(1)
      at('2027-03-10T18:10:00Z')
      await minute()
      expect(steps.map((one) => stripe.made.filter((call) => isAt(call, one)).length)).toEqual([2, 2, 2, 2])
      expect(new Set(await names()).size).toBe(2)
      await minute()
      expect(stripe.made).toHaveLength(8)
    },
  )

  it('that Stripe refuses for good hold no other up, however many', async () => {
    const refused = await billed()
    await refused.ask('PATCH', '/v1/organization', { contact_email: 'wrong@example.com' })
    for (let n = 0; n < 25; n++) await refused.invoice('2027-03-01')
    const of = await billed()
    await of.invoice()
    const stripe = stripeStandIn()
    stripe.breaks(({ form }) => form['email'] === 'wrong@example.com')
    await minute().catch(() => {})
    at('2027-03-10T18:01:00Z')
    await minute().catch(() => {})
    const { results } = await env.DB.prepare('select organization_id from invoices where provider_ref is not null').all()
    expect(results).toEqual([{ organization_id: of.id }])
    const { length } = stripe.calls
    at('2027-03-10T18:02:00Z')
    await minute()
    expect(stripe.calls).toHaveLength(length)
  })

  it('are not paid by an operator’s word: Stripe would go on asking for the money', async () => {
    const of = await billed()
    const { invoice_id } = await of.invoice()
    stripeStandIn()
    await env.DB.prepare(
      "insert into operator_orders (order_id, kind, organization_id, invoice_id, created_at) values ('o1', 'pay', ?1, ?2, 0)",
    )
      .bind(of.id, invoice_id)
      .run()
    await minute()
    expect((await of.invoices())[0]!.status).toBe('open')
    const refused = await env.DB.prepare("select refused from operator_orders where order_id = 'o1'").first<string>('refused')
    expect(refused).toMatch(/^The payment provider collects/)
  })

  it('stay with the operator where nobody else collects', async () => {
    const of = await billed()
    await of.invoice()
    const stripe = stripeStandIn()
    await worker.scheduled(createScheduledController({ cron: '* * * * *', scheduledTime: new Date() }), env)
    expect(stripe.calls).toEqual([])
  })
})

it('a provider that is not configured says what it needs', async () => {
  const { STRIPE_SECRET_KEY: _, ...without } = stripeEnv as unknown as Record<string, unknown>
  for (const broken of [without, { ...stripeEnv, BILLING_PROVIDER: 'cash' }]) {
    const cron = createScheduledController({ cron: '* * * * *', scheduledTime: new Date() })
    await expect(worker.scheduled(cron, broken as unknown as Env)).rejects.toThrow()
  }
  expect(logged.join('\n')).toMatch(/needs the secret STRIPE_SECRET_KEY/)
  expect(logged.join('\n')).toMatch(/must be manual or stripe/)
})
