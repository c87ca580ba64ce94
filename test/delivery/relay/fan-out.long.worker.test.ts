import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { fanOut, relayOutbox, sweepOutboxes } from '../../../src/delivery/relay/relay.ts'
import type { OutboxEvent } from '../../../src/platform/outbox/outbox.ts'
import { at, restore } from '../../support/clock.ts'
import { reaching } from '../../support/context.ts'
import { runs } from '../../support/fuzz.ts'
import { costOf } from '../../support/meter.ts'
import { silenceQueues } from '../../support/queues.ts'
import {
  cancelled,
  deliveriesOf,
  endpoints,
  feedOf,
  type Linked,
  left,
  link,
  newEntity,
  notify,
  organizations,
  systemIn,
  type Watch,
  watchedEnv,
} from '../support/relay.ts'

/** What breaks without it: one customer with many endpoints, or an RFC with many customers, makes everybody wait or the platform refuse. */

const NOW = '2026-03-20T20:00:00.000Z'
const KEY = 'cfdi.cancelled'
const MOST_STATEMENTS = 900
const MOST_DELIVERIES = 3_000
/** 8,000 made 584,000 deliveries in one batch. Fewer show the bound as well. */
const ENDPOINTS = runs(1_000, 8_000)

beforeEach(() => {
  at(NOW)
  silenceQueues()
})
afterEach(restore)

type World = Awaited<ReturnType<typeof organizationWith>>

async function organizationWith(count: number, entity = newEntity()) {
  const [organization_id] = (await organizations([{ extractor_count: 0 }])) as [string]
  await link([{ organization_id, ...entity, state: 'active', ...reaching(null) } as Linked])
  const webhooks = count === 0 ? [] : await endpoints(Array.from({ length: count }, () => ({ organization_id, event_keys: [KEY] })))
  return { organization_id, webhooks, entity }
}
const facts = ({ entity }: World, count: number): OutboxEvent[] =>
  Array.from({ length: count }, () => cancelled(entity.entity, '2026-03-03T10:15:00'))
const countOf = async (endpoints: readonly string[]): Promise<number> =>
  (await env.EVENTS_0.prepare('select count(*) as n from deliveries where webhook in (select value from json_each(?))')
    .bind(JSON.stringify(endpoints.map((key) => Number(key.split('.')[1]))))
    .first<number>('n'))!
const waiting = async (): Promise<number> => (await env.EVENTS_0.prepare('select count(*) as n from fan_outs').first<number>('n'))!
/** Each event of an organization to each of its endpoints. */
const productOf = async (worlds: readonly World[]): Promise<string[]> =>
  (
    await Promise.all(
      worlds.map(async ({ organization_id, webhooks }) =>
        (await feedOf([organization_id])).flatMap(({ event_id }) => webhooks.map((webhook) => `${webhook} ${event_id}`)),
      ),
    )
  )
    .flat()
    .sort()

/** Handles messages, and those that they send, until none is left. Returns what each invocation cost, and the deliveries of the largest batch. */
async function work(it: ReturnType<typeof watchedEnv>, first: unknown[]) {
  const costs: { statements: number; written: number }[] = []
  it.sent.splice(0, it.sent.length, ...first)
  for (let n = 0; n < 2_000; n++) {
    const at = it.sent.findIndex((message) => !('endpoint' in (message as object)))
    if (at === -1) break
    const [message] = it.sent.splice(at, 1) as [{ outbox: number } | { shard: number; fan_out: string }]
    const { cost } = await costOf(env.DB, env.FILES, () =>
      'outbox' in message ? relayOutbox(systemIn(it.env), message.outbox) : fanOut(systemIn(it.env), message.shard, message.fan_out),
    )
    costs.push({ statements: cost.d1_statements, written: cost.rows_written })
  }
  return costs
}

/** The number of rows that the largest batch inserts into deliveries. */
function largest() {
  const seen = { deliveries: 0, batches: 0 }
  const proto = Object.getPrototypeOf(env.DB) as D1Database
  const batch = proto.batch
  vi.spyOn(proto, 'batch').mockImplementation(async function (this: D1Database, statements: D1PreparedStatement[]) {
    const results = await batch.call(this, statements)
    const made = statements.flatMap((one, n) =>
      /^\s*insert into "deliveries"/.test((one as unknown as { statement: string }).statement) ? [results[n]!.results.length] : [],
    )
    if (made.length > 0) seen.batches++
    seen.deliveries = Math.max(seen.deliveries, ...made)
    return results as never
  })
  return seen
}

