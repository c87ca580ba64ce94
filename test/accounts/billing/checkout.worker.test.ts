import { env } from 'cloudflare:workers'
import { describe, expect, it, vi } from 'vitest'
import { basic } from '../../support/client.ts'
import { at } from '../../support/clock.ts'
import { daily } from '../../support/crons.ts'
import { audited, freshRfc } from '../../support/tenants.ts'
import { json, send } from '../../support/wire.ts'
import { type Billed, billed } from './support/billing.ts'
import { atStripe, eventOf, notify, stripeEnv, stripeStandIn } from './support/stripe.ts'

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
    notify(eventOf(event, type, { id: session, payment_status, metadata: { organization_id: of.id, ...sold } }))

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
            'metadata[sold]': 'seat',
            'metadata[plan]': 'starter',
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

  it('of a plan is for the month that it is paid in, which is not invoiced again', async () => {
    const of = await billed('diagnostic')
    await of.connect(freshRfc())
    const dailyAt = (time: string) => {
      at(time)
      return daily()
    }
    at('2027-04-01T08:00:00Z')
    await paid(of, PLAN, `cs_month_${of.id}`, `evt_month_${of.id}`)
    await dailyAt('2027-04-01T10:00:00Z')
    await dailyAt('2027-04-30T10:00:00Z')
    expect(await of.invoices()).toEqual([])
    await dailyAt('2027-05-01T10:00:00Z')
    expect((await of.invoices()).map(({ period }) => period)).toEqual(['2027-05'])
  })

  it('is the smallest plan for whoever is on the trial, which brings back what its end paused', async () => {
    const of = await billed('diagnostic')
    const { fiscal_entity_id: id } = (await of.connect(freshRfc())).body
    at('2027-03-20T18:00:00Z')
    await daily()
    const stripe = stripeStandIn()
    expect((await resume(of, id)).body).toMatchObject({ code: 'billing.seats', checkout_url: expect.stringMatching(/^https:\/\/checkout/) })
    expect(stripe.made[0]).toMatchObject({
      key: `plan:${of.id}:starter:null:2027-03-20`,
      form: { 'metadata[sold]': 'plan', 'metadata[plan]': 'starter', 'line_items[0][price_data][unit_amount]': '69368' },
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

  it.each([
    ['a plan', PLAN, 'diagnostic', null, 'starter', 5],
    ['a larger plan', { sold: 'plan', plan: 'api' }, 'diagnostic', null, 'api', 50],
    ['a plan without limit', { sold: 'plan', plan: 'enterprise_gold' }, 'diagnostic', 9, 'enterprise_gold', null],
    ['a seat', SEAT, 'starter', null, 'starter', 6],
    ['a seat', SEAT, 'starter', 0, 'starter', 1],
    ['a seat', SEAT, 'api', null, 'api', 51],
    ['a seat', { sold: 'seat', plan: 'enterprise_gold' }, 'enterprise_gold', 3, 'enterprise_gold', 4],
  ])('%s (%o) is granted on %s with %s seats of its own: %s, %s', async (_, sold, plan, own, after, seats) => {
    const of = await billed(plan)
    await of.ask('POST', '/v1/test-helpers/organization', { rfc_allowance: own })
    await paid(of, sold, `cs_${of.id}`, `evt_${of.id}`)
    expect(await of.billing()).toMatchObject({ plan: after, seats: { allowance: seats } })
    expect(await audited(of, 'billing.checkout_paid')).toHaveLength(1)
    expect(logged.join('')).not.toMatch(/Refund/)
  })

  it.each([
    ['a plan, to one that has it', PLAN, 'starter'],
    ['a plan, to one that has another', PLAN, 'api'],
    ['a plan, to one without limit', PLAN, 'enterprise_gold'],
    ['a seat, to one on the trial', SEAT, 'diagnostic'],
    ['a seat, to one without limit', SEAT, 'enterprise_gold'],
    ['a plan that there is none', { sold: 'plan', plan: 'gratis' }, 'diagnostic'],
    ['the trial', { sold: 'plan', plan: 'diagnostic' }, 'diagnostic'],
    ['a plan without its name', { sold: 'plan' }, 'diagnostic'],
    ['something else', { sold: 'toString', plan: 'starter' }, 'diagnostic'],
    ['something else', { sold: 'toString', plan: 'starter' }, 'starter'],
    ['nothing', {}, 'starter'],
    ['nothing', {}, 'diagnostic'],
  ])('%s (%o), now on %s, grants nothing and is said once, for a refund', async (_, sold, plan) => {
    const of = await billed(plan)
    const before = await of.billing()
    const [session, event] = [`cs_${of.id}`, `evt_${of.id}`]
    for (const id of [event, event, `${event}_2`]) expect((await paid(of, sold, session, id)).status).toBe(200)
    expect(await of.billing()).toEqual(before)
    expect(await audited(of, 'billing.checkout_paid')).toEqual([])
    expect(await audited(of, 'billing.checkout_unmatched')).toEqual([
      expect.objectContaining({ actor: 'system:stripe', resource_id: of.id }),
    ])
    expect(await env.DB.prepare('select event_id, type from provider_events where subject = ?').bind(session).raw()).toEqual([
      [event, 'checkout.session.completed'],
    ])
    expect(logged.filter((line) => line.includes('Refund')).map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({ level: 'error', organization_id: of.id, checkout: session }),
    ])
  })

  it('seats paid at the same time are as many seats', async () => {
    const of = await billed('starter')
    await Promise.all([1, 2, 3].map((n) => paid(of, SEAT, `cs_${n}_${of.id}`, `evt_${n}_${of.id}`)))
    expect((await of.billing()).seats.allowance).toBe(8)
  })

  it('a plan bought twice is one plan and one refund', async () => {
    const of = await billed('diagnostic')
    await Promise.all([1, 2].map((n) => paid(of, PLAN, `cs_${n}_${of.id}`, `evt_${n}_${of.id}`)))
    expect(await of.billing()).toMatchObject({ plan: 'starter', seats: { allowance: 5 } })
    expect(await audited(of, 'billing.checkout_paid')).toHaveLength(1)
    expect(await audited(of, 'billing.checkout_unmatched')).toHaveLength(1)
  })
})
