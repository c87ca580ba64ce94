import { env } from 'cloudflare:workers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { deliverDue, sweepDeliveries } from '../../src/delivery/deliveries/delivery.ts'
import { relayOutbox, sweepOutboxes } from '../../src/delivery/relay/relay.ts'
import { at, restore } from '../support/clock.ts'
import { reaching } from '../support/context.ts'
import { daily } from '../support/crons.ts'
import { silenceQueues } from '../support/queues.ts'
import { audited, type Organization, organization } from '../support/tenants.ts'
import { endpointOf, happened, linked, pagesOf } from './support/feed.ts'
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
  watchedEnv,
} from './support/relay.ts'
import { eventsOf, inShards, SHARDS, shardOf } from './support/shards.ts'

/** What organizations are told, with one events shard (project workers) and with three (project shards). */

const NOW = '2026-03-20T20:00:00.000Z'
const TABLES = ['events', 'deliveries', 'webhooks', 'alerts', 'receipts', 'audit_events']
const key = { event_keys: ['cfdi.cancelled'] }

beforeEach(() => {
  at(NOW)
  silenceQueues()
})
afterEach(restore)

/** An organization in each shard, through the front door. */
async function oneInEach(): Promise<Organization[]> {
  const found = new Map<number, Organization>()
  for (let n = 0; n < 60 && found.size < SHARDS.length; n++) {
    const of = await organization()
    found.set(await shardOf(of.id), of)
  }
  expect([...found.keys()].sort()).toEqual([...SHARDS.keys()])
  return [...SHARDS.keys()].map((shard) => found.get(shard)!)
}

/** How many rows each shard has, by table. */
const rows = () =>
  Promise.all(
    SHARDS.map(async (d1) =>
      Promise.all(TABLES.map(async (table) => (await d1.prepare(`select count(*) as n from ${table}`).first<number>('n'))!)),
    ),
  )

describe('an organization', () => {
  it('is given one of the shards, and keeps all that it is told and its webhooks there', async () => {
    for (const [shard, of] of (await oneInEach()).entries()) {
      const before = await rows()
      const { path, webhook_id } = await endpointOf(of, { url: `https://hooks-${shard}.shards.example/in` })
      for (let n = 0; n < 3; n++) {
        await of.ask('POST', `${path}/test`)
        const refusing = { ...env, EGRESS: { fetch: async () => new Response(null, { status: 400 }) } } as unknown as Env
        const webhook = await SHARDS[shard]!.prepare('select webhook from webhooks where webhook_id = ?').bind(webhook_id).first('webhook')
        await deliverDue(systemIn(refusing), `${shard}.${webhook}`)
      }
      const feed = (await pagesOf<{ event_id: string }>(of, '/v1/events?limit=2')).items
      const log = (await pagesOf<{ event_id: string; status: string }>(of, `${path}/deliveries?limit=2`)).items
      expect([feed.length, log.map(({ status }) => status)]).toEqual([3, ['failed', 'failed', 'failed']])
      expect((await of.ask('POST', `${path}/deliveries/${log[0]!.event_id}/redeliver`)).body).toMatchObject({ redelivery: 1 })
      const again = await of.ask('POST', `${path}/deliveries/redeliver`, { since: NOW, statuses: ['failed'] })
      expect([again.status, again.body.redelivered_count]).toEqual([202, 2])
      const [alert] = (await of.ask('GET', '/v1/alerts')).body.data
      expect(alert).toMatchObject({ kind: 'webhook.undelivered', resource_id: webhook_id, read_at: null })
      expect((await of.ask('POST', `/v1/alerts/${alert.alert_id}/read`)).body.read_at).toBe(NOW)
      expect((await of.ask('GET', '/v1/billing/usage')).body.quotas.webhooks.used).toBe(1)
      const after = await rows()
      for (const other of SHARDS.keys()) if (other !== shard) expect(after[other]).toEqual(before[other])
      // Three events, six deliveries, a webhook, an alert, no receipt without a key, and an audit event for each change.
      expect(after[shard]!.map((n, table) => n - before[shard]![table]!)).toEqual([3, 6, 1, 1, 0, 7])
    }
  })

  it('has one audit log, newest first, page by page, whatever database a change lies in', async () => {
    for (const of of await oneInEach()) {
      const expected: string[] = []
      for (let n = 0; n < 4; n++) {
        vi.setSystemTime(Date.now() + 1)
        await endpointOf(of)
        vi.setSystemTime(Date.now() + 1)
        await of.ask('PATCH', '/v1/organization', { name: `Nombre ${n}` })
        expected.unshift('organization.updated', 'webhook.created')
      }
      for (const limit of [1, 3, 100]) {
        const { items } = await pagesOf<{ action: string }>(of, `/v1/audit-events?limit=${limit}`)
        expect(items.map(({ action }) => action).slice(0, 8)).toEqual(expected)
      }
      expect((await audited(of, 'webhook.created')).length).toBe(4)
    }
  })

  it('has 20 webhooks at most, however many are asked for at once', async () => {
    for (const of of await oneInEach()) {
      const draft = { name: 'ERP', url: 'https://hooks.example.com/in', ...key }
      const answers = await Promise.all(Array.from({ length: 30 }, () => of.ask('POST', '/v1/webhooks', draft)))
      expect(answers.filter(({ status }) => status === 201).length).toBe(20)
      expect(new Set(answers.filter(({ status }) => status !== 201).map(({ body }) => body.code))).toEqual(new Set(['webhook.plan_limit']))
      expect((await audited(of, 'webhook.created')).length).toBe(20)
    }
  })
})