describe(`an organization with ${ENDPOINTS} endpoints and 73 events`, () => {
  it('delays no other by more than one page, and every batch and every message is bounded', async () => {
    const many = await organizationWith(ENDPOINTS)
    const one = await organizationWith(1)
    await notify(env.LEDGER_0, facts(many, 73))
    await notify(env.LEDGER_0, facts(one, 1))
    const seen = largest()
    let pages = 0
    const watch: Watch = (name, when, batch) => {
      if (name === 'EVENTS_0' && when === 'after' && batch.some(({ statement }) => /insert into "deliveries"/.test(statement))) pages++
    }
    const it = watchedEnv(watch)
    // One page alone: the second organization has its delivery.
    const mutex = { enter: async () => pages === 0, leave: async () => false }
    await relayOutbox(systemIn({ ...it.env, MUTEXES: { getByName: () => mutex } } as unknown as Env), 0)
    expect([pages, await countOf(one.webhooks)]).toEqual([1, 1])
    expect(await countOf(many.webhooks)).toBeGreaterThan(0)

    const costs = await work(it, [{ outbox: 0 }, { shard: 0, fan_out: many.organization_id }])
    expect(Math.max(...costs.map(({ statements }) => statements))).toBeLessThan(MOST_STATEMENTS)
    expect(seen.deliveries).toBeLessThanOrEqual(MOST_DELIVERIES)
    expect([await countOf(many.webhooks), await waiting(), await left(env.LEDGER_0)]).toEqual([73 * ENDPOINTS, 0, []])
  }, 300_000)

  it('has its endpoints woken once for many events, not for each', async () => {
    const many = await organizationWith(120)
    await notify(env.LEDGER_0, facts(many, 50))
    const it = watchedEnv()
    const woken: string[] = []
    const original = it.env.WEBHOOKS.sendBatch.bind(it.env.WEBHOOKS)
    it.env.WEBHOOKS.sendBatch = (async (messages: Iterable<{ body: { endpoint?: string } }>) => {
      for (const { body } of messages) if (body.endpoint) woken.push(body.endpoint)
      return original(messages as never)
    }) as never
    await work(it, [{ outbox: 0 }])
    expect(woken.sort()).toEqual(many.webhooks.toSorted())
    expect(await deliveriesOf(many.webhooks)).toEqual(await productOf([many]))
  })
})

describe('an RFC with many organizations', () => {
  it('takes several pages for an event, and others with few recipients do not wait for it', async () => {
    const entity = newEntity()
    const many: World[] = []
    for (let n = 0; n < 260; n++) many.push(await organizationWith(n % 3, { ...entity, fiscal_entity_id: newEntity().fiscal_entity_id }))
    const one = await organizationWith(1)
    await notify(env.LEDGER_0, [...facts(many[0]!, 3), ...facts(one, 1)])
    let pages = 0
    const it = watchedEnv((name, when, batch) => {
      if (name === 'EVENTS_0' && when === 'after' && batch.length > 1) pages++
    })
    const mutex = { enter: async () => pages === 0, leave: async () => false }
    await relayOutbox(systemIn({ ...it.env, MUTEXES: { getByName: () => mutex } } as unknown as Env), 0)
    expect((await feedOf([one.organization_id])).length).toBe(1)
    expect((await feedOf(many.map(({ organization_id }) => organization_id))).length).toBeLessThanOrEqual(3 * 50)
    const progress = await env.LEDGER_0.prepare('select progress from outbox order by outbox_event_id').all<{ progress: number }>()
    expect(progress.results.every(({ progress }) => progress > 0)).toBe(true)
    await work(it, [{ outbox: 0 }])
    for (const { organization_id } of many) expect((await feedOf([organization_id])).length).toBe(3)
    expect(await deliveriesOf(many.flatMap(({ webhooks }) => webhooks))).toEqual(await productOf(many))
    expect(await left(env.LEDGER_0)).toEqual([])
  })

  it('takes several pages also for an event that names its organizations, and tells each that is named', async () => {
    const entity = newEntity()
    const many: World[] = []
    for (let n = 0; n < 170; n++) many.push(await organizationWith(0, { ...entity, fiscal_entity_id: newEntity().fiscal_entity_id }))
    const named = many.filter((_, n) => n % 3 !== 0).map(({ organization_id }) => organization_id)
    const fact: OutboxEvent = {
      ...{ outbox_event_id: `connection.ciec_invalid:${entity.entity}:many`, kind: 'connection.ciec_invalid', entity: entity.entity },
      ...{ organizations: [...named, 'org_of_nobody'], body: { rejected_at: NOW, invalid_reason: 'rejected' } },
    }
    await notify(env.DB, [fact])
    const it = watchedEnv()
    await work(it, [{ outbox: 'control' }])
    const notified = await feedOf(many.map(({ organization_id }) => organization_id))
    expect(notified.map(({ organization_id }) => organization_id).sort()).toEqual(named.sort())
    expect(await left(env.DB)).toEqual([])
  })
})

