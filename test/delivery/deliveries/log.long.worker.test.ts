import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { deliverDue, sweepDeliveries } from '../../../src/delivery/deliveries/delivery.ts'
import { pruneEvents } from '../../../src/delivery/deliveries/prune.ts'
import { insertEvents } from '../../../src/delivery/events/store.ts'
import { systemOf } from '../../../src/platform/context.ts'
import { commit } from '../../../src/platform/db/commit.ts'
import { newId } from '../../../src/platform/db/id.ts'
import { beforeBatch } from '../../authority/support/authority.ts'
import { basic, request } from '../../support/client.ts'
import { at, restore } from '../../support/clock.ts'
import { daily } from '../../support/crons.ts'
import { costOf } from '../../support/meter.ts'
import { silenceQueues } from '../../support/queues.ts'
import { audited, type Organization, organization } from '../../support/tenants.ts'
import { endpointOf, happened, type Logged, linked, logged, pagesOf } from '../support/feed.ts'
import { systemIn, watchedEnv } from '../support/relay.ts'

const NOW = '2026-05-20T09:00:00.000Z'
const START = Date.parse(NOW) - 86_400_000

beforeEach(() => {
  at(NOW)
  silenceQueues()
})
afterEach(restore)

interface Delivery {
  event_id: string
  redelivery: number
  status: string
  next_attempt_at: string | null
}

/** An endpoint with a log: its events in order, and of each what became of it. */
async function logOf(rows: readonly Omit<Logged, 'seq'>[], of?: Organization, from = START) {
  of ??= await organization()
  const about = await linked(of)
  const endpoint = await endpointOf(of)
  const placed = rows.map((row, n) => ({ ...row, seq: from + n }))
  const events = await happened(
    of,
    placed.map(({ seq, event_key }) => ({ seq, about, key: (event_key ?? 'connection.ciec_invalid') as 'sync.failed' })),
  )
  await logged(endpoint.webhook, placed)
  const deliveries = `${endpoint.path}/deliveries`
  const list = async (query = '') => (await pagesOf<Delivery>(of, `${deliveries}?limit=100${query}`)).items
  return { of, about, events, deliveries, list, ...endpoint }
}

const codeOf = ({ status, body }: { status: number; body: { code: string } }) => `${status} ${body.code}`
const iso = (ms: number) => new Date(ms).toISOString()
const countOf = (webhook: number) =>
  env.EVENTS_0.prepare('select count(*) as n from deliveries where webhook = ?').bind(webhook).first<number>('n')

