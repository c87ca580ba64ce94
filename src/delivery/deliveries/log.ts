import { type Ctx, eventsOf } from '../../platform/context.ts'
import type { Statement } from '../../platform/db/commit.ts'
import { isGuardViolation, isUniqueViolation } from '../../platform/db/guard.ts'
import { idOfUuid, newId, uuidOf } from '../../platform/db/id.ts'
import { readFirst } from '../../platform/db/statement.ts'
import { Failure, invalid, notFound } from '../../platform/failures.ts'
import { countHourly } from '../../platform/locks/hourly.ts'
import { openCursor, type Page, type Position, sealCursor } from '../../platform/paging/cursor.ts'
import { clock } from '../../platform/time/clock.ts'
import { type EventCatalog, type EventPayload, TEST_KEY } from '../catalog/payload-contract.ts'
import { changeEndpoint, endpointKey, requireWebhook, wakeEndpoints } from '../endpoints/endpoints.ts'
import type { WebhookRow } from '../endpoints/store.ts'
import { findEvent, insertEvents } from '../events/store.ts'
import { fillPage, SCAN_ROWS, storedSample } from '../events/stored-body.ts'
import type { AttemptRecord } from '../tables.ts'
import type { Delivery, DeliveryQuery, DeliveryTest, Redelivered, RedeliveryRequest } from './contract.ts'
import { type DeliveryRow, findDelivery, hasten, insertDelivery, insertRedelivery, scanDeliveries, sendAgain } from './insert-store.ts'

const iso = (milliseconds: number): string => new Date(milliseconds).toISOString()

const view = ({ event_id, event_key, about, period, redelivery, status, attempts, due_at, created_at }: DeliveryRow): Delivery => ({
  ...{ event_id, event_key, fiscal_entity_id: about && idOfUuid('fe', about), period, redelivery, status },
  attempts: (JSON.parse(attempts) as AttemptRecord[]).map(({ at, ...record }, n) => ({ attempt: n + 1, attempted_at: iso(at), ...record })),
  next_attempt_at: status === 'pending' ? iso(due_at) : null,
  created_at: iso(created_at),
})

/** Returns a page of an endpoint's deliveries with their attempts, newest event first. Throws Failure 404 webhook.not_found. */
export async function listDeliveries(ctx: Ctx, webhook_id: string, query: DeliveryQuery): Promise<Page<Delivery>> {
  const endpoint = await requireWebhook(ctx, webhook_id)
  const { limit, cursor, ...filters } = query
  const scope = { list: 'deliveries', filters: { ...filters, webhook_id } }
  const after = await openCursor(ctx, scope, cursor)
  const bound_to = ctx.organization.bound_to?.map(uuidOf)
  const isFiltered = filters.status !== undefined || filters.event_key !== undefined || bound_to !== undefined
  const positionOf = (row: DeliveryRow) => [row.seq, row.redelivery] satisfies Position
  const { matches, last } = await fillPage<DeliveryRow>(limit, isFiltered ? SCAN_ROWS : 0, (row, take) =>
    scanDeliveries(eventsOf(ctx).$client, endpoint, { ...filters, bound_to }, row ? positionOf(row) : after, take),
  )
  const position = last && positionOf(last)
  return {
    data: matches.map(view),
    has_more: position !== undefined,
    next_cursor: position ? await sealCursor(ctx, scope, position) : null,
  }
}

const changeLog = (ctx: Ctx, action: string, { webhook, webhook_id }: WebhookRow, statements: readonly Statement[]): Promise<D1Result[]> =>
  changeEndpoint(ctx, { action, resource_id: webhook_id }, webhook, statements)

const wake = (ctx: Ctx, { webhook }: WebhookRow) => wakeEndpoints(ctx, [endpointKey(ctx.organization.events_shard, webhook)])

/**
 * Sends a test event, or the sample of an event, to an endpoint, whatever it subscribes to. Throws Failure 404 webhook.not_found, 409
 * webhook.disabled while the endpoint is disabled, and 422 event.not_available.
 */
export async function testWebhook(ctx: Ctx, webhook_id: string, { event_key }: DeliveryTest): Promise<Delivery> {
  const endpoint = await requireEnabled(ctx, webhook_id)
  await countHourly(ctx, 'deliveries')
  const event_id = newId('evt')
  const occurred_at = ctx.now.toISOString()
  const test: Omit<Extract<EventPayload, { event: typeof TEST_KEY }>, 'ordering'> = { event: TEST_KEY, event_id, occurred_at, webhook_id }
  const body =
    event_key === undefined ? JSON.stringify(test) : storedSample({ ...test, sample_of: event_key }, await sampleOf(ctx, event_key))
  const event = { organization_id: ctx.organization.id, event_id, body, isUnique: false }
  const now = clock.now()
  const results = await changeLog(ctx, 'webhook.tested', endpoint, [...insertEvents([event], now), insertDelivery(endpoint, now)])
  await wake(ctx, endpoint)
  const { seq } = results[1]!.results[0] as { seq: number }
  return view({ ...endpoint, ...pendingAt(now), seq, event_id, about: null, period: null, redelivery: 0, event_key: event_key ?? TEST_KEY })
}

