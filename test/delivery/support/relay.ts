import { env } from 'cloudflare:workers'
import { expect } from 'vitest'
import type { PaymentThresholds } from '../../../src/cfdi/payment-thresholds.ts'
import { endpointKey } from '../../../src/delivery/endpoints/endpoints.ts'
import { restored } from '../../../src/delivery/events/stored-body.ts'
import { type System, systemOf } from '../../../src/platform/context.ts'
import { commit } from '../../../src/platform/db/commit.ts'
import { idOfUuid, newId } from '../../../src/platform/db/id.ts'
import { insertOutboxEvents, type Outbox, type OutboxEvent } from '../../../src/platform/outbox/outbox.ts'
import { inShards, SHARDS, shardOf } from './shards.ts'

/** Organizations, RFCs and endpoints as rows, past the front door, so that there can be many; and outboxes to relay. */

/** A statement as it is sent. */
export interface Sent {
  statement: string
  params: unknown[]
}

/**
 * Called around each round trip to a database, each message and each hold of a lane, of a batch also with its statements; what it throws is
 * how that ends.
 */
export type Watch = (step: string, when: 'before' | 'after', batch: readonly Sent[]) => void

type Method = (...args: unknown[]) => unknown

/** A Worker's bindings with somebody at each of them. Messages of the queue of webhooks stay in `sent`. */
export function watchedEnv(watch: Watch = () => {}) {
  const sent: unknown[] = []
  const step = async <T>(name: string, work: () => Promise<T>, batch: readonly D1PreparedStatement[] = []): Promise<T> => {
    watch(name, 'before', batch as unknown as Sent[])
    const result = await work()
    watch(name, 'after', batch as unknown as Sent[])
    return result
  }
  const real = new WeakMap<object, D1PreparedStatement>()
  const statement = (name: string, target: D1PreparedStatement): D1PreparedStatement => {
    const proxy = new Proxy(target, {
      get(_, key) {
        const method = (target as unknown as Record<string | symbol, Method>)[key]
        if (key === 'bind') return (...values: unknown[]) => statement(name, target.bind(...values))
        if (['all', 'run', 'first', 'raw'].includes(String(key)))
          return (...args: unknown[]) => step(name, async () => method!.apply(target, args))
        return typeof method === 'function' ? method.bind(target) : method
      },
    })
    real.set(proxy, target)
    return proxy
  }
  const database = (name: string, target: D1Database): D1Database =>
    new Proxy(target, {
      get(_, key) {
        if (key === 'prepare') return (sql: string) => statement(name, target.prepare(sql))
        if (key === 'batch')
          return (proxies: D1PreparedStatement[]) => {
            const statements = proxies.map((one) => real.get(one) ?? one)
            return step(name, () => commit(target, statements), statements)
          }
        const method = (target as unknown as Record<string | symbol, Method>)[key]
        return typeof method === 'function' ? method.bind(target) : method
      },
    })
  const databases = Object.entries(env).filter(([name]) => name === 'DB' || /^(LEDGER|EVENTS)_\d+$/.test(name))
  const take = (bodies: unknown[]) => step('WEBHOOKS', async () => void sent.push(...bodies.map((body) => structuredClone(body))))
  const lanes = {
    getByName(name: string) {
      const lane = env.MUTEXES.getByName(name)
      return {
        enter: (token: string, milliseconds: number) => step('MUTEXES', async () => lane.enter(token, milliseconds)),
        leave: (token: string) => step('MUTEXES', async () => lane.leave(token)),
      }
    },
  }
  const watched = {
    ...env,
    ...Object.fromEntries(databases.map(([name, target]) => [name, database(name, target as D1Database)])),
    WEBHOOKS: {
      send: (body: unknown) => take([body]),
      sendBatch: (messages: Iterable<{ body: unknown }>) => take([...messages].map(({ body }) => body)),
    },
    MUTEXES: lanes,
  } as unknown as Env
  return { env: watched, sent }
}