describe('the delivery log', () => {
  const attempt = (status_code: number | null, error: string | null = null, response_body: string | null = null) => ({
    ...{ at: START + 1, duration_ms: 12, status_code, error, response_body },
  })

  it.each([
    ['null, before the first attempt', [{ status: 'pending', attempts: [] }], null],
    [
      'that it arrived',
      [
        { status: 'lost', attempts: [attempt(500)] },
        { status: 'delivered', attempts: [attempt(204)] },
      ],
      'delivered',
    ],
    [
      'that it did not arrive so far',
      [
        { status: 'delivered', attempts: [attempt(204)] },
        { status: 'pending', attempts: [attempt(500)] },
      ],
      'undelivered',
    ],
    [
      'what was attempted, not what is to be',
      [
        { status: 'failed', attempts: [attempt(404)] },
        { status: 'pending', attempts: [] },
      ],
      'undelivered',
    ],
  ] as const)('of the last delivery an endpoint says %s', async (_, rows, last_delivery) => {
    const { of, path } = await logOf(rows.map(({ status, attempts }) => ({ status, attempts: [...attempts] })))
    expect((await of.ask('GET', path)).body.last_delivery).toBe(last_delivery)
    expect((await of.ask('GET', '/v1/webhooks')).body.data).toMatchObject([{ last_delivery }])
  })

  it('says of each delivery what was tried, how it ended, and when it is tried again', async () => {
    const { of, about, deliveries, events } = await logOf([
      { status: 'delivered', attempts: [attempt(null, 'No answer within 5 seconds.'), attempt(503, null, 'busy'), attempt(204)] },
      { status: 'failed', attempts: [attempt(404)], event_key: 'sync.failed' },
      { status: 'lost', attempts: Array.from({ length: 6 }, () => attempt(500)) },
      { status: 'pending', attempts: [attempt(500)], due_at: START + 60_000 },
    ])
    const { body } = await of.ask('GET', deliveries)
    const notified = (n: number) => ({ attempt: n, attempted_at: iso(START + 1), duration_ms: 12, error: null, response_body: null })
    const concerns = { fiscal_entity_id: about.fiscal_entity_id, period: null }
    expect(body).toEqual({
      data: [
        {
          ...{
            event_id: events[3],
            event_key: 'connection.ciec_invalid',
            ...concerns,
            redelivery: 0,
            status: 'pending',
            created_at: iso(START + 3),
          },
          ...{ attempts: [{ ...notified(1), status_code: 500 }], next_attempt_at: iso(START + 60_000) },
        },
        {
          ...{
            event_id: events[2],
            event_key: 'connection.ciec_invalid',
            ...concerns,
            redelivery: 0,
            status: 'lost',
            created_at: iso(START + 2),
          },
          ...{ attempts: [1, 2, 3, 4, 5, 6].map((n) => ({ ...notified(n), status_code: 500 })), next_attempt_at: null },
        },
        {
          ...{
            event_id: events[1],
            event_key: 'sync.failed',
            ...concerns,
            period: '2026-05',
            redelivery: 0,
            status: 'failed',
            created_at: iso(START + 1),
          },
          ...{ attempts: [{ ...notified(1), status_code: 404 }], next_attempt_at: null },
        },
        {
          ...{
            event_id: events[0],
            event_key: 'connection.ciec_invalid',
            ...concerns,
            redelivery: 0,
            status: 'delivered',
            created_at: iso(START),
          },
          attempts: [
            { ...notified(1), status_code: null, error: 'No answer within 5 seconds.' },
            { ...notified(2), status_code: 503, response_body: 'busy' },
            { ...notified(3), status_code: 204 },
          ],
          next_attempt_at: null,
        },
      ],
      has_more: false,
      next_cursor: null,
    })
  })

  const STATUSES = ['pending', 'delivered', 'failed', 'lost'] as const
  /** More than a page looks at: every status and key, some with redeliveries. */
  const many = Array.from({ length: 1_250 }, (_, n) => ({
    status:
      n % 100 === 7 ? ('pending' as const) : n % 50 === 3 ? ('failed' as const) : n % 9 === 0 ? ('lost' as const) : ('delivered' as const),
    event_key: n % 40 === 9 ? 'sync.failed' : 'connection.ciec_invalid',
  }))

  it('is filtered by status and by key, the newest first, however long it is', async () => {
    const { of, deliveries, events } = await logOf(many)
    const wanted = (status?: string, key?: string) =>
      many
        .flatMap((row, n) => ((status ?? row.status) === row.status && (key ?? row.event_key) === row.event_key ? [events[n]!] : []))
        .reverse()
    for (const limit of [9, 100])
      for (const status of [undefined, ...STATUSES])
        for (const key of limit === 9 ? [undefined] : [undefined, 'sync.failed', 'cfdi.cancelled']) {
          if (limit === 9 && (status === undefined || status === 'delivered')) continue
          const query = `limit=${limit}${status ? `&status=${status}` : ''}${key ? `&event_key=${key}` : ''}`
          const { items, pages } = await pagesOf<Delivery>(of, `${deliveries}?${query}`)
          expect([query, items.map(({ event_id }) => event_id)]).toEqual([query, wanted(status, key)])
          expect(pages).toBeLessThanOrEqual(Math.ceil(wanted(status, key).length / limit) + 3)
        }
  })

  it('pages through redeliveries of one event as well, each once', async () => {
    const { of, deliveries, webhook, events } = await logOf([{ status: 'lost' }, { status: 'lost' }])
    await logged(
      webhook,
      [1, 2, 3].map((redelivery) => ({ seq: START + 1, redelivery, status: 'lost' as const })),
    )
    for (const filter of ['', '&status=lost']) {
      const { items } = await pagesOf<Delivery>(of, `${deliveries}?limit=2${filter}`)
      expect(items.map(({ event_id, redelivery }) => [event_id, redelivery])).toEqual([
        ...[3, 2, 1, 0].map((redelivery) => [events[1], redelivery]),
        [events[0], 0],
      ])
    }
  })

  it('goes on with its own cursor only, and is nobody else’s', async () => {
    const [one, stranger] = [await logOf(many.slice(0, 5)), await organization()]
    const two = await logOf(many.slice(0, 5), one.of, START + 100)
    const { next_cursor } = (await one.of.ask('GET', `${one.deliveries}?limit=2`)).body
    expect((await one.of.ask('GET', `${one.deliveries}?limit=2&cursor=${next_cursor}`)).status).toBe(200)
    expect(codeOf(await one.of.ask('GET', `${two.deliveries}?limit=2&cursor=${next_cursor}`))).toBe('400 cursor.invalid')
    expect(codeOf(await stranger.ask('GET', one.deliveries))).toBe('404 webhook.not_found')
    expect((await one.of.ask('GET', `${one.deliveries}?status=retrying`)).status).toBe(422)
  })
})

