import { createMessageBatch } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { consume } from '../../src/app/work.ts'
import { PAYLOADS } from '../../src/delivery/catalog/payload-contract.ts'
import { sweepDeliveries } from '../../src/delivery/deliveries/delivery.ts'
import { relayOutbox } from '../../src/delivery/relay/relay.ts'
import { KEPT_MS, notifyMissed, sweepUnnotified } from '../../src/downloads/missed-cancellations.ts'
import { pruneJobs } from '../../src/downloads/pruning/prune.ts'
import { systemOf } from '../../src/platform/context.ts'
import type { OutboxEvent } from '../../src/platform/outbox/outbox.ts'
import { moveUnnotified } from '../../src/taxpayers/unnotified.ts'
import { drainNow } from '../authority/support/authority.ts'
import { pagesOf } from '../delivery/support/feed.ts'
import {
  cancelled,
  deliveriesOf,
  endpoints,
  feedOf,
  link,
  newEntity,
  organizations,
  systemIn,
  watchedEnv,
} from '../delivery/support/relay.ts'
import { connected, fetching, runNow } from '../platform/outbox/support/outbox-events.ts'
import { at, restore } from '../support/clock.ts'
import { reaching } from '../support/context.ts'
import { silenceQueues } from '../support/queues.ts'
import { connect } from '../support/tenants.ts'

const NOW = '2026-03-20T18:00:00Z'
const BOTH = ['sat_cfdi_issued', 'sat_cfdi_received']

let sent: unknown[]

beforeEach(() => {
  at(NOW)
  sent = silenceQueues()
})
afterEach(restore)

// biome-ignore lint/suspicious/noExplicitAny: a test looks at what it expects; the shape has been checked against the route.
type Notified = any

const system = () => systemOf(env, new Date(), 'req_test')
const relay = () => relayOutbox(system(), 0)

/** Two organizations with the same RFC. The first finds what is cancelled; the second sees less, and is not active meanwhile. */
async function shared() {
  const [first, second] = [await fetching(BOTH, 2), await fetching(BOTH, 1)]
  const { rfc, entity, fiscal_entity_id } = await connected(first)
  await drainNow(entity)
  const own = await connected(second, rfc)
  await drainNow(entity)
  await relay()
  const page = async (of: typeof first, id: string) =>
    (await pagesOf<Notified>(of, `/v1/cfdi?limit=100&fiscal_entity_id=${id}`)).items as { uuid: string; estatus: string }[]
  const valid = (all: readonly { uuid: string; estatus: string }[]) =>
    all.filter(({ estatus }) => estatus === 'vigente').map(({ uuid }) => uuid)
  const visible = valid(await page(second, own.fiscal_entity_id))
  const hidden = valid(await page(first, fiscal_entity_id)).filter((uuid) => !visible.includes(uuid))
  const find = async (uuids: readonly string[], when: string) => {
    for (const uuid of uuids) {
      const body = { fiscal_entity_id, cancellation_reason: '02' }
      expect((await first.ask('POST', `/v1/test-helpers/cfdi/${uuid}/cancel`, body)).status).toBe(200)
    }
    at(when)
    await runNow(first)
    await drainNow(entity)
    await relay()
  }
  const notified = async (of = second) => (await pagesOf<Notified>(of, '/v1/events?limit=100&event_key=cfdi.cancelled')).items
  /** Delivers what was sent for missed cancellations, and relays. */
  const hear = async () => {
    const messages = sent.splice(0).filter((body) => 'unnotified' in (body as object))
    const batch = messages.map((body, n) => ({ id: `m${n}`, timestamp: new Date(), attempts: 1, body }))
    await consume(createMessageBatch('fiscal-local-webhooks', batch), env)
    await relay()
    return messages.length
  }
  const row = () => env.DB.prepare('select * from connections where fiscal_entity_id = ?').bind(own.fiscal_entity_id).first<Notified>()
  const set = (state: string, more = '') =>
    env.DB.prepare(`update connections set state = ?2, updated_at = ?3 ${more} where fiscal_entity_id = ?1`)
      .bind(own.fiscal_entity_id, state, Date.now())
      .run()
  return { first, second, rfc, entity, id: own.fiscal_entity_id, visible, hidden, find, notified, hear, row, set }
}

