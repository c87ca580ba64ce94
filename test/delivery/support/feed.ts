import { env } from 'cloudflare:workers'
import { storedOf } from '../../../src/delivery/events/stored-body.ts'
import type { AttemptRecord, DeliveryStatus } from '../../../src/delivery/tables.ts'
import { newId, uuidOf } from '../../../src/platform/db/id.ts'
import { reaching } from '../../support/context.ts'
import type { Organization } from '../../support/tenants.ts'
import { type Linked, link, newEntity } from './relay.ts'
import { eventsOf, keyOf } from './shards.ts'

/** Feeds and logs as rows, past the relay and the consumer, so that they can be long and of any age. */

/** An RFC that the organization is connected to. */
export async function linked(of: Organization, more: Partial<Linked> = {}) {
  const entity = newEntity()
  await link([{ organization_id: of.id, ...entity, state: 'active', ...reaching(null), ...more }])
  const moveTo = (state: string) =>
    env.DB.prepare('update connections set state = ?3 where organization_id = ?1 and fiscal_entity_id = ?2')
      .bind(of.id, entity.fiscal_entity_id, state)
      .run()
  return { ...entity, uuid: uuidOf(entity.fiscal_entity_id), moveTo }
}

type Entity = Awaited<ReturnType<typeof linked>>

export interface Happened {
  /** Milliseconds; its place in the feed. */
  seq: number
  key?: 'connection.ciec_invalid' | 'sync.failed' | 'sync.completed'
  /** Documents that a download brought. */
  created?: number
  /** Whether it is inserted at another time than its identifier says. */
  isLate?: boolean
  about: Entity
}

/** Events of an organization, by their ids, in order. */
export async function happened(of: Organization, all: readonly Happened[]): Promise<string[]> {
  const rows = all.map(({ seq, key = 'connection.ciec_invalid', about, created = 0, isLate = true }) => {
    const event_id = newId('evt')
    const at = new Date(seq).toISOString()
    const head = { event: key, event_id, occurred_at: at, fiscal_entity_id: about.uuid, rfc: about.rfc }
    const job = {
      ...{ job_id: 'job_01kabcdefghjkmnpqrstvwxyz0', data_source_key: 'sat_csf', period: null, document_type: 'csf', direction: null },
      ...{ created_count: created, updated_count: 0, cancelled_count: 0, first_issued_at: null, last_issued_at: null, completed_at: at },
      ...(key === 'sync.failed' && {
        period: '2026-05',
        error_class: 'sat_unavailable',
        last_code: 'sat_unavailable: The authority gives no answer.',
        will_retry: false,
        next_attempt_at: null,
      }),
    }
    const body = key !== 'connection.ciec_invalid' ? { ...head, ...job } : { ...head, rejected_at: at }
    return [of.id, seq, storedOf(JSON.stringify(body)), isLate ? event_id : null, event_id]
  })
  await (await eventsOf(of.id))
    .prepare(
      'insert into events (organization_id, seq, body, event_id) select value->>0, value->>1, value->>2, value->>3 from json_each(?)',
    )
    .bind(JSON.stringify(rows))
    .run()
  return rows.map((row) => row[4] as string)
}

export interface Logged {
  seq: number
  event_key?: string
  redelivery?: number
  status?: DeliveryStatus
  due_at?: number
  attempts?: AttemptRecord[]
  created_at?: number
}

export const numberOf = async (webhook_id: string): Promise<number> => Number((await keyOf(webhook_id)).split('.')[1])

/** Deliveries to an endpoint. */
export async function logged(webhook: number, all: readonly Logged[]): Promise<void> {
  const rows = all.map(
    ({ seq, event_key = 'connection.ciec_invalid', redelivery = 0, status = 'lost', due_at = seq, attempts = [], created_at = seq }) => [
      ...[webhook, seq, redelivery, event_key, status, due_at, JSON.stringify(attempts), created_at],
    ],
  )
  await env.EVENTS_0.prepare(
    `insert into deliveries (webhook, seq, redelivery, event_key, status, due_at, attempts, created_at)
     select value->>0, value->>1, value->>2, value->>3, value->>4, value->>5, value->>6, value->>7 from json_each(?)`,
  )
    .bind(JSON.stringify(rows))
    .run()
}

/** An endpoint through the front door, with its number. */
export async function endpointOf(of: Organization, more: object = {}) {
  const draft = { name: 'ERP', url: 'https://hooks.example.com/in', event_keys: ['connection.ciec_invalid'], ...more }
  const { body } = await of.ask('POST', '/v1/webhooks', draft)
  const webhook_id = body.webhook_id as string
  return { webhook_id, webhook: await numberOf(webhook_id), key: await keyOf(webhook_id), path: `/v1/webhooks/${webhook_id}` }
}

/** All of a list, page by page, with the number of its pages; `between` happens after each. */
export async function pagesOf<Item>(of: Organization, path: string, between: () => Promise<unknown> = async () => {}) {
  const items: Item[] = []
  let [pages, cursor] = [0, null as string | null]
  for (let isMore = true; isMore; pages++) {
    const page = (await of.ask('GET', path + (cursor === null ? '' : `${path.includes('?') ? '&' : '?'}cursor=${cursor}`))).body
    items.push(...page.data)
    isMore = page.has_more
    cursor = page.next_cursor ?? cursor
    await between()
  }
  return { items, pages, cursor }
}