describe('a crash of a fan-out', () => {
  it.each(['before', 'after'] as const)(
    '%s any round trip loses and doubles nothing: the sweep goes on where it stopped',
    async (when) => {
      let ended = false
      const places = new Set<string>()
      for (let step = 1; !ended; step++) {
        const worlds = [await organizationWith(45), await organizationWith(2)]
        for (const world of worlds) await notify(env.LEDGER_0, facts(world, 2))
        let [steps, died] = [0, '']
        const dying = watchedEnv((name, now) => {
          if (now === 'before') steps++
          if (died === '' && steps === step && now === when) died = `${name} ${when}`
          if (died !== '') throw new Error(`Died at ${died}.`)
        })
        await relayOutbox(systemIn(dying.env), 0)
          .then(() => fanOut(systemIn(dying.env), 0, worlds[0]!.organization_id))
          .catch(() => {})
        ended = died === ''
        if (!ended) places.add(died)
        vi.setSystemTime(Date.now() + 31_000)
        const healthy = watchedEnv()
        await sweepOutboxes(systemIn(healthy.env))
        await work(healthy, healthy.sent.slice())
        for (const world of worlds) expect((await feedOf([world.organization_id])).length, `${step} ${died}`).toBe(2)
        expect(await deliveriesOf(worlds.flatMap(({ webhooks }) => webhooks)), `${step} ${died}`).toEqual(await productOf(worlds))
        expect([await waiting(), await left(env.LEDGER_0)], `${step} ${died}`).toEqual([0, []])
      }
      expect(places.size).toBeGreaterThanOrEqual(4)
    },
    300_000,
  )
})

describe('messages of a fan-out', () => {
  it('that come several times at once, also without a mutex, deliver each event once to each endpoint', async () => {
    const world = await organizationWith(300)
    await notify(env.LEDGER_0, facts(world, 5))
    const it = watchedEnv()
    await relayOutbox(systemIn(it.env), 0)
    const free = { ...it.env, MUTEXES: { getByName: () => ({ enter: async () => true, leave: async () => false }) } } as unknown as Env
    await Promise.all(Array.from({ length: 8 }, () => fanOut(systemIn(free), 0, world.organization_id)))
    await work(it, [{ shard: 0, fan_out: world.organization_id }])
    expect(await deliveriesOf(world.webhooks)).toEqual(await productOf([world]))
    expect(await waiting()).toBe(0)
  })

  it('leave out endpoints that are disabled, deleted, not subscribed or newer than the event', async () => {
    const world = await organizationWith(30)
    const { organization_id } = world
    await endpoints([
      { organization_id, event_keys: [KEY], is_enabled: false },
      { organization_id, event_keys: [KEY], deleted_at: 5 },
      { organization_id, event_keys: ['sync.completed'] },
    ])
    await notify(env.LEDGER_0, facts(world, 2))
    const it = watchedEnv()
    await relayOutbox(systemIn(it.env), 0)
    const [late] = (await endpoints([{ organization_id, event_keys: [KEY] }])) as unknown as [string]
    await env.EVENTS_0.prepare('update webhooks set created_at = ? where webhook = ?')
      .bind(Date.now() + 60_000, Number(late.split('.')[1]))
      .run()
    await work(it, [{ shard: 0, fan_out: organization_id }])
    const all = (
      await env.EVENTS_0.prepare('select webhook from webhooks where organization_id = ?').bind(organization_id).all<{ webhook: number }>()
    ).results
    expect(await deliveriesOf(all.map(({ webhook }) => `0.${webhook}`))).toEqual(await productOf([world]))
  })
})