type Shared = Awaited<ReturnType<typeof shared>>

const uuidsOf = (events: readonly Notified[]): string[] => events.map(({ cfdi_uuid }) => cfdi_uuid).sort()

describe('cancellations that were found while a connection was not active', () => {
  const ways: [string, (it: Shared) => Promise<unknown>, (it: Shared) => Promise<unknown>][] = [
    [
      'paused by the customer',
      ({ second, id }) => second.ask('PATCH', `/v1/billing/rfcs/${id}`, { active: false }),
      ({ second, id }) => second.ask('PATCH', `/v1/billing/rfcs/${id}`, { active: true }),
    ],
    [
      'with an invalid CIEC',
      ({ set }) => set('invalid_ciec'),
      ({ second, id }) => second.ask('PATCH', `/v1/fiscal-entities/${id}`, { ciec: 'secreta1' }),
    ],
    [
      'unlinked, and connected again',
      ({ second, id }) => second.ask('DELETE', `/v1/fiscal-entities/${id}`),
      ({ second, rfc }) => connect(second.owner, rfc),
    ],
    [
      'unlinked, a draft for a while, and then active',
      ({ second, id }) => second.ask('DELETE', `/v1/fiscal-entities/${id}`),
      async ({ second, rfc, id }) => {
        await second.ask('POST', '/v1/fiscal-entities', { rfc })
        await second.ask('PATCH', `/v1/fiscal-entities/${id}`, { ciec: 'secreta1' })
      },
    ],
    [
      'suspended for a debt',
      ({ set }) => set('paused', ", paused_from = 'active', paused_by = 'payment'"),
      ({ set }) => set('active', `, paused_from = null, paused_by = null, active_since = ${Date.parse('2026-03-25T18:00:00Z')}`),
    ],
  ]

  it.each(ways)('%s: are told once when it is active again, of what its window showed', async (_, leave, activate) => {
    const it = await shared()
    const [before, meanwhile] = [it.visible.slice(0, 3), it.visible.slice(3, 9)]
    await it.find(before, '2026-03-21T18:00:00Z')
    const earlier = await it.notified()
    expect(uuidsOf(earlier)).toEqual(expect.arrayContaining(before))
    at('2026-03-22T18:00:00Z')
    await leave(it)
    await it.find([...meanwhile, ...it.hidden.slice(0, 4)], '2026-03-23T18:00:00Z')
    const all = await it.notified(it.first)
    if ((await it.row()).state !== 'unlinked') expect(await it.notified()).toEqual(earlier)
    at('2026-03-25T18:00:00Z')
    await activate(it)
    if ((await it.hear()) === 0) await sweepUnnotified(system()).then(relay)
    const notified = await it.notified()
    const missed = notified.filter(({ event_id }) => !earlier.some((one) => one.event_id === event_id))
    // Everything that the first was told of meanwhile and that the second could see, and nothing else.
    const expected = uuidsOf(all).filter((uuid) => it.visible.includes(uuid))
    expect(uuidsOf(notified)).toEqual(expected)
    expect(uuidsOf(missed)).toEqual(expect.arrayContaining(meanwhile))
    expect(uuidsOf(all).length).toBeGreaterThanOrEqual(expected.length + 4)
    for (const event of missed) {
      expect(PAYLOADS['cfdi.cancelled'].safeParse(event).error).toBeUndefined()
      // No time of the other's run is told.
      expect(event.occurred_at).toBe('2026-03-25T18:00:00.000Z')
    }
    const critical = uuidsOf(notified.filter(({ severity }) => severity === 'critical'))
    const after = await pagesOf<Notified>(it.second, '/v1/events?limit=100&event_key=cfdi.cancelled_after_payment')
    expect(uuidsOf(after.items)).toEqual(critical)
    expect((await it.row()).unnotified).toBeNull()

    // Its own download, another message and another sweep find nothing new of these, and neither does leaving and coming again.
    await it.find([], '2026-03-26T18:00:00Z')
    await notifyMissed(system(), (await it.row()).connection)
    await sweepUnnotified(system())
    await it.set('paused')
    await it.set('active', ', active_since = updated_at + 1')
    await sweepUnnotified(system())
    await relay()
    const later = await it.notified()
    expect(later.filter(({ cfdi_uuid }) => expected.includes(cfdi_uuid))).toEqual(notified)
  })

  it('are told as now to those who are active', async () => {
    const it = await shared()
    await it.find(it.visible.slice(0, 3), '2026-03-21T18:00:00Z')
    expect(uuidsOf(await it.notified())).toEqual(expect.arrayContaining(it.visible.slice(0, 3)))
    expect((await it.row()).unnotified).toBeNull()
    expect(await it.hear()).toBe(0)
  })
})

