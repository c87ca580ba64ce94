import { createScheduledController } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { describe, expect, it, vi } from 'vitest'
import worker from '../../../src/index.ts'
import { at } from '../../support/clock.ts'
import { type Billed, billed } from './support/billing.ts'
import { atStripe, type Break, type Call, eventOf, minute, notify, stripeStandIn } from './support/stripe.ts'

atStripe()

/** What an invoice’s telling asks of Stripe, in order. */
const STEPS = {
  'its search for the customer': /^GET \/v1\/customers$/,
  'making the customer': /^POST \/v1\/customers$/,
  'its search for the invoice': /^GET \/v1\/invoices$/,
  'making the invoice': /^POST \/v1\/invoices$/,
  'its look at the invoice': /^GET \/v1\/invoices\/in_/,
  'adding the item': /^POST \/v1\/invoiceitems$/,
  'finalizing it': /^POST \/v1\/invoices\/\w+\/finalize$/,
}
type Step = keyof typeof STEPS
const EVERY = Object.keys(STEPS) as Step[]
const isAt = ({ method, path }: Call, step: Step) => STEPS[step].test(`${method} ${path}`)

type Stripe = ReturnType<typeof stripeStandIn>

/** For each of these organizations one customer, and one invoice for it, with one item of the right total, finalized once. */
function expectNotified({ customers, invoices }: Stripe, ...those: Billed[]): void {
  const ids = those.map(({ id }) => id).sort()
  expect(customers.map(({ metadata }) => metadata['organization_id']).sort()).toEqual(ids)
  expect(invoices.map(({ metadata }) => metadata['organization_id']).sort()).toEqual(ids)
  const ofTheirs = customers.map(({ id, metadata }) => [id, metadata['organization_id']].join()).sort()
  expect(invoices.map(({ customer, metadata }) => [customer, metadata['organization_id']].join()).sort()).toEqual(ofTheirs)
  const right = { status: 'open', total: 116_000, currency: 'mxn', items: 1, finalized: 1, auto_advance: true }
  expect(invoices).toEqual(invoices.map(() => expect.objectContaining(right)))
}

/** Breaks a step once. Answers whether it has. */
function breakOnce(stripe: Stripe, step: Step, how: Break): () => boolean {
  let isBroken = false
  stripe.breaks((call) => {
    if (isBroken || !isAt(call, step)) return null
    isBroken = true
    return how
  })
  return () => isBroken
}

/** How many invoices Stripe is still to be told of. */
const unnotified = async () => env.DB.prepare('select count(*) as n from invoices where send_at is not null').first<number>('n')

const WRITES = { invoices: 'update', billing_customers: 'insert' }

/** With the answer to a step everything ends: no commit of ours happens any more, no call gets out. Answers how to begin again. */
function dieAfter(stripe: Stripe, step: Step): () => Promise<void> {
  let isDead = false
  stripe.breaks(() => (isDead ? 'unreached' : null))
  stripe.answers(async (call) => {
    if (isDead || !isAt(call, step)) return
    isDead = true
    const triggers = Object.entries(WRITES).map(
      ([table, write]) => `create trigger dead_${table} before ${write} on ${table} begin select raise(abort, 'dead'); end`,
    )
    await env.DB.batch(triggers.map((sql) => env.DB.prepare(sql)))
  })
  return async () => {
    expect(isDead).toBe(true)
    isDead = false
    stripe.answers(() => {})
    await env.DB.batch(Object.keys(WRITES).map((table) => env.DB.prepare(`drop trigger dead_${table}`)))
  }
}

