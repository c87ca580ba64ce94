import { createScheduledController } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { describe, expect, it } from 'vitest'
import { isSigned } from '../../../../src/accounts/billing/stripe/stripe-events.ts'
import worker from '../../../../src/index.ts'
import { created, draft } from '../../../connections/extractors/support/extractors.ts'
import { daily } from '../../../support/crons.ts'
import { audited, freshRfc } from '../../../support/tenants.ts'
import { send } from '../../../support/wire.ts'
import { billed } from '../support/billing.ts'
import { atStripe, eventOf, hmac, notify, signed, stripeEnv, WEBHOOK, WEBHOOK_SECRET } from '../support/stripe.ts'

const logged = atStripe()

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
      const { status, body: notified } = await notify(text, header)
      return [status, notified.code]
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
      expect((await notify(eventOf(`evt_${type}`, type, object))).body).toEqual({ received: true })
    // Money that names what is not here is for somebody to look at.
    expect(logged.filter((line) => line.includes('that does not exist here')).map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({ level: 'error', invoice_id: 'inv_unknown', stripe_invoice: 'in_unknown' }),
      expect.objectContaining({ level: 'error', organization_id: 'org_unknown', checkout: 'cs_unknown' }),
    ])
  })

  async function owing() {
    const of = await billed('starter')
    await created(of, { ...draft, trigger_kind: 'connection_reactivated' })
    await of.connect(freshRfc())
    const invoice = await of.invoice('2027-03-01')
    await daily()
    expect(await of.states()).toEqual(['paused active payment'])
    return { ...of, owed: invoice.invoice_id }
  }

  /** As an event tells of it. */
  const paidOf = (id: string, more: object = {}) => ({ id, currency: 'mxn', total: 116_000, ...more })
  const complaints = () => logged.filter((line) => line.includes('was paid at Stripe')).map((line) => JSON.parse(line))
  const recorded = async () => (await env.DB.prepare('select event_id, subject from provider_events order by event_id').raw()).flat()

  it('pays an invoice once, however often, in whatever order and at once it is told', async () => {
    const of = await owing()
    await env.DB.prepare('update invoices set provider_ref = ? where invoice_id = ?').bind(`in_${of.owed}`, of.owed).run()
    const body = eventOf(`evt_${of.owed}`, 'invoice.paid', paidOf(`in_${of.owed}`))
    const again = eventOf(`evt_2_${of.owed}`, 'invoice.paid', paidOf(`in_${of.owed}`))
    for (const { status } of await Promise.all([body, body, again, body].map((one) => notify(one)))) expect(status).toBe(200)
    expect((await notify(body)).status).toBe(200)
    expect([await of.states(), await of.runs()]).toEqual([['active'], ['connection_reactivated']])
    expect(await audited(of, 'invoice.paid')).toEqual([expect.objectContaining({ actor: 'system:stripe' })])
    expect(complaints()).toEqual([])
  })

  it('pays an invoice that Stripe knows before its name there is kept here', async () => {
    const of = await owing()
    await notify(eventOf(`evt_${of.owed}`, 'invoice.paid', paidOf('in_early', { metadata: { invoice_id: of.owed } })))
    expect((await of.invoices())[0]!.status).toBe('paid')
  })

  it('leaves the event to be told again when the commit fails', async () => {
    const of = await owing()
    const body = eventOf(`evt_${of.owed}`, 'invoice.paid', paidOf('in_x', { metadata: { invoice_id: of.owed } }))
    await env.DB.prepare("create trigger refuse before insert on audit_events begin select raise(abort, 'no events today'); end").run()
    const headers = { 'content-type': 'application/json', 'stripe-signature': await signed(body, Date.now()) }
    expect((await send('POST', WEBHOOK, { headers, body, env: stripeEnv, breaks: true })).status).toBe(500)
    await env.DB.prepare('drop trigger refuse').run()
    expect((await of.invoices())[0]!.status).toBe('open')
    expect((await notify(body)).status).toBe(200)
    expect((await of.invoices())[0]!.status).toBe('paid')
  })

  it.each([
    ['an empty draft', { total: 0 }],
    ['a centavo less', { total: 115_999 }],
    ['a centavo more', { total: 116_001 }],
    ['pesos', { total: '1160.00' }],
    ['another currency', { currency: 'usd' }],
    ['no currency', { currency: undefined }],
    ['no total', { total: undefined }],
  ])('does not take %s for the invoice, and says so once', async (_, other) => {
    const of = await owing()
    const metadata = { invoice_id: of.owed }
    await notify(eventOf('evt_1', 'invoice.paid', paidOf('in_other', { metadata, ...other })))
    await notify(eventOf('evt_2', 'invoice.paid', paidOf('in_other', { metadata, ...other })))
    expect([(await of.invoices())[0]!.status, await of.states()]).toEqual(['open', ['paused active payment']])
    expect(await recorded()).toEqual(['evt_1', 'in_other'])
    expect(complaints()).toEqual([
      expect.objectContaining({ level: 'error', organization_id: of.id, invoice_id: of.owed, stripe_invoice: 'in_other' }),
    ])
    await notify(eventOf('evt_3', 'invoice.paid', paidOf('in_right', { metadata })))
    expect((await of.invoices())[0]!.status).toBe('paid')
  })

  it.each([
    ['one after the other', false],
    ['at once', true],
  ])('says when an invoice is paid by two of Stripe’s, %s', async (_, isAtOnce) => {
    const of = await owing()
    const metadata = { invoice_id: of.owed }
    const [one, two] = ['in_1', 'in_2'].map((id, n) => eventOf(`evt_${n}`, 'invoice.paid', paidOf(id, { metadata })))
    if (isAtOnce) await Promise.all([notify(one!), notify(two!)])
    else for (const body of [one, two]) await notify(body!)
    for (const body of [one, two]) await notify(body!)
    await notify(eventOf('evt_3', 'invoice.paid', paidOf('in_2', { metadata })))
    expect((await of.invoices())[0]!.status).toBe('paid')
    expect(await audited(of, 'invoice.paid')).toHaveLength(1)
    expect(await recorded()).toEqual(['evt_0', 'in_1', 'evt_1', 'in_2'])
    const stripe_invoice = isAtOnce ? expect.stringMatching(/^in_[12]$/) : 'in_2'
    expect(complaints()).toEqual([expect.objectContaining({ level: 'error', invoice_id: of.owed, stripe_invoice })])
  })
})

it('a provider that is not configured says what it needs', async () => {
  const { STRIPE_SECRET_KEY: _, ...without } = stripeEnv as unknown as Record<string, unknown>
  const run = (broken: object) =>
    worker.scheduled(createScheduledController({ cron: '* * * * *', scheduledTime: new Date() }), broken as Env)
  await expect(run(without)).rejects.toThrow(/STRIPE_SECRET_KEY must be set/)
  await expect(run({ ...stripeEnv, BILLING_PROVIDER: 'cash' })).rejects.toThrow(/BILLING_PROVIDER must be manual or stripe/)
})