/** A connection with cancellations of the time when it was not active, past the front door, so that there can be many. */
async function missing(count: number) {
  const [organization_id] = (await organizations([{ extractor_count: 1 }])) as [string]
  const entity = newEntity()
  const left = Date.parse('2026-03-10T18:00:00Z')
  await link([{ organization_id, ...entity, state: 'active', ...reaching(['2026-03-01', NOW]) }])
  const unnotified = JSON.stringify({ since: left, ...reaching(['2026-03-01', left]) })
  await env.DB.prepare('update connections set unnotified = ?2, active_since = ?3 where entity = ?1')
    .bind(entity.entity, unnotified, Date.parse(NOW))
    .run()
  const [webhook] = await endpoints([{ organization_id, event_keys: ['cfdi.cancelled'] }])
  const found: { found_at: number; event: OutboxEvent; isNotified: boolean }[] = Array.from({ length: count }, (_, n) => {
    // One in five was found with others at one instant; one in three is outside the window of then, though inside the one of now.
    const found_at = left + 60_000 * (n - (n % 5))
    const isNotified = n % 3 !== 0
    const fecha = isNotified ? '2026-03-04T10:15:00' : n % 2 === 0 ? '2026-02-28T10:15:00' : '2026-03-12T10:15:00'
    return { found_at, event: cancelled(entity.entity, fecha, { detected_at: found_at }), isNotified }
  })
  const keep = async (all: typeof found) =>
    all.length > 0 &&
    env.LEDGER_0.batch(
      all.map(({ found_at, event: { body } }) =>
        env.LEDGER_0.prepare('insert into cancellations (entity, found_at, uuid, body) values (?, ?, ?, ?)').bind(
          entity.entity,
          found_at,
          body['cfdi_uuid'],
          JSON.stringify(body),
        ),
      ),
    )
  await keep(found)
  const connection = (await env.DB.prepare('select connection from connections where entity = ?')
    .bind(entity.entity)
    .first<number>('connection'))!
  const expected = found.filter(({ isNotified }) => isNotified).map(({ event }) => event.body['cfdi_uuid'] as string)
  const state = () => env.DB.prepare('select unnotified from connections where connection = ?').bind(connection).first<string>('unnotified')
  return { organization_id, ...entity, left, connection, webhook: webhook!, expected: expected.sort(), state, keep }
}

const fed = async (organization_id: string): Promise<string[]> => uuidsOf((await feedOf([organization_id])).map(({ body }) => body))

describe('a crash', () => {
  it.each(['before', 'after'] as const)('%s any round trip loses nothing and tells nothing twice', async (when) => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const places: string[] = []
    for (let step = 1; step < 100; step++) {
      const it = await missing(130)
      let [steps, died] = [0, '']
      const dying = watchedEnv((name, now) => {
        if (now === 'before') steps++
        if (died === '' && steps === step && now === when) died = `${step} ${name} ${when}`
        if (died !== '') throw new Error(`Died at ${died}.`)
      })
      await notifyMissed(systemIn(dying.env), it.connection)
        .then(() => relayOutbox(systemIn(dying.env), 0))
        .catch(() => {})
      if (died !== '') places.push(died)
      // Its hold of the lane is left to run out. The sweep finds the rest; the message comes again, twice.
      vi.setSystemTime(Date.now() + 31_000)
      const healthy = watchedEnv()
      await sweepUnnotified(systemIn(healthy.env))
      await Promise.all([1, 2].map(() => notifyMissed(systemIn(healthy.env), it.connection)))
      await relayOutbox(systemIn(healthy.env), 0)
      await sweepDeliveries(systemIn(healthy.env))
      expect(await fed(it.organization_id), died).toEqual(it.expected)
      expect(await deliveriesOf([it.webhook]), died).toHaveLength(it.expected.length)
      expect(await it.state(), died).toBeNull()
      if (died === '') break
    }
    // Two pages, each with who it is, what was found, the outbox and the place; then the relay.
    expect(places.length).toBeGreaterThanOrEqual(2 * 4 + 5)
    expect(new Set(places.map((cursor) => cursor.split(' ')[1])).size).toBeGreaterThanOrEqual(4)
  })
})