export const systemIn = (it: Env): System => systemOf(it, new Date(), 'req_test')

/** All outboxes, and the databases that they are in. */
export const OUTBOXES = (): [Outbox, D1Database][] => [
  ['control', env.DB],
  ...systemIn(env).settings.ledgers.map((ledger, n): [Outbox, D1Database] => [n, ledger]),
]

const insert = (table: string, rows: readonly Record<string, unknown>[], d1 = env.DB) => {
  const columns = Object.keys(rows[0]!)
  return d1
    .prepare(
      `insert into ${table} (${columns.join(', ')}) select ${columns.map((name) => `value->>'$.${name}'`).join(', ')} from json_each(?)`,
    )
    .bind(JSON.stringify(rows))
    .run()
}

/** Organizations are spread over all shards where nobody names one. Other files of the same worker count on. */
let made = 0

export async function organizations(counts: readonly { extractor_count: number; events_shard?: number }[]): Promise<string[]> {
  const rows = counts.map((more) => ({
    id: newId('org'),
    events_shard: made++ % SHARDS.length,
    name: 'Uno',
    timezone: 'America/Mexico_City',
    plan: 'api',
    created_at: 0,
    ...more,
  }))
  await insert('organizations', rows)
  return rows.map(({ id }) => id)
}

export interface Linked {
  organization_id: string
  entity: number
  fiscal_entity_id: string
  rfc: string
  state: string
  issued_from: string | null
  issued_to: number | null
  received_from: string | null
  received_to: number | null
}

/** RFCs that only these tests know, by the number that ledgers know them by. */
let entities = 900_000
export const newEntity = () => {
  const entity = ++entities
  return { entity, fiscal_entity_id: newId('fe'), rfc: `REL${String(entity).slice(-6)}AA1` }
}

export const link = (rows: readonly Linked[]) =>
  insert(
    'connections',
    rows.map((row) => ({ ...row, shard: 0, linked_at: 0, updated_at: 0 })),
  )

export interface Endpoint {
  organization_id: string
  event_keys: string[]
  is_enabled?: boolean
  deleted_at?: number | null
  url?: string
}

/** Endpoints, by their names in messages, in order. */
export async function endpoints(all: readonly Endpoint[]): Promise<string[]> {
  const rows = all.map(({ organization_id, event_keys, is_enabled = true, deleted_at = null, url = 'https://hooks.example.com/' }) => ({
    webhook_id: newId('wh'),
    organization_id,
    name: 'ERP',
    url,
    event_keys: JSON.stringify(event_keys),
    is_enabled: Number(is_enabled),
    secret_version: 1,
    digests: '{"a":"1:AAAA","b":"1:AAAA"}',
    secret_hint: 'abcd',
    undelivered: 0,
    created_at: 0,
    updated_at: 0,
    deleted_at,
  }))
  const shards = new Map<string, number>()
  for (const { organization_id } of rows) shards.set(organization_id, shards.get(organization_id) ?? (await shardOf(organization_id)))
  const keys = new Map<string, string>()
  for (const [shard, own] of Map.groupBy(rows, ({ organization_id }) => shards.get(organization_id)!)) {
    await insert('webhooks', own, SHARDS[shard])
    const { results } = await SHARDS[shard]!.prepare(
      'select w.webhook, w.webhook_id from json_each(?) i cross join webhooks w on w.webhook_id = i.value',
    )
      .bind(JSON.stringify(own.map(({ webhook_id }) => webhook_id)))
      .all<{ webhook: number; webhook_id: string }>()
    for (const { webhook, webhook_id } of results) keys.set(webhook_id, endpointKey(shard, webhook))
  }
  return rows.map(({ webhook_id }) => keys.get(webhook_id)!)
}

export const notify = async (outbox: D1Database, facts: readonly OutboxEvent[], now = Date.now()): Promise<void> => {
  await commit(outbox, insertOutboxEvents(facts, now))
}