describe('open invoices', () => {
  it('are told to Stripe within a minute, one customer for each organization, and never again', async () => {
    const of = await billed()
    await of.ask('PATCH', '/v1/organization', { contact_email: 'pagos@example.com' })
    const first = await of.invoice()
    const stripe = stripeStandIn()
    await minute()
    const invoice = { customer: 'cus_1', currency: 'mxn' }
    const attempt = `${first.invoice_id}:${Date.parse(first.issued_at) / 1_000}`
    const email = 'pagos@example.com'
    expect(stripe.made).toEqual([
      {
        ...{ method: 'POST', path: '/v1/customers', key: `customer:${attempt}` },
        form: expect.objectContaining({ email, 'metadata[organization_id]': of.id }),
      },
      {
        ...{ method: 'POST', path: '/v1/invoices', key: `invoice:${attempt}` },
        form: {
          ...invoice,
          collection_method: 'send_invoice',
          days_until_due: '1',
          auto_advance: 'false',
          pending_invoice_items_behavior: 'exclude',
          'metadata[invoice_id]': first.invoice_id,
          'metadata[organization_id]': of.id,
        },
      },
      {
        ...{ method: 'POST', path: '/v1/invoiceitems', key: `item:${attempt}` },
        form: { ...invoice, invoice: 'in_2', amount: '116000', description: '2027-03' },
      },
      { method: 'POST', path: '/v1/invoices/in_2/finalize', key: `finalize:${attempt}`, form: { auto_advance: 'true' } },
    ])
    expectNotified(stripe, of)
    await minute()
    expect(stripe.calls.map(({ method, path }) => `${method} ${path}`)).toEqual(EVERY.map(() => expect.any(String)))
    await of.invoice()
    await minute()
    expect([stripe.customers.length, stripe.invoices.length]).toEqual([1, 2])
    await notify(eventOf(`evt_${of.id}`, 'invoice.paid', { id: 'in_2', currency: 'mxn', total: 116_000 }))
    expect((await of.invoices()).map(({ status }) => status)).toEqual(['open', 'paid'])
  })

  it('show where Stripe has them as a PDF', async () => {
    const of = await billed()
    await of.invoice()
    expect((await of.invoices())[0]!.pdf_url).toBeNull()
    stripeStandIn()
    await minute()
    expect((await of.invoices())[0]!.pdf_url).toBe('https://pay.stripe.test/in_2/pdf')
  })

  it('go to the address that the organization has by then', async () => {
    const of = await billed()
    const stripe = stripeStandIn()
    for (const contact_email of ['uno@example.com', 'dos@example.com']) {
      await of.ask('PATCH', '/v1/organization', { contact_email, name: contact_email.slice(0, 3) })
      await of.invoice()
      await minute()
      expect(stripe.customers).toEqual([expect.objectContaining({ email: contact_email, name: contact_email.slice(0, 3) })])
    }
    expect(stripe.invoices).toHaveLength(2)
  })

  const breaks = EVERY.flatMap((step) => (['before', 'after', 'lost'] as const).map((how) => [how, step] as const))

  it.each(breaks)('that break (%s) at %s are there once when it works again, and do not keep others from theirs', async (how, step) => {
    const [of, other] = [await billed(), await billed()]
    await of.invoice('2027-03-09')
    await other.invoice('2027-03-10')
    const stripe = stripeStandIn()
    const isBroken = breakOnce(stripe, step, how)
    await expect(minute()).rejects.toThrow()
    expect(isBroken()).toBe(true)
    // One is told, and the other waits for ten minutes.
    expect(await unnotified()).toBe(1)
    const { length } = stripe.calls
    at('2027-03-10T18:09:59Z')
    await minute()
    expect(stripe.calls).toHaveLength(length)
    at('2027-03-10T18:10:00Z')
    await minute()
    expectNotified(stripe, of, other)
    expect(await unnotified()).toBe(0)
    expect((await of.invoices())[0]!.pdf_url).not.toBeNull()
    await minute()
    expectNotified(stripe, of, other)
  })

  const deaths = EVERY.flatMap((step) => (['a minute', '25 hours'] as const).map((later) => [step, later] as const))

  it.each(deaths)('that die with %s are there once when it is repeated %s later', async (step, later) => {
    const of = await billed()
    await of.invoice()
    const stripe = stripeStandIn()
    const revive = dieAfter(stripe, step)
    await expect(minute()).rejects.toThrow()
    expect(await unnotified()).toBe(1)
    await revive()
    at(later === 'a minute' ? '2027-03-10T18:01:00Z' : '2027-03-11T19:00:00Z')
    if (later !== 'a minute') stripe.forgets()
    await minute()
    expectNotified(stripe, of)
    expect(await unnotified()).toBe(0)
  })

  it.each(EVERY)('that die with %s, which moreover failed though it was done, are there once', async (step) => {
    const of = await billed()
    await of.invoice()
    const stripe = stripeStandIn()
    const revive = dieAfter(stripe, step)
    let isDone = false
    stripe.breaks((call) => {
      if (isDone) return 'unreached'
      isDone = isAt(call, step)
      return isDone ? 'after' : null
    })
    await expect(minute()).rejects.toThrow()
    await revive()
    stripe.breaks(() => null)
    // First what failed is repeated under its keys, then it is attempted anew.
    for (const time of ['18:01:00', '18:11:00']) {
      at(`2027-03-10T${time}Z`)
      await minute().catch(() => {})
    }
    expectNotified(stripe, of)
    expect(await unnotified()).toBe(0)
  })

  it('are found among many', async () => {
    const of = await billed()
    for (let n = 0; n < 5; n++) await of.invoice('2027-03-01')
    const stripe = stripeStandIn()
    await minute()
    const { results } = await env.DB.prepare('select invoice_id, provider_ref from invoices order by invoice_id').all()
    await env.DB.prepare('update invoices set provider_ref = null, send_at = issued_at').run()
    stripe.forgets()
    await minute()
    expect((await env.DB.prepare('select invoice_id, provider_ref from invoices order by invoice_id').all()).results).toEqual(results)
    expect(stripe.invoices).toEqual(Array(5).fill(expect.objectContaining({ items: 1, finalized: 1 })))
  })

  it('that are void there, gone, or of another total are said and attempted again, and nothing else is asked for', async () => {
    const of = await billed()
    await of.invoice()
    const stripe = stripeStandIn()
    breakOnce(stripe, 'finalizing it', 'before')
    await minute().catch(() => {})
    const there = stripe.invoices[0]!
    const spoil = [() => Object.assign(there, { total: 1 }), () => Object.assign(there, { status: 'void' }), () => stripe.invoices.pop()]
    const { length } = stripe.made
    for (const [n, spoilt] of spoil.entries()) {
      spoilt()
      at(`2027-03-10T18:${n + 1}0:00Z`)
      await expect(minute()).rejects.toThrow()
      expect(await unnotified()).toBe(1)
    }
    expect(stripe.made.slice(length).map(({ path }) => path)).toEqual(Array(3).fill('/v1/customers/cus_1'))
  })

  it('told by two ticks at once are there once', async () => {
    const of = await billed()
    for (let n = 0; n < 3; n++) await of.invoice('2027-03-01')
    const stripe = stripeStandIn()
    await Promise.all([minute(), minute()])
    expect([stripe.customers.length, stripe.invoices.length]).toEqual([1, 3])
    expect(stripe.invoices).toEqual(Array(3).fill(expect.objectContaining({ items: 1, finalized: 1 })))
  })

  it('that are put off while a slow tick has others before them are left to the attempt that follows', async () => {
    const [of, other] = [await billed(), await billed()]
    await other.invoice('2027-03-01')
    await of.invoice('2027-03-02')
    const stripe = stripeStandIn()
    const later = Date.parse('2027-03-10T18:10:00Z')
    stripe.answers(async (call) => {
      if (isAt(call, 'finalizing it'))
        await env.DB.prepare('update invoices set send_at = ? where organization_id = ?').bind(later, of.id).run()
    })
    await minute()
    expectNotified(stripe, other)
  })

  it('that another tick has told meanwhile are told, whatever became of this one', async () => {
    const of = await billed()
    await of.invoice()
    const stripe = stripeStandIn()
    breakOnce(stripe, 'finalizing it', 'before')
    stripe.answers(async (call) => {
      if (isAt(call, 'finalizing it')) await env.DB.prepare('update invoices set send_at = null').run()
    })
    await expect(minute()).rejects.toThrow()
    expect(await unnotified()).toBe(0)
  })

  it('that Stripe refuses for good hold no other up, however many', async () => {
    const refused = await billed()
    await refused.ask('PATCH', '/v1/organization', { contact_email: 'wrong@example.com' })
    for (let n = 0; n < 25; n++) await refused.invoice('2027-03-01')
    const of = await billed()
    await of.invoice()
    const stripe = stripeStandIn()
    stripe.breaks(({ form }) => (form['email'] === 'wrong@example.com' ? 'before' : null))
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

  it('are looked for in the index of those that are to be told', async () => {
    const plans: string[] = []
    const proto = Object.getPrototypeOf(env.DB) as D1Database
    const prepare = proto.prepare
    vi.spyOn(proto, 'prepare').mockImplementation(function (this: D1Database, sql: string) {
      if (/order by "invoices"."send_at"/.test(sql)) plans.push(sql)
      return prepare.call(this, sql)
    })
    stripeStandIn()
    await minute()
    expect(plans).toEqual([expect.any(String)])
    const { results } = await env.DB.prepare(`explain query plan ${plans[0]}`).bind(0, 20).all<{ detail: string }>()
    expect(results.map(({ detail }) => detail)).toEqual([expect.stringMatching(/USING INDEX invoices_unsent \(send_at<\?\)/)])
  })

  it('are not paid by an operator’s word: Stripe would go on asking for the money', async () => {
    const of = await billed()
    const { invoice_id } = await of.invoice()
    stripeStandIn()
    await env.DB.prepare(
      "insert into operator_orders (command_id, kind, organization_id, invoice_id, created_at) values ('o1', 'pay', ?1, ?2, 0)",
    )
      .bind(of.id, invoice_id)
      .run()
    await minute()
    expect((await of.invoices())[0]!.status).toBe('open')
    const refused = await env.DB.prepare("select refused from operator_orders where command_id = 'o1'").first<string>('refused')
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