describe('messages about endpoints of the same number', () => {
  it('reach each endpoint in its shard, and the sweep finds them all', async () => {
    const all = await organizations(SHARDS.map((_, events_shard) => ({ extractor_count: 0, events_shard })))
    const names = await endpoints(all.map((organization_id, n) => ({ organization_id, ...key, url: `https://hooks-${n}.example.com/` })))
    const webhook = Math.max(...names.map((name) => Number(name.split('.')[1])))
    for (const d1 of SHARDS) {
      await d1.prepare('update webhooks set webhook = ?1 where webhook = (select max(webhook) from webhooks)').bind(webhook).run()
      await d1
        .prepare(
          `insert into deliveries (webhook, seq, redelivery, event_key, status, due_at, attempts, created_at)
           values (?1, 1, 0, 'cfdi.cancelled', 'pending', 0, '[]', 0)`,
        )
        .bind(webhook)
        .run()
    }
    const it = watchedEnv()
    await sweepDeliveries(systemIn(it.env))
    expect(it.sent).toEqual(expect.arrayContaining(SHARDS.map((_, shard) => ({ endpoint: `${shard}.${webhook}` }))))
    await inShards('delete from deliveries where webhook = ?', webhook)
  })
})

/** An RFC of an organization in each shard, each with an endpoint. */
async function shared() {
  const ids = await organizations(SHARDS.map((_, events_shard) => ({ extractor_count: 0, events_shard })))
  const entity = newEntity()
  await link(
    ids.map(
      (organization_id) =>
        ({ organization_id, ...entity, state: 'active', ...reaching(null), fiscal_entity_id: newEntity().fiscal_entity_id }) as Linked,
    ),
  )
  const hooks = await endpoints(ids.map((organization_id) => ({ organization_id, ...key })))
  const notifyAll = (count: number) =>
    notify(
      env.LEDGER_0,
      Array.from({ length: count }, () => cancelled(entity.entity, '2026-03-03T10:15:00')),
    )
  const notified = async () => Promise.all(ids.map(async (id) => (await feedOf([id])).length))
  return { ids, hooks, notifyAll, notified }
}
const outbox = 0

