import { env } from 'cloudflare:workers'
import { TEST_KEY } from '../../../src/delivery/catalog/payload-contract.ts'
import { deliverDue, sweepDeliveries } from '../../../src/delivery/deliveries/delivery.ts'
import { insertDelivery } from '../../../src/delivery/deliveries/insert-store.ts'
import { endpointKey } from '../../../src/delivery/endpoints/endpoints.ts'
import { insertEvents } from '../../../src/delivery/events/store.ts'
import type { AttemptRecord, DeliveryStatus } from '../../../src/delivery/tables.ts'
import { type System, systemOf } from '../../../src/platform/context.ts'
import { commit } from '../../../src/platform/db/commit.ts'
import { newId, uuidOf } from '../../../src/platform/db/id.ts'
import { at } from '../../support/clock.ts'
import type { Organization } from '../../support/tenants.ts'

export const WEBHOOKS = '/v1/webhooks'

/** A request as it leaves by EGRESS. */
export interface Sent {
  url: string
  method: string
  redirect: string
  signal: AbortSignal
  headers: Record<string, string>
  event_id: string
  attempt: number
  body: Uint8Array
}

/** A message of the queue: when it comes, and for whom. */
export interface Notified {
  webhook: number
  delaySeconds: number
  at: number
}

/** Called around each call of a binding with what it is (of D1, what is in no batch is a READ); what it throws is how that ends. */
export type Watch = (step: string, when: 'before' | 'after') => void

/** Deliveries in the test's hands: the receiver, the queue, the clock, and every step at which something can go wrong. */
export class Courier {
  readonly sent: Sent[] = []
  readonly notified: Notified[] = []
  watch: Watch = () => {}
  answer: (sent: Sent) => Response | Promise<Response> = () => new Response(null, { status: 200 })
  readonly env: Env

  constructor(more: Partial<Record<keyof Env, unknown>> = {}) {
    const limiter = (name: string) => {
      const stub = env.HOST_LIMITERS.getByName(name)
      return {
        acquire: (...args: Parameters<typeof stub.acquire>) => this.#step('HOST_LIMITERS', () => stub.acquire(...args)),
        release: (...args: Parameters<typeof stub.release>) => this.#step('HOST_LIMITERS', () => stub.release(...args)),
      }
    }
    const sendBatch = (messages: Iterable<{ body: { endpoint: string }; delaySeconds: number }>) =>
      this.#step('WEBHOOKS', async () => {
        for (const { body, delaySeconds } of messages)
          this.notified.push({ webhook: Number(body.endpoint.split('.')[1]), delaySeconds, at: Date.now() + delaySeconds * 1_000 })
      })
    const fetch = (url: string, init: RequestInit) => {
      const sent = sentOf(url, init)
      return this.#step('EGRESS', async () => {
        this.sent.push(sent)
        return this.answer(sent)
      })
    }
    this.env = {
      ...env,
      DB: watched(env.DB, (name, work) => this.#step(name, work)),
      EVENTS_0: watched(env.EVENTS_0, (name, work) => this.#step(name, work)),
      HOST_LIMITERS: { getByName: limiter },
      WEBHOOKS: { sendBatch },
      EGRESS: { fetch },
      ...more,
    } as unknown as Env
  }

  async #step<T>(name: string, work: () => T | Promise<T>): Promise<T> {
    this.watch(name, 'before')
    const result = await work()
    this.watch(name, 'after')
    return result
  }

  get system(): System {
    return systemOf(this.env, new Date(), 'req_test')
  }

  deliver = (webhook: number): Promise<void> => deliverDue(this.system, endpointKey(0, webhook))

  sweep = (): Promise<void> => sweepDeliveries(this.system)

  /** To the next message of the queue, which is then delivered. */
  async next(): Promise<void> {
    const [message] = this.notified.splice(0, 1)
    at(new Date(message!.at).toISOString())
    await this.deliver(message!.webhook)
  }

  /** Delivers whatever the queue has for now, and what that makes it have, as it comes, so many at once. */
  async settle(atOnce = 100): Promise<void> {
    const running = new Set<Promise<void>>()
    for (;;) {
      const due = this.notified.filter(({ at }) => at <= Date.now()).slice(0, atOnce - running.size)
      for (const one of due) {
        this.notified.splice(this.notified.indexOf(one), 1)
        const work: Promise<void> = this.deliver(one.webhook).finally(() => running.delete(work))
        running.add(work)
      }
      if (running.size === 0) return
      await Promise.race(running)
    }
  }
}

const sentOf = (url: string, { method, redirect, signal, headers, body }: RequestInit): Sent => {
  const all = headers as Record<string, string>
  return {
    ...{ url, method: method!, redirect: redirect!, signal: signal!, headers: all },
    event_id: all['Service-Delivery-Id']!,
    attempt: Number(all['Service-Attempt']),
    body: structuredClone(body as Uint8Array),
  }
}

const RUNS: readonly PropertyKey[] = ['first', 'all', 'run', 'raw']
const bound = (target: object, value: unknown): unknown => (typeof value === 'function' ? value.bind(target) : value)