describe('sending an event again', () => {
  it.each(['lost', 'failed', 'delivered'] as const)('that was %s: is a new delivery of the same event, due at once', async (status) => {
    const { of, deliveries, events, list } = await logOf([{ status }])
    const before = await list()
    const again = await of.ask('POST', `${deliveries}/${events[0]}/redeliver`)
    const made = { ...before[0], redelivery: 1, status: 'pending', attempts: [], next_attempt_at: NOW, created_at: NOW }
    expect([again.status, again.body]).toEqual([202, made])
    expect(await list()).toEqual([made, ...before])
    expect(codeOf(await of.ask('POST', `${deliveries}/${events[0]}/redeliver`))).toBe('409 delivery.pending')
  })

  it('goes on counting from the newest one', async () => {
    const { of, deliveries, events, webhook } = await logOf([{ status: 'lost' }])
    await logged(webhook, [{ seq: START, redelivery: 1, status: 'failed' }])
    expect((await of.ask('POST', `${deliveries}/${events[0]}/redeliver`)).body).toMatchObject({ redelivery: 2 })
  })

  it('by twenty at once is sent again once', async () => {
    const { of, deliveries, events, list } = await logOf([{ status: 'lost' }])
    const replies = await Promise.all(Array.from({ length: 20 }, () => of.ask('POST', `${deliveries}/${events[0]}/redeliver`)))
    expect(replies.map(({ status }) => status).sort()).toEqual([202, ...Array(19).fill(409)])
    expect((await list()).length).toBe(2)
    expect((await audited(of, 'webhook.redelivered')).length).toBe(1)
  })

  it('is not found for an event that was never on its way there, or is another’s', async () => {
    const [ours, theirs] = [await logOf([{ status: 'lost' }]), await logOf([{ status: 'lost' }])]
    const other = await endpointOf(ours.of)
    expect(codeOf(await ours.of.ask('POST', `${other.path}/deliveries/${ours.events[0]}/redeliver`))).toBe('404 delivery.not_found')
    expect(codeOf(await ours.of.ask('POST', `${ours.deliveries}/${theirs.events[0]}/redeliver`))).toBe('404 delivery.not_found')
    expect(codeOf(await ours.of.ask('POST', `${theirs.deliveries}/${theirs.events[0]}/redeliver`))).toBe('404 webhook.not_found')
    expect(await countOf(theirs.webhook)).toBe(1)
  })
})

