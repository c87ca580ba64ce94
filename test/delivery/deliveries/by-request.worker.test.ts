import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SAMPLES } from '../../../src/delivery/catalog/catalog.ts'
import { newId } from '../../../src/platform/db/id.ts'
import { at, restore } from '../../support/clock.ts'
import { silenceQueues } from '../../support/queues.ts'
import { audited, organization } from '../../support/tenants.ts'
import { Courier } from '../support/deliveries.ts'
import { endpointOf, happened, linked, logged } from '../support/feed.ts'

const NOW = '2026-05-20T09:00:00.000Z'

beforeEach(() => {
  at(NOW)
  silenceQueues()
})
afterEach(restore)

it('redelivery names each status once at the most', async () => {
  const of = await organization()
  const { path } = await endpointOf(of)
  const { status, body } = await of.ask('POST', `${path}/deliveries/redeliver`, { since: NOW, statuses: Array(4).fill('lost') })
  expect([status, body.errors?.[0].path]).toEqual([422, 'statuses'])
})

describe('a test of an event', () => {
  it.each(Object.entries(SAMPLES))(
    '%s: the endpoint gets its sample, marked, and the feed says that it was a test',
    async (event_key, sample) => {
      const of = await organization()
      const to = await endpointOf(of)
      const { status, body } = await of.ask('POST', `${to.path}/test`, { event_key })
      expect([status, body.event_key, body.status]).toEqual([202, event_key, 'pending'])
      const courier = new Courier()
      await courier.deliver(to.webhook)
      const [sent] = courier.sent
      const shown = { ...sample, event_id: body.event_id, ordering: Number(sent!.headers['Service-Ordering']), occurred_at: NOW }
      expect(JSON.parse(new TextDecoder().decode(sent!.body))).toEqual(shown)
      expect(sent!.headers).toMatchObject({ 'Service-Event': event_key, 'Service-Test': 'true', 'Service-Delivery-Id': body.event_id })
      const { event_id, ordering, occurred_at } = shown
      const test = { event: 'webhook.test', event_id, ordering, occurred_at, webhook_id: to.webhook_id, sample_of: event_key }
      expect((await of.ask('GET', `/v1/events/${body.event_id}`)).body).toEqual(test)
      expect((await of.ask('GET', '/v1/events?event_key=webhook.test')).body.data).toEqual([test])
      expect((await of.ask('GET', `/v1/events?event_key=${event_key}`)).body.data).toEqual([])
      expect((await of.ask('GET', `${to.path}/deliveries?event_key=${event_key}`)).body.data).toHaveLength(1)
      // Sent again it is still the sample.
      expect((await of.ask('POST', `${to.path}/deliveries/${body.event_id}/redeliver`)).status).toBe(202)
      await courier.deliver(to.webhook)
      expect(courier.sent[1]!.body).toEqual(sent!.body)
    },
  )

  it('without a body, or with an empty one, is webhook.test, unmarked', async () => {
    const of = await organization()
    const to = await endpointOf(of)
    for (const body of [undefined, {}]) expect((await of.ask('POST', `${to.path}/test`, body)).body.event_key).toBe('webhook.test')
    const courier = new Courier()
    await courier.deliver(to.webhook)
    expect(courier.sent.map(({ headers }) => [headers['Service-Event'], headers['Service-Test']])).toEqual(
      Array(2).fill(['webhook.test', undefined]),
    )
  })

  it('refuses what has no sample, and what is no event', async () => {
    const of = await organization()
    const { path } = await endpointOf(of)
    const codes = async (event_key: string) => {
      const { status, body } = await of.ask('POST', `${path}/test`, { event_key })
      return [status, body.code, body.errors[0].path]
    }
    expect(await codes('cfdi.issued')).toEqual([422, 'event.not_available', 'event_key'])
    expect(await codes('cfdi.canceled')).toEqual([422, 'request.invalid', 'event_key'])
    expect((await of.ask('GET', '/v1/events')).body.data).toEqual([])
  })
})

describe('sending a waiting delivery now', () => {
  const waiting = async (status: 'pending' | 'lost' | 'delivered' = 'pending', due = 7_200_000) => {
    const of = await organization()
    const about = await linked(of)
    const to = await endpointOf(of)
    const seq = Date.parse(NOW) - 1_000
    const [event] = await happened(of, [{ seq, about }])
    const failed = { at: seq, duration_ms: 1, status_code: 503, error: null, response_body: null }
    await logged(to.webhook, [{ seq, status, due_at: Date.parse(NOW) + due, attempts: [failed, failed] }])
    return { of, event, now: `${to.path}/deliveries/${event}/send-now`, ...to }
  }

  it('makes the next attempt at once, under its number', async () => {
    const { of, now, webhook, path } = await waiting()
    const courier = new Courier()
    await courier.deliver(webhook)
    expect(courier.sent).toEqual([])
    const { status, body } = await of.ask('POST', now)
    expect([status, body.status, body.next_attempt_at, body.attempts.length]).toEqual([202, 'pending', NOW, 2])
    courier.answer = () => new Response(null, { status: 503 })
    await courier.deliver(webhook)
    expect(courier.sent.map(({ attempt }) => attempt)).toEqual([3])
    // The wait after the third attempt.
    const [after] = (await of.ask('GET', `${path}/deliveries`)).body.data
    expect([after.status, after.next_attempt_at]).toEqual(['pending', '2026-05-20T09:30:00.000Z'])
    expect(await audited(of, 'webhook.delivery_hastened')).toHaveLength(1)
  })

  it('does not put off what is due already', async () => {
    const { of, now } = await waiting('pending', -60_000)
    expect((await of.ask('POST', now)).body.next_attempt_at).toBe('2026-05-20T08:59:00.000Z')
  })

  it('is refused for what does not wait, a disabled webhook, what was never sent, and another organization', async () => {
    const code = ({ status, body }: { status: number; body: { code: string } }) => `${status} ${body.code}`
    for (const status of ['lost', 'delivered'] as const) {
      const { of, now } = await waiting(status)
      expect(code(await of.ask('POST', now))).toBe('409 delivery.not_pending')
    }
    const { of, now, path } = await waiting()
    expect(code(await (await organization()).ask('POST', now))).toBe('404 webhook.not_found')
    expect(code(await of.ask('POST', `${path}/deliveries/${newId('evt')}/send-now`))).toBe('404 delivery.not_found')
    await of.ask('PATCH', path, { is_enabled: false })
    expect(code(await of.ask('POST', now))).toBe('409 webhook.disabled')
    expect(await audited(of, 'webhook.delivery_hastened')).toEqual([])
    expect(await env.EVENTS_0.prepare('select max(due_at) as due from deliveries').first('due')).toBeGreaterThan(Date.parse(NOW))
  })
})
