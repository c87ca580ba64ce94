import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { losingMessages } from '../../downloads/support/downloads.ts'
import { randomOf } from '../../support/random.ts'
import { type Organization, organization } from '../../support/tenants.ts'
import { Courier, type Endpoint, endpoint, keptOf, pending, WEBHOOKS } from '../support/deliveries.ts'

let of: Organization
let courier: Courier
let hosts = 0
const receiver = (): Promise<Endpoint> => endpoint(of, `https://hooks-${++hosts}.acme.example/in`)
const idsOf = ({ sent }: Courier) => sent.map(({ event_id }) => event_id)
const statusesOf = async (to: Endpoint) => (await keptOf(to)).map(({ status }) => status)

beforeEach(async () => {
  losingMessages()
  of ??= await organization()
  courier = new Courier()
})
afterEach(() => vi.restoreAllMocks())

describe('fifty consumers at once', () => {
  it('make one request of one delivery', async () => {
    const to = await receiver()
    const event_id = await pending(to)
    await Promise.all(Array.from({ length: 50 }, () => courier.deliver(to.webhook)))
    await courier.settle()
    expect(idsOf(courier)).toEqual([event_id])
    expect(await statusesOf(to)).toEqual(['delivered'])
  })

  it('make one request of each of many, without a sweep', async () => {
    const to = await receiver()
    const ids: string[] = []
    for (let n = 0; n < 23; n++) ids.push(await pending(to))
    await Promise.all(Array.from({ length: 50 }, () => courier.deliver(to.webhook)))
    await courier.settle()
    expect(idsOf(courier).sort()).toEqual(ids)
    expect(new Set(await statusesOf(to))).toEqual(new Set(['delivered']))
  })
})

describe('messages', () => {
  it('that come one to five times, in any order, send each event once', async () => {
    const random = randomOf(11)
    const all = [await receiver(), await receiver(), await receiver(), await receiver()]
    const expected: string[] = []
    const messages: number[] = []
    for (let n = 0; n < 20; n++) {
      const to = all[Math.floor(random() * all.length)]!
      expected.push(`${to.url} ${await pending(to)}`)
      for (let copies = 1 + Math.floor(random() * 5); copies > 0; copies--) messages.push(to.webhook)
    }
    messages.sort(() => random() - 0.5)
    while (messages.length > 0) await Promise.all(messages.splice(0, 1 + Math.floor(random() * 8)).map(courier.deliver))
    await courier.settle()
    expect(courier.sent.map(({ url, event_id }) => `${url} ${event_id}`).sort()).toEqual(expected.sort())
  })

  it('that come before anything is due, or for what was never there, do nothing', async () => {
    const to = await receiver()
    await pending(to)
    await env.EVENTS_0.prepare('update deliveries set due_at = ?2 where webhook = ?1')
      .bind(to.webhook, Date.now() + 60_000)
      .run()
    for (const webhook of [to.webhook, 987_654_321]) await courier.deliver(webhook)
    expect([courier.sent, courier.notified]).toEqual([[], []])
    expect(await keptOf(to)).toEqual([expect.objectContaining({ status: 'pending', attempts: [], lease_until: null })])
  })

  it('for a disabled endpoint send nothing; enabled again, it gets what waited', async () => {
    const to = await receiver()
    const path = `${WEBHOOKS}/${to.webhook_id}`
    const ids = [await pending(to), await pending(to)]
    await of.ask('PATCH', path, { is_enabled: false })
    await courier.deliver(to.webhook)
    await courier.sweep()
    expect([courier.sent, courier.notified.filter(({ webhook }) => webhook === to.webhook)]).toEqual([[], []])
    await of.ask('PATCH', path, { is_enabled: true })
    await courier.sweep()
    await courier.settle()
    expect(idsOf(courier).sort()).toEqual(ids)
  })

  it('for a deleted endpoint send nothing and clear its log, part by part, until it is gone; its events stay', async () => {
    const to = await receiver()
    const event_id = await pending(to)
    await env.EVENTS_0.prepare(
      `insert into deliveries (webhook, seq, redelivery, event_key, status, due_at, attempts, created_at)
       select webhook, seq, value, event_key, status, due_at, attempts, created_at from deliveries join json_each(?2) where webhook = ?1`,
    )
      .bind(to.webhook, JSON.stringify(Array.from({ length: 2_100 }, (_, n) => n + 1)))
      .run()
    await of.ask('DELETE', `${WEBHOOKS}/${to.webhook_id}`)
    await courier.sweep()
    await courier.settle()
    const left =
      'select (select count(*) from deliveries where webhook = ?1) as log, (select count(*) from webhooks where webhook = ?1) as it'
    expect(await env.EVENTS_0.prepare(left).bind(to.webhook).first()).toEqual({ log: 0, it: 0 })
    expect((await of.ask('GET', `/v1/events/${event_id}`)).body.event_id).toBe(event_id)
    await courier.deliver(to.webhook)
    expect(courier.sent).toEqual([])
  })
})