describe('sending again what was lost', () => {
  const since = iso(START + 2)
  const none = { redelivered_count: 0, sent_now_count: 0, has_more: false }

  it('since a time: every event whose newest delivery was lost, once; repeated it does nothing', async () => {
    const { of, deliveries, events, list, webhook } = await logOf([
      { status: 'lost' },
      { status: 'lost' },
      { status: 'lost' },
      { status: 'failed' },
      { status: 'delivered' },
      { status: 'pending' },
      { status: 'lost' },
      { status: 'lost' },
    ])
    // One was lost again, one has arrived since.
    await logged(webhook, [
      { seq: START + 6, redelivery: 1, status: 'lost' },
      { seq: START + 7, redelivery: 1, status: 'delivered' },
    ])
    const again = (body: object) => of.ask('POST', `${deliveries}/redeliver`, body)
    expect(await again({ since })).toMatchObject({ status: 202, body: { redelivered_count: 2, has_more: false } })
    const fresh = async () => (await list('&status=pending')).filter(({ redelivery }) => redelivery > 0)
    expect((await fresh()).map(({ event_id, redelivery }) => [event_id, redelivery])).toEqual([
      [events[6], 2],
      [events[2], 1],
    ])
    expect(await audited(of, 'webhook.redelivered')).toHaveLength(1)
    expect((await again({ since })).body).toEqual(none)
    const headers = { authorization: basic(of.owner), 'content-type': 'application/json', 'idempotency-key': 'nothing' }
    const keyed = () => request('POST', `${deliveries}/redeliver`, { headers, body: JSON.stringify({ since }) })
    for (let n = 0; n < 2; n++) expect(await keyed()).toMatchObject({ status: 202, body: { redelivered_count: 0, has_more: false } })
    // Nothing has changed, and nothing is recorded.
    expect(await audited(of, 'webhook.redelivered')).toHaveLength(1)
    expect((await again({ since, statuses: ['failed'] })).body).toEqual({ ...none, redelivered_count: 1 })
    expect((await again({ since: iso(START), statuses: ['failed', 'lost'] })).body).toEqual({ ...none, redelivered_count: 2 })
    expect((await again({ since: '2018-01-01T00:00:00-06:00', statuses: ['failed', 'lost'] })).body.redelivered_count).toBe(0)
  })

  it('a thousand at a time, and by twenty at once each event once', async () => {
    const { of, deliveries, webhook } = await logOf(Array.from({ length: 2_300 }, () => ({ status: 'lost' as const })))
    const again = () => of.ask('POST', `${deliveries}/redeliver`, { since: iso(START) })
    expect((await again()).body).toEqual({ redelivered_count: 1_000, sent_now_count: 0, has_more: true })
    const all = await Promise.all(Array.from({ length: 20 }, again))
    expect(all.reduce((sum, { body }) => sum + body.redelivered_count, 0)).toBe(1_300)
    expect(await countOf(webhook)).toBe(4_600)
    expect((await again()).body).toEqual(none)
  })

  it('with what waits: its next attempt is made now, under its number, and what is due stays as it is', async () => {
    const due = Date.parse(NOW) + 3_600_000
    const { of, deliveries, list } = await logOf([
      { status: 'pending', due_at: due },
      { status: 'delivered' },
      { status: 'pending', due_at: due },
      { status: 'pending', due_at: Date.parse(NOW) - 60_000 },
      { status: 'lost' },
      { status: 'failed' },
    ])
    const again = (body: object) => of.ask('POST', `${deliveries}/redeliver`, body)
    const dueNow = async () =>
      (await list('&status=pending')).map((one) => [one.redelivery, Date.parse(one.next_attempt_at!) - Date.parse(NOW)])
    const before = await dueNow()
    expect((await again({ since })).body).toEqual({ ...none, redelivered_count: 1 })
    expect(await dueNow()).toEqual([[1, 0], ...before])
    const all = ['lost', 'failed', 'pending']
    expect((await again({ since, statuses: all })).body).toEqual({ ...none, redelivered_count: 1, sent_now_count: 1 })
    // The first one is of an event before that time.
    expect(await dueNow()).toEqual([
      [1, 0],
      [1, 0],
      [0, -60_000],
      [0, 0],
      [0, 3_600_000],
    ])
    expect((await again({ since, statuses: all })).body).toEqual(none)
    expect(await audited(of, 'webhook.redelivered')).toHaveLength(2)
    expect((await again({ since: iso(START), statuses: ['pending'] })).body).toEqual({ ...none, sent_now_count: 1 })
    expect(await audited(of, 'webhook.redelivered')).toHaveLength(3)
  })

  it('what waits: a thousand at a time, by twenty at once each once, and nothing of another webhook', async () => {
    const waits = { status: 'pending' as const, due_at: Date.parse(NOW) + 60_000 }
    const one = await logOf(Array.from({ length: 1_300 }, () => waits))
    const other = await logOf([waits], one.of, START + 5_000)
    const again = () => one.of.ask('POST', `${one.deliveries}/redeliver`, { since: iso(START), statuses: ['pending'] })
    expect((await again()).body).toEqual({ ...none, sent_now_count: 1_000, has_more: true })
    const all = await Promise.all(Array.from({ length: 20 }, again))
    expect(all.reduce((sum, { body }) => sum + body.sent_now_count, 0)).toBe(300)
    expect((await other.list())[0]!.next_attempt_at).toBe(iso(waits.due_at))
  })

  it.each([
    [{}, 'since'],
    [{ since: 'yesterday' }, 'since'],
    [{ since, statuses: [] }, 'statuses'],
    [{ since, statuses: ['delivered'] }, 'statuses[0]'],
  ])('%j is 422', async (body, path) => {
    const { of, deliveries } = await logOf([])
    const reply = await of.ask('POST', `${deliveries}/redeliver`, body)
    expect([reply.status, reply.body.errors[0].path]).toEqual([422, path])
  })
})