export const left = async (outbox: D1Database): Promise<string[]> =>
  (await outbox.prepare('select outbox_event_id from outbox order by 1').all<{ outbox_event_id: string }>()).results.map(
    ({ outbox_event_id }) => outbox_event_id,
  )

export interface EventKept {
  organization_id: string
  seq: number
  event_id: string
  key: string
  fiscal_entity_id: string | null
  // biome-ignore lint/suspicious/noExplicitAny: a test looks at what it expects.
  body: any
}

/** What organizations are told, in the order of each one's feed. */
export async function feedOf(all: readonly string[]): Promise<EventKept[]> {
  const rows = await inShards<{ organization_id: string; seq: number; body: string; n: number }>(
    'select e.*, o.key as n from json_each(?) o cross join events e on e.organization_id = o.value',
    JSON.stringify(all),
  )
  return rows
    .sort((a, b) => a.n - b.n || a.seq - b.seq)
    .map(({ organization_id, seq, body: text }) => {
      const body = JSON.parse(restored(text))
      const fiscal_entity_id = body.fiscal_entity_id === undefined ? null : idOfUuid('fe', body.fiscal_entity_id)
      return { organization_id, seq, event_id: body.event_id, key: body.event, fiscal_entity_id, body: { ...body, ordering: seq } }
    })
}

/** Deliveries of endpoints, as `endpoint event_id`. */
export async function deliveriesOf(endpoints: readonly string[]): Promise<string[]> {
  const found: string[] = []
  for (const [shard, d1] of SHARDS.entries()) {
    const webhooks = endpoints.map((key) => key.split('.').map(Number)).flatMap(([of, webhook]) => (of === shard ? [webhook] : []))
    const { results } = await d1
      .prepare(
        `select ${shard} || '.' || d.webhook || ' ' || (e.body->>'event_id') as it, d.status, d.redelivery, d.attempts,
           d.event_key = e.body->>'event' as fits
         from json_each(?) i cross join deliveries d on d.webhook = i.value
         cross join webhooks w on w.webhook = d.webhook
         cross join events e on e.organization_id = w.organization_id and e.seq = d.seq`,
      )
      .bind(JSON.stringify(webhooks))
      .all<{ it: string }>()
    for (const row of results) expect(row).toMatchObject({ status: 'pending', redelivery: 0, attempts: '[]', fits: 1 })
    found.push(...results.map(({ it }) => it))
  }
  return found.sort()
}

let uuids = 0

/** What was applied to an invoice in parts: nothing, or all of it by a payment of some instant in seconds. */
export const UNPAID: PaymentThresholds = [[0, 'unpaid', false]]
export const paidFrom = (issued_at: number): PaymentThresholds => [...UNPAID, [issued_at, 'paid', true]]

/** The fact of a cancellation, of a document with this literal date in Mexico City. */
export function cancelled(entity: number, fecha: string, more: Record<string, unknown> = {}): OutboxEvent {
  const cfdi_uuid = `5B2E1F0A-9C64-0F0E-0B1D-${String(++uuids).padStart(12, '0')}`
  const body = {
    cfdi_uuid,
    cancelled_at: '2026-03-20T13:30:00-06:00',
    cancellation_reason: '02',
    direction: 'received',
    cfdi_type: 'I',
    payments: UNPAID,
    total: '11600.00',
    currency: 'MXN',
    emisor_rfc: 'JES900109Q90',
    receptor_rfc: 'EKU9003173C9',
    issued_at: Date.parse(`${fecha}Z`) / 1_000 + 6 * 3_600,
    utc_offset: -360,
    fecha,
    detected_at: Date.now(),
    ...more,
  }
  return { outbox_event_id: `cfdi.cancelled:${entity}:${body.cfdi_uuid}`, kind: 'cfdi.cancelled', entity, organizations: null, body }
}