describe('many missed cancellations', () => {
  it('go on by themselves, in pages of a hundred and messages of twenty pages', async () => {
    const it = await missing(2_050)
    const { env: watched, sent: messages } = watchedEnv()
    await notifyMissed(systemIn(watched), it.connection)
    expect(messages).toEqual([{ outbox: 0 }, { unnotified: it.connection }])
    expect(JSON.parse((await it.state())!)).toMatchObject({ after: [expect.any(Number), expect.any(String)] })
    await notifyMissed(systemIn(watched), it.connection)
    expect(await it.state()).toBeNull()
    await relay()
    await relay()
    expect(await fed(it.organization_id)).toEqual(it.expected)
  })

  it('leave and come again: what was found after the place is told, also when the window has not changed', async () => {
    const it = await missing(0)
    const late = cancelled(it.entity, '2026-03-04T10:15:00')
    const move = (state: string, more = '') =>
      env.DB.prepare(`update connections set state = ?2, updated_at = ?3 ${more} where connection = ?1`)
        .bind(it.connection, state, Date.now())
        .run()
    const unnotified = await it.state()
    await move('paused')
    await it.keep([{ found_at: Date.now(), event: late, isNotified: true }])
    await move('active', ', active_since = active_since + 1')
    // Who read the row before it was left must not clear it.
    const stale = { connection: it.connection, active_since: Date.parse(NOW), unnotified: unnotified! } as Parameters<
      typeof moveUnnotified
    >[1]
    expect(await moveUnnotified(system().db, stale, null)).toBe(false)
    await sweepUnnotified(system())
    await relay()
    expect(await fed(it.organization_id)).toEqual([late.body['cfdi_uuid']])
  })

  it('cost nothing while there is nothing to tell: the sweep reads an empty index', async () => {
    await sweepUnnotified(system())
    const { meta, results } = await env.DB.prepare(
      "select connection from connections indexed by connections_unnotified where unnotified is not null and state = 'active'",
    ).all()
    expect(results).toEqual([])
    expect(meta.rows_read).toBeLessThanOrEqual(1)
  })

  it('are kept for 90 days', async () => {
    const it = await missing(0)
    const edge = Date.now() - KEPT_MS
    const [old, kept] = [cancelled(it.entity, '2026-03-04T10:15:00'), cancelled(it.entity, '2026-03-04T10:15:00')]
    await env.DB.prepare('update connections set unnotified = json_set(unnotified, ?2, 0) where connection = ?1')
      .bind(it.connection, '$.since')
      .run()
    await it.keep([
      { found_at: edge - 1, event: old, isNotified: false },
      { found_at: edge, event: kept, isNotified: true },
    ])
    await sweepUnnotified(system())
    await relay()
    expect(await fed(it.organization_id)).toEqual([kept.body['cfdi_uuid']])
    await env.LEDGER_0.prepare('insert into entities (entity, rfc) values (?, ?)').bind(it.entity, it.rfc).run()
    const recent = cancelled(it.entity, '2026-03-04T10:15:00')
    await it.keep([{ found_at: Date.now(), event: recent, isNotified: true }])
    // Each entity is pruned on its day of the month.
    for (let day = 1; day <= 28; day++) await pruneJobs({ ...system(), now: new Date(Date.UTC(2026, 3, day, 18)) })
    const { results } = await env.LEDGER_0.prepare('select uuid from cancellations where entity = ?')
      .bind(it.entity)
      .all<{ uuid: string }>()
    expect(results.map(({ uuid }) => uuid)).toEqual([recent.body['cfdi_uuid']])
  })
})