function watched(d1: D1Database, step: <T>(name: string, work: () => Promise<T>) => Promise<T>): D1Database {
  const inner = new WeakMap<D1PreparedStatement, D1PreparedStatement>()
  const statement = (one: D1PreparedStatement): D1PreparedStatement => {
    const proxy = new Proxy(one, {
      get(target, key: keyof D1PreparedStatement) {
        if (key === 'bind') return (...values: unknown[]) => statement(target.bind(...values))
        const value = bound(target, target[key]) as (...args: unknown[]) => Promise<unknown>
        return RUNS.includes(key) ? (...args: unknown[]) => step('READ', () => value(...args)) : value
      },
    })
    inner.set(proxy, one)
    return proxy
  }
  return new Proxy(d1, {
    get(target, key: keyof D1Database) {
      if (key === 'prepare') return (sql: string) => statement(target.prepare(sql))
      if (key === 'batch') return (all: D1PreparedStatement[]) => step('DB', () => target.batch(all.map((one) => inner.get(one) ?? one)))
      return bound(target, target[key])
    },
  })
}

export interface Endpoint {
  webhook: number
  webhook_id: string
  organization_id: string
  url: string
  signing_secret: string
}

/** Lets an organization register more than the 20 endpoints that its plan allows: those that it has are put away meanwhile. */
async function withRoom<T>(of: Organization, register: () => Promise<T>): Promise<T> {
  const move = (from: string, to: string) =>
    env.EVENTS_0.prepare('update webhooks set organization_id = ?2 where organization_id = ?1').bind(from, to).run()
  await move(of.id, `away from ${of.id}`)
  try {
    return await register()
  } finally {
    await move(`away from ${of.id}`, of.id)
  }
}

/** An endpoint of an organization, through the front door. */
export async function endpoint(of: Organization, url: string, event_keys: string[] = ['cfdi.cancelled']): Promise<Endpoint> {
  const register = () => of.ask('POST', WEBHOOKS, { name: 'Avisos', url, event_keys })
  let { status, body } = await register()
  if (body.code === 'webhook.plan_limit') ({ status, body } = await withRoom(of, register))
  if (status !== 201) throw new Error(`Registering ${url} answered ${status}: ${JSON.stringify(body)}`)
  const webhook = await env.EVENTS_0.prepare('select webhook from webhooks where webhook_id = ?')
    .bind(body.webhook_id)
    .first<number>('webhook')
  return { webhook: webhook!, organization_id: of.id, url, webhook_id: body.webhook_id, signing_secret: body.signing_secret }
}

/** A payload of a test's own, with what the service looks for in every payload. */
export const named = (text: string, event_id: string): string =>
  text.replace(/^\{(\s*\}?)/, (_, rest: string) => `{"event":"${TEST_KEY}","event_id":"${event_id}"${rest.endsWith('}') ? '' : ','}${rest}`)

/** A body as it is sent: with the place of its event in the feed behind its identifier. */
export const placed = (body: string, ordering: number): string => body.replace(/"event_id":"\w+"/, `$&,"ordering":${ordering}`)

/** An event of the organization on its way to its endpoints, as the relay leaves it. */
export async function pending(to: Endpoint | Endpoint[], text?: string, fiscal_entity_id?: string): Promise<string> {
  const endpoints = [to].flat()
  const event_id = newId('evt')
  const { organization_id } = endpoints[0]!
  const about = fiscal_entity_id === undefined ? {} : { fiscal_entity_id: uuidOf(fiscal_entity_id) }
  const payload = { event: TEST_KEY, event_id, occurred_at: new Date().toISOString(), webhook_id: endpoints[0]!.webhook_id, ...about }
  const body = text === undefined ? JSON.stringify(payload) : named(text, event_id)
  await commit(env.EVENTS_0, [
    ...insertEvents([{ organization_id, event_id, body, isUnique: false }], Date.now()),
    ...endpoints.map((endpoint) => insertDelivery(endpoint, Date.now())),
  ])
  return event_id
}

export interface Kept {
  webhook: number
  event_id: string
  /** As it is sent. */
  body: string
  status: DeliveryStatus
  due_at: number
  lease_until: number | null
  attempts: AttemptRecord[]
}

/** Deliveries as they are kept, oldest first: of an endpoint, or of one event. */
export async function keptOf(of: { webhook: number } | { event_id: string }): Promise<Kept[]> {
  const [column, value] = 'webhook' in of ? ['d.webhook', of.webhook] : ["e.body->>'event_id'", of.event_id]
  const { results } = await env.EVENTS_0.prepare(
    `select d.webhook, d.seq, e.body->>'event_id' as event_id, e.body, d.status, d.due_at, d.lease_until, d.attempts
     from events e join webhooks w on w.organization_id = e.organization_id join deliveries d on d.webhook = w.webhook and d.seq = e.seq
     where ${column} = ? order by d.webhook, d.seq, d.redelivery`,
  )
    .bind(value)
    .all<Omit<Kept, 'attempts'> & { seq: number; attempts: string }>()
  return results.map(({ seq, body, ...row }) => ({
    ...row,
    body: placed(body, seq),
    attempts: JSON.parse(row.attempts) as AttemptRecord[],
  }))
}