describe('a page of the relay with organizations in several shards', () => {
  it('is one batch in each, and then one in the outbox', async () => {
    const { notifyAll, notified, hooks } = await shared()
    await notifyAll(10)
    const batches: string[] = []
    const it = watchedEnv((name, when, batch) => {
      if (when === 'before' && batch.length > 0) batches.push(name)
    })
    await relayOutbox(systemIn(it.env), outbox)
    expect(await notified()).toEqual(SHARDS.map(() => 10))
    expect((await deliveriesOf(hooks)).length).toBe(10 * SHARDS.length)
    const commits = SHARDS.map((_, shard) => `EVENTS_${shard}`)
    // The events, the outbox, and the records of what the shards know, which are cleared.
    expect(batches.toSorted()).toEqual([...commits, ...commits, 'LEDGER_0'].toSorted())
    expect(batches.indexOf('LEDGER_0')).toBe(SHARDS.length)
    expect(await inShards('select known from relays where outbox = ?', String(outbox))).toEqual(SHARDS.map(() => ({ known: '{}' })))
  })

  it('that loses one of them tells the others, puts nothing aside, and tells the rest once it is back', async () => {
    const { notifyAll, notified } = await shared()
    await notifyAll(30)
    const broken = SHARDS.length - 1
    const down = watchedEnv((name, when, batch) => {
      if (name === `EVENTS_${broken}` && when === 'before' && batch.length > 0) throw new Error('D1 is overloaded.')
    })
    vi.spyOn(console, 'error').mockImplementation(() => {})
    for (let n = 0; n < 8; n++) {
      await relayOutbox(systemIn(down.env), outbox)
      vi.setSystemTime(Date.now() + 600_000)
    }
    expect(await notified()).toEqual(SHARDS.map((_, shard) => (shard === broken ? 0 : 30)))
    expect((await left(env.LEDGER_0)).length).toBe(30)
    expect(await env.LEDGER_0.prepare('select count(*) as n from outbox_quarantined').first('n')).toBe(0)
    await relayOutbox(systemIn(env), outbox)
    expect([await notified(), await left(env.LEDGER_0)]).toEqual([SHARDS.map(() => 30), []])
  })

  it.each(['before', 'after'] as const)('that dies %s any round trip tells each of them once', async (when) => {
    for (let step = 1, isOver = false; !isOver; step++) {
      const { notifyAll, notified, hooks } = await shared()
      await notifyAll(3)
      expect(step, 'It never ends.').toBeLessThan(60)
      let [steps, hasDied] = [0, false]
      const dying = watchedEnv((_, now) => {
        if (now === when) steps++
        if (steps === step && now === when) hasDied = true
        if (hasDied) throw new Error('Died.')
      })
      await relayOutbox(systemIn(dying.env), outbox).catch(() => {})
      isOver = !hasDied
      if (isOver) expect(step).toBeGreaterThan(8)
      vi.setSystemTime(Date.now() + 31_000)
      await sweepOutboxes(systemIn(watchedEnv().env))
      await relayOutbox(systemIn(watchedEnv().env), outbox)
      expect([await notified(), (await deliveriesOf(hooks)).length, await left(env.LEDGER_0)], `${step}`).toEqual([
        SHARDS.map(() => 3),
        3 * SHARDS.length,
        [],
      ])
    }
  })

  it('that was appended and not crossed off is not appended again, also when its outbox event has got another time', async () => {
    const { ids } = await shared()
    const { entity } = (await env.DB.prepare('select entity from connections where organization_id = ?')
      .bind(ids[0])
      .first<{ entity: number }>())!
    const fact = { kind: 'connection.ciec_invalid' as const, entity, organizations: ids, body: { rejected_at: NOW } }
    await notify(env.LEDGER_0, [{ ...fact, outbox_event_id: `connection.ciec_invalid:${entity}:late` }])
    const dying = watchedEnv((name, when, batch) => {
      if (name === 'LEDGER_0' && when === 'before' && batch.some(({ statement }) => /delete from "outbox"/.test(statement)))
        throw new Error('Died.')
    })
    await expect(relayOutbox(systemIn(dying.env), outbox)).rejects.toThrow('Died.')
    const before = await feedOf(ids)
    expect(before.length).toBe(SHARDS.length)
    await env.LEDGER_0.prepare('update outbox set created_at = created_at + 5000').run()
    await relayOutbox(systemIn(env), outbox)
    expect([await feedOf(ids), await left(env.LEDGER_0)]).toEqual([before, []])
  })

  it('that two relays have read is appended by one of them, also when the other had stalled', async () => {
    const { notifyAll, notified } = await shared()
    await notifyAll(120)
    const free = { getByName: () => ({ enter: async () => true, leave: async () => false }) }
    let hasRun = false
    const stalled = watchedEnv((name, when, batch) => {
      // Right before its first commit, another one relays everything.
      if (hasRun || name !== 'EVENTS_0' || when !== 'before' || batch.length === 0) return
      hasRun = true
      throw new Error('Wait.')
    })
    const database = stalled.env.EVENTS_0
    const EVENTS_0 = new Proxy(database, {
      get: (target, name) =>
        name === 'batch'
          ? async (statements: D1PreparedStatement[]) => {
              try {
                return await target.batch(statements)
              } catch (error) {
                if (!(error instanceof Error && error.message === 'Wait.')) throw error
                await relayOutbox(systemIn({ ...env, MUTEXES: free } as unknown as Env), outbox)
                return target.batch(statements)
              }
            }
          : Reflect.get(target, name),
    })
    await relayOutbox(systemIn({ ...stalled.env, EVENTS_0, MUTEXES: free } as unknown as Env), outbox)
    expect([hasRun, await notified(), await left(env.LEDGER_0)]).toEqual([true, SHARDS.map(() => 120), []])
  })
})

it('what is old is forgotten in every shard', async () => {
  const all = await oneInEach()
  const limit = Date.parse(NOW) - 14 * 86_400_000
  for (const of of all) {
    const about = await linked(of)
    await happened(of, [
      ...[1, 2, 3].map((n) => ({ seq: limit - 86_400_000 * 80 - n, about })),
      ...[1, 2, 3].map((n) => ({ seq: limit - n, about, key: 'sync.completed' as const })),
      { seq: limit - 10, about },
    ])
    await (await eventsOf(of.id))
      .prepare(
        "insert into receipts (organization_id, key, resource_id, created_at) values (?1, 'old', 'wh_1', ?2), (?1, 'new', 'wh_1', ?3)",
      )
      .bind(of.id, Date.parse(NOW) - 86_400_000, Date.parse(NOW) - 86_399_999)
      .run()
  }
  await daily(env, new Date(NOW))
  for (const of of all) {
    expect((await feedOf([of.id])).map(({ seq }) => seq)).toEqual([limit - 10])
    expect(await inShards('select key from receipts where organization_id = ?', of.id)).toEqual([{ key: 'new' }])
  }
})