type Call = [method: string, path: string, body?: object]

describe('a deleted webhook', () => {
  it('takes its log with it, however long it is, and no other’s', async () => {
    const rows = Array.from({ length: 2_500 }, () => ({ status: 'lost' as const }))
    const [gone, kept] = [await logOf(rows), await logOf(rows.slice(0, 10))]
    await gone.of.ask('DELETE', gone.path)
    const { env: watched, sent } = watchedEnv()
    const calls = () => (sent.splice(0) as { endpoint: string }[]).filter(({ endpoint }) => endpoint === gone.key).length
    // The message of its deletion was lost.
    await sweepDeliveries(systemIn(watched))
    while (calls() === 1) await deliverDue(systemIn(watched), gone.key)
    expect([await countOf(gone.webhook), await countOf(kept.webhook)]).toEqual([0, 10])
    expect(await env.EVENTS_0.prepare('select * from webhooks where webhook = ?').bind(gone.webhook).first()).toBeNull()
    await sweepDeliveries(systemIn(watched))
    expect(calls()).toBe(0)
    // What it was told of is still in the feed.
    expect((await gone.of.ask('GET', `/v1/events/${gone.events[0]}`)).status).toBe(200)
  })

  it.each([
    ['a test', (path: string): Call => ['POST', `${path}/test`]],
    ['an event again', (path: string, event: string): Call => ['POST', `${path}/deliveries/${event}/redeliver`]],
    ['all again', (path: string): Call => ['POST', `${path}/deliveries/redeliver`, { since: iso(START) }]],
  ])('is sent nothing any more, also when it is deleted while %s is asked for', async (_, call) => {
    const { of, path, events, webhook, key } = await logOf([{ status: 'lost' }])
    beforeBatch('insert into "deliveries"', async () => expect((await of.ask('DELETE', path)).status).toBe(204))
    const [method, where, body] = call(path, events[0]!)
    expect(codeOf(await of.ask(method, where, body))).toBe('404 webhook.not_found')
    expect(await countOf(webhook)).toBe(1)
    await deliverDue(systemIn(env), key)
    expect(await countOf(webhook)).toBe(0)
    expect((await of.ask('GET', '/v1/events')).body.data.length).toBe(1)
  })
})