describe('the sweep', () => {
  it('finds the endpoint of one organization behind any number of another’s', async () => {
    const other = await receiver()
    await pending(other)
    const copies = JSON.stringify(Array.from({ length: 2_100 }, (_, n) => n))
    const columns =
      'organization_id, name, type, url, event_keys, is_enabled, secret_version, digests, secret_hint, undelivered, created_at, updated_at'
    await env.EVENTS_0.batch([
      env.EVENTS_0.prepare(
        `insert into webhooks (webhook_id, ${columns}) select 'wh_copy_' || i.value, w.* from json_each(?2) i join (select ${columns} from webhooks where webhook = ?1) w`,
      ).bind(other.webhook, copies),
      env.EVENTS_0.prepare(
        `insert into deliveries (webhook, seq, redelivery, event_key, status, due_at, attempts, created_at)
         select w.webhook, d.seq, 0, d.event_key, 'pending', d.due_at, '[]', d.created_at
         from webhooks w join deliveries d on d.webhook = ?1 where w.webhook_id like 'wh_copy_%'`,
      ).bind(other.webhook),
    ])
    const last = await receiver()
    await pending(last)
    await courier.sweep()
    const notified = new Set(courier.notified.map(({ webhook }) => webhook))
    expect([notified.has(last.webhook), notified.size >= 2_102]).toEqual([true, true])
    await env.EVENTS_0.batch([
      env.EVENTS_0.prepare("delete from deliveries where webhook in (select webhook from webhooks where webhook_id like 'wh_copy_%')"),
      env.EVENTS_0.prepare("delete from webhooks where webhook_id like 'wh_copy_%'"),
    ])
  })
})

describe('while its first deliveries are under way, an endpoint', () => {
  /** Eight deliveries; what happens while the first four wait for an answer. Then they are answered. */
  async function meanwhile(change: (to: Endpoint) => Promise<unknown>) {
    const to = await receiver()
    for (let n = 0; n < 8; n++) await pending(to)
    const stored: (() => void)[] = []
    courier.answer = () => new Promise((answer) => stored.push(() => answer(new Response(null, { status: 200 }))))
    const work = courier.deliver(to.webhook)
    await vi.waitUntil(() => stored.length === 4)
    await change(to)
    courier.answer = () => new Response(null, { status: 200 })
    for (const answer of stored) answer()
    await work
    await courier.settle()
    return to
  }

  it('that is disabled is sent no other', async () => {
    const to = await meanwhile(({ webhook_id }) => of.ask('PATCH', `${WEBHOOKS}/${webhook_id}`, { is_enabled: false }))
    expect(courier.sent.length).toBe(4)
    expect((await statusesOf(to)).sort()).toEqual([...Array(4).fill('delivered'), ...Array(4).fill('pending')])
  })

  it('that is deleted is sent no other, and leaves nothing', async () => {
    const to = await meanwhile(({ webhook_id }) => of.ask('DELETE', `${WEBHOOKS}/${webhook_id}`))
    expect(courier.sent.length).toBe(4)
    expect(await keptOf(to)).toEqual([])
  })

  it('that moves is sent the others where it is now', async () => {
    const url = 'https://moved.acme.example/in'
    const to = await meanwhile(({ webhook_id }) => of.ask('PATCH', `${WEBHOOKS}/${webhook_id}`, { url }))
    expect(courier.sent.map((sent) => sent.url)).toEqual([...Array(4).fill(to.url), ...Array(4).fill(url)])
  })

  it('that is taken away while its answer is awaited by a consumer whose lease ran out is settled by its next holder alone', async () => {
    const to = await receiver()
    await pending(to)
    const stored: ((status: number) => void)[] = []
    courier.answer = () => new Promise((answer) => stored.push((status) => answer(new Response(null, { status }))))
    const late = courier.deliver(to.webhook)
    await vi.waitUntil(() => stored.length === 1)
    await env.EVENTS_0.prepare('update deliveries set lease_until = 1 where webhook = ?').bind(to.webhook).run()
    const next = courier.deliver(to.webhook)
    await vi.waitUntil(() => stored.length === 2)
    stored[1]!(200)
    await next
    stored[0]!(404)
    await late
    expect(courier.sent.map(({ attempt }) => attempt)).toEqual([1, 1])
    const [kept] = await keptOf(to)
    expect([kept!.status, kept!.attempts.map(({ status_code }) => status_code)]).toEqual(['delivered', [200]])
    expect(await env.EVENTS_0.prepare('select undelivered from webhooks where webhook = ?').bind(to.webhook).first('undelivered')).toBe(0)
  })
})