async function requireEnabled(ctx: Ctx, webhook_id: string): Promise<WebhookRow> {
  const endpoint = await requireWebhook(ctx, webhook_id)
  if (!endpoint.is_enabled) throw new Failure('conflict', 'webhook.disabled', 'The webhook is disabled. Enable it first.')
  return endpoint
}

/** The sample that the catalog shows. Throws Failure 422 event.not_available for an event that is not sent. */
async function sampleOf({ env }: Ctx, event_key: string): Promise<object> {
  const catalog: EventCatalog = await (await env.ASSETS.fetch('https://assets.invalid/event-catalog.json')).json()
  const sample = catalog.data.find(({ key }) => key === event_key)?.sample
  if (sample) return sample
  const message = 'This event is not sent to webhooks, so it has no sample. GET /v1/webhooks/event-catalog says which ones are.'
  throw invalid('event.not_available', [{ path: 'event_key', message }])
}

const pendingAt = (now: number) => ({ status: 'pending', attempts: '[]', due_at: now, created_at: now }) as const

/** Returns the newest delivery of an event to an endpoint. Throws Failure 404 delivery.not_found. */
async function requireDelivery(ctx: Ctx, endpoint: WebhookRow, event_id: string): Promise<DeliveryRow> {
  const d1 = eventsOf(ctx).$client
  const event = await readFirst(d1, findEvent(ctx.organization.id, event_id))
  const newest = event && (await readFirst(d1, findDelivery(endpoint, event.seq)))
  if (!newest) throw notFound('delivery')
  return newest
}

const isPending = () => new Failure('conflict', 'delivery.pending', 'A delivery of this event to the webhook is already pending.')

/**
 * Creates a new delivery of an event, with attempts from 1. Throws Failure 404 webhook.not_found or delivery.not_found, and 409
 * delivery.pending while a delivery of the event is pending.
 */
export async function redeliver(ctx: Ctx, webhook_id: string, event_id: string): Promise<Delivery> {
  const endpoint = await requireWebhook(ctx, webhook_id)
  const newest = await requireDelivery(ctx, endpoint, event_id)
  if (newest.status === 'pending') throw isPending()
  await countHourly(ctx, 'deliveries')
  const now = clock.now()
  try {
    await changeLog(ctx, 'webhook.redelivered', endpoint, [insertRedelivery(newest, now)])
  } catch (error) {
    throw isUniqueViolation(error) ? isPending() : error
  }
  await wake(ctx, endpoint)
  return view({ ...newest, ...pendingAt(now), redelivery: newest.redelivery + 1 })
}

/**
 * Makes a delivery that waits for its next attempt due now. Throws Failure 404 webhook.not_found or delivery.not_found, 409 webhook.disabled
 * and 409 delivery.not_pending.
 */
export async function sendNow(ctx: Ctx, webhook_id: string, event_id: string): Promise<Delivery> {
  const endpoint = await requireEnabled(ctx, webhook_id)
  const newest = await requireDelivery(ctx, endpoint, event_id)
  await countHourly(ctx, 'deliveries')
  const now = clock.now()
  try {
    await changeLog(ctx, 'webhook.delivery_hastened', endpoint, hasten(newest, now))
  } catch (error) {
    throw isGuardViolation(error, 'deliveries.pending') ? isOver(newest) : error
  }
  await wake(ctx, endpoint)
  return view({ ...newest, due_at: Math.min(newest.due_at, now) })
}

const isOver = ({ status }: DeliveryRow) =>
  new Failure(
    'conflict',
    'delivery.not_pending',
    status === 'pending' || status === 'delivered'
      ? 'No delivery of this event to the webhook waits: the event was delivered.'
      : `No delivery of this event to the webhook waits: it ended as ${status}. Send it again with POST …/redeliver.`,
  )

/** The most new deliveries, and the most waiting ones. */
const REDELIVERY_LIMIT = 1_000

/**
 * For each event since an instant whose latest delivery has one of the statuses, creates a new delivery if that one ended, and makes it due now
 * if it waits; at most 1,000 of each. Changes nothing, and records nothing, when there is none. Throws Failure 404 webhook.not_found.
 */
export async function redeliverAll(ctx: Ctx, webhook_id: string, { since, statuses }: RedeliveryRequest): Promise<Redelivered> {
  const endpoint = await requireWebhook(ctx, webhook_id)
  await countHourly(ctx, 'deliveries')
  const again = sendAgain(endpoint.webhook, statuses, Date.parse(since), clock.now(), REDELIVERY_LIMIT)
  const results = await changeLog(ctx, 'webhook.redelivered', endpoint, again).catch((error: unknown) => {
    if (isGuardViolation(error, 'deliveries.found')) return null
    throw error
  })
  if (results === null) return { redelivered_count: 0, sent_now_count: 0, has_more: false }
  await wake(ctx, endpoint)
  const [redelivered_count, sent_now_count] = [results[1]!.meta.changes, results[2]!.meta.changes]
  return { redelivered_count, sent_now_count, has_more: Math.max(redelivered_count, sent_now_count) === REDELIVERY_LIMIT }
}