describe('after ninety days', () => {
  it('events and their deliveries are forgotten, however many, and nothing younger', async () => {
    const of = await organization()
    const about = await linked(of)
    const { webhook, path } = await endpointOf(of)
    const limit = Date.parse(NOW) - 90 * 86_400_000
    const seqs = [...Array.from({ length: 4_100 }, (_, n) => limit - 1 - n), limit, limit + 1]
    const events = await happened(
      of,
      seqs.map((seq) => ({ seq, about })),
    )
    await logged(
      webhook,
      seqs.flatMap((seq) => [0, 1].map((redelivery) => ({ seq, redelivery, status: 'lost' as const }))),
    )
    const forget = () => daily(env, new Date(NOW))
    await forget()
    const { items } = await pagesOf<{ event_id: string }>(of, '/v1/events?limit=100')
    expect(items.map(({ event_id }) => event_id)).toEqual(events.slice(-2))
    expect((await pagesOf<Delivery>(of, `${path}/deliveries?limit=100`)).items.length).toBe(4)
    expect(await countOf(webhook)).toBe(4)
    await forget()
    expect(await countOf(webhook)).toBe(4)
  })
})

describe('after fourteen days', () => {
  const DAY = 86_400_000
  const limit = Date.parse(NOW) - 14 * DAY
  const forget = () => daily(env, new Date(NOW))
  const feed = async (of: Organization) =>
    (await pagesOf<{ event_id: string }>(of, '/v1/events?limit=100')).items.map(({ event_id }) => event_id)

  it('what told of no change is forgotten, and what told of one, of a failure or of anything else is kept', async () => {
    const of = await organization()
    const about = await linked(of)
    const older = Array.from({ length: 700 }, (_, n) => ({ seq: limit - 1 - n, about, key: 'sync.completed' as const }))
    const kept = [
      { seq: limit - 1_000, about, key: 'sync.completed' as const, created: 1 },
      { seq: limit - 1_001, about, key: 'sync.failed' as const },
      { seq: limit - 1_002, about },
      { seq: limit, about, key: 'sync.completed' as const },
    ]
    const events = await happened(
      of,
      [...older, ...kept].toSorted((a, b) => a.seq - b.seq),
    )
    await forget()
    expect(await feed(of)).toEqual([...events.slice(0, 3), events.at(-1)])
  })

  it.each(['pending', 'failed', 'lost'] as const)(
    'it is kept while a delivery of it is %s, and goes with the others after ninety',
    async (status) => {
      const of = await organization()
      const about = await linked(of)
      const [one, two] = [await endpointOf(of), await endpointOf(of)]
      const [received, open] = (await happened(of, [
        { seq: limit - 2, about, key: 'sync.completed' },
        { seq: limit - 1, about, key: 'sync.completed' },
      ])) as [string, string]
      await logged(
        one.webhook,
        [limit - 2, limit - 1].map((seq) => ({ seq, event_key: 'sync.completed', status: 'delivered' })),
      )
      await logged(two.webhook, [{ seq: limit - 1, event_key: 'sync.completed', status }])
      await forget()
      expect(await feed(of)).toEqual([open])
      expect(received).not.toBe(open)
      expect([await countOf(one.webhook), await countOf(two.webhook)]).toEqual([1, 1])
      await daily(env, new Date(Date.parse(NOW) + 77 * DAY))
      expect([await feed(of), await countOf(one.webhook), await countOf(two.webhook)]).toEqual([[], 0, 0])
    },
  )

  it('an event without a delivery is one row written when it comes and one when it goes', async () => {
    const of = await organization()
    const event_id = newId('evt')
    const body = JSON.stringify({ event: 'webhook.test', event_id, occurred_at: NOW, webhook_id: newId('wh') })
    const event = { organization_id: of.id, event_id, body, isUnique: false }
    const { cost } = await costOf(env.EVENTS_0, env.FILES, () => commit(env.EVENTS_0, insertEvents([event], Date.now())))
    expect(cost.rows_written).toBe(1)
    const about = await linked(of)
    await happened(
      of,
      Array.from({ length: 40 }, (_, n) => ({ seq: limit - 1 - n, about, key: 'sync.completed' as const, isLate: false })),
    )
    const system = systemOf(env, new Date(NOW), 'req_test')
    const forgetting = await costOf(env.EVENTS_0, env.FILES, () => pruneEvents(system))
    expect([forgetting.cost.rows_written, (await feed(of)).length]).toEqual([40, 1])
  })
})
