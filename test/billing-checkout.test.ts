import { createScheduledController } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { describe, expect, it, vi } from 'vitest'
import worker from '../src/index.ts'
import { type Billed, billed } from './support/billing.ts'
import { basic } from './support/client.ts'
import { at, audited } from './support/extractors.ts'
import { freshRfc } from './support/journeys.ts'
import { atStripe, eventOf, stripeEnv, stripeStandIn, tell } from './support/stripe.ts'
import { json, send } from './support/wire.ts'

const logged = atStripe()

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
  const SEAT = { sold: 'seat', plan: 'starter' }
  const PLAN = { sold: 'plan', plan: 'starter' }
  const paid = (of: Billed, sold: object, session: string, event: string, type = 'checkout.session.completed', payment_status = 'paid') =>
    tell(eventOf(event, type, { id: session, payment_status, metadata: { organization_id: of.id, ...sold } }))

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
          method: 'POST',
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
    await paid(of, SEAT, session, `evt_0_${of.id}`, 'checkout.session.completed', 'unpaid')
    expect((await of.billing()).seats.allowance).toBe(0)
    await Promise.all([
      paid(of, SEAT, session, `evt_1_${of.id}`, 'checkout.session.async_payment_succeeded'),
      paid(of, SEAT, session, `evt_1_${of.id}`, 'checkout.session.async_payment_succeeded'),
      paid(of, SEAT, session, `evt_2_${of.id}`),
    ])
    expect((await of.billing()).seats.allowance).toBe(1)
    expect((await resume(of, of.rfc)).status).toBe(200)
    expect(await audited(of, 'billing.checkout_paid')).toHaveLength(1)
    await paid(of, SEAT, `${session}_more`, `evt_3_${of.id}`)
    expect((await of.billing()).seats.allowance).toBe(2)
  })

  it('is the smallest plan for whoever is on the trial, which brings back what its end paused', async () => {
    const of = await billed('diagnostic')
    const { fiscal_entity_id: id } = (await of.connect(freshRfc())).body
    at('2027-03-20T18:00:00Z')
    await worker.scheduled(createScheduledController({ cron: '0 10 * * *', scheduledTime: new Date() }), env)
    const stripe = stripeStandIn()
    expect((await resume(of, id)).body).toMatchObject({ code: 'billing.seats', checkout_url: expect.stringMatching(/^https:\/\/checkout/) })
    expect(stripe.made[0]).toMatchObject({
      form: { 'line_items[0][price_data][unit_amount]': '69368' },
    })
    await paid(of, PLAN, `cs_${of.id}`, `evt_${of.id}`)
    expect([await of.states(), (await of.billing()).plan]).toEqual([['active'], 'starter'])
  })

  it.each([
    [2, 5],
    [9, 9],
  ])('that is a plan has all its seats, also for a trial with %i of its own: %i', async (own, seats) => {
    const of = await billed('diagnostic')
    await of.ask('POST', '/v1/test-helpers/organization', { rfc_allowance: own })
    await paid(of, PLAN, `cs_${of.id}`, `evt_${of.id}`)
    expect(await of.billing()).toMatchObject({ plan: 'starter', seats: { allowance: seats } })
  })

  it('that cannot be opened refuses all the same', async () => {
    const of = await full()
    const stripe = stripeStandIn()
    stripe.breaks(() => 'before')
    const { status, body } = await resume(of, of.rfc)
    expect([status, body.code, body.checkout_url]).toEqual([402, 'billing.seats', undefined])
    vi.spyOn(globalThis, 'fetch').mockRejectedValue(new TypeError('Network connection lost.'))
    expect((await resume(of, of.rfc)).status).toBe(402)
    expect(logged.filter((line) => line.includes('No checkout'))).toHaveLength(2)
  })
})
