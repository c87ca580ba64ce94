import { Failure, notFound } from '../../failures.ts'
import { change } from '../../platform/audit/audit.ts'
import type { Ctx } from '../../platform/context.ts'
import { isGuardViolation, isUniqueViolation } from '../../platform/db/guard.ts'
import { newId } from '../../platform/db/id.ts'
import { openCursor, type Page, type Position, sealCursor } from '../../platform/paging/cursor.ts'
import type { Delivery, DeliveryQuery, Redelivered, RedeliveryRequest } from '../contract.ts'
import { requireWebhook } from '../endpoints/endpoints.ts'
import { wakeEndpoints } from '../endpoints/wake.ts'
import { type EventPayload, TEST_KEY } from '../events/catalog.ts'
import { insertDelivery, insertEvents } from '../events/relay-store.ts'
import type { AttemptRecord } from '../tables.ts'
import { type DeliveryRow, findDelivery, insertAgain, insertAllAgain, type Scan, scanDeliveries } from './log-store.ts'

const iso = (milliseconds: number): string => new Date(milliseconds).toISOString()

const view = ({ event_id, event_key, redelivery, status, attempts, due_at, created_at }: DeliveryRow): Delivery => ({
  event_id,
  event_key,
  redelivery,
  status,
  attempts: (JSON.parse(attempts) as AttemptRecord[]).map(({ at, ...record }, n) => ({ attempt: n + 1, attempted_at: iso(at), ...record })),
  next_attempt_at: status === 'pending' ? iso(due_at) : null,
  created_at: iso(created_at),
})

/** The page that a scan makes: what passed the filter, up to the limit, and where to go on. */
export function pageOfScan<Row>({ rows, isWhole }: Scan<Row>, limit: number): { kept: Row[]; last: Row | undefined } {
  const kept: Row[] = []
  for (const [n, row] of rows.entries()) {
    if (row.is_asked === 0) continue
    if (kept.length === limit) return { kept, last: rows[n - 1] }
    kept.push(row)
  }
  return { kept, last: isWhole ? undefined : rows.at(-1) }
}

/** What was sent to an endpoint, and what became of it, newest event first. 404. */
export async function listDeliveries(ctx: Ctx, webhook_id: string, query: DeliveryQuery): Promise<Page<Delivery>> {
  const endpoint = await requireWebhook(ctx, webhook_id)
  const { limit, cursor, ...filters } = query
  const scope = { list: 'deliveries', filters: { ...filters, webhook_id } }
  const scan = await scanDeliveries(ctx.db.$client, endpoint, filters, await openCursor(ctx, scope, cursor), limit + 1)
  const { kept, last } = pageOfScan(scan, limit)
  const position = last && ([last.seq, last.redelivery] satisfies Position)
  return { data: kept.map(view), has_more: position !== undefined, next_cursor: position ? await sealCursor(ctx, scope, position) : null }
}

/** What is added to a log, unless the endpoint was deleted just now: then 404, like later. */
const kept = <T>(change: Promise<T>): Promise<T> =>
  change.catch((error: unknown) => {
    throw isGuardViolation(error) ? notFound('webhook') : error
  })

/** Sends an endpoint an event of its own, whatever it is subscribed to. 404; 409 while it is disabled. */
export async function testWebhook(ctx: Ctx, webhook_id: string): Promise<Delivery> {
  const endpoint = await requireWebhook(ctx, webhook_id)
  if (!endpoint.is_enabled) throw new Failure('conflict', 'webhook.disabled', 'The webhook is disabled. Enable it first.')
  const event_id = newId('evt')
  const payload: EventPayload = { event: TEST_KEY, event_id, occurred_at: ctx.now.toISOString(), webhook_id }
  const event = {
    event_id,
    organization_id: ctx.organization.id,
    key: TEST_KEY,
    fiscal_entity_id: null,
    body: JSON.stringify(payload),
  }
  const d1 = ctx.db.$client
  const now = Date.now()
  await kept(
    change(ctx, { action: 'webhook.tested', resource_id: webhook_id }, [
      ...insertEvents(d1, [event], now),
      insertDelivery(d1, endpoint.webhook, event_id, now),
    ]),
  )
  await wakeEndpoints(ctx, [endpoint.webhook])
  const made = await findDelivery(d1, endpoint, event_id)
  if (!made) throw notFound('webhook')
  return view(made)
}

const isPending = () => new Failure('conflict', 'delivery.pending', 'This event is on its way to the webhook already.')

/** Sends an event again: a new delivery, with attempts from 1. 404; 409 while one is pending. */
export async function redeliver(ctx: Ctx, webhook_id: string, event_id: string): Promise<Delivery> {
  const endpoint = await requireWebhook(ctx, webhook_id)
  const d1 = ctx.db.$client
  const newest = await findDelivery(d1, endpoint, event_id)
  if (!newest) throw notFound('delivery')
  if (newest.status === 'pending') throw isPending()
  const now = Date.now()
  try {
    await kept(change(ctx, { action: 'webhook.redelivered', resource_id: webhook_id }, [insertAgain(d1, newest, now)]))
  } catch (error) {
    throw isUniqueViolation(error) ? isPending() : error
  }
  await wakeEndpoints(ctx, [endpoint.webhook])
  return view({ ...newest, redelivery: newest.redelivery + 1, status: 'pending', attempts: '[]', due_at: now, created_at: now })
}

const REDELIVERED_AT_ONCE = 1_000

/** Sends all events since an instant again whose delivery was lost, or refused if that is asked for. 404. */
export async function redeliverAll(ctx: Ctx, webhook_id: string, { since, statuses }: RedeliveryRequest): Promise<Redelivered> {
  const endpoint = await requireWebhook(ctx, webhook_id)
  const d1 = ctx.db.$client
  const [inserted] = await kept(
    change(ctx, { action: 'webhook.redelivered', resource_id: webhook_id }, [
      insertAllAgain(d1, endpoint.webhook, statuses, Date.parse(since), Date.now(), REDELIVERED_AT_ONCE),
    ]),
  )
  const redelivered_count = inserted?.meta.changes ?? 0
  if (redelivered_count > 0) await wakeEndpoints(ctx, [endpoint.webhook])
  return { redelivered_count, has_more: redelivered_count === REDELIVERED_AT_ONCE }
}
