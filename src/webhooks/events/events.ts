import { notFound } from '../../failures.ts'
import type { Ctx } from '../../platform/context.ts'
import { openCursor, type Page, sealCursor } from '../../platform/paging/cursor.ts'
import type { EventPayload } from '../catalog/payload-contract.ts'
import type { EventQuery } from './contract.ts'
import { pageOfScan } from './scan.ts'
import { findEvent, scanEvents } from './store.ts'

const payloadOf = ({ body }: { body: string }): EventPayload => JSON.parse(body) as EventPayload

/** Returns a page of the organization's events, oldest first. The last page has a cursor too, unless nothing was found; it lists later events. */
export async function listEvents(ctx: Ctx, query: EventQuery): Promise<Page<EventPayload>> {
  const { limit, cursor, fiscalEntityId, fiscal_entity_id = fiscalEntityId, ...others } = query
  const filters = { ...others, fiscal_entity_id }
  const scope = { list: 'events', filters }
  const [after] = (await openCursor(ctx, scope, cursor)) ?? []
  const scanned = await scanEvents(ctx.db.$client, ctx.organization.id, filters, Number(after ?? 0), limit + 1)
  const { matches, last } = pageOfScan(scanned, limit)
  const end = last ?? scanned.rows.at(-1)
  return {
    data: matches.map(payloadOf),
    has_more: last !== undefined,
    next_cursor: end ? await sealCursor(ctx, scope, [end.seq]) : null,
  }
}

/** Returns one event. Throws Failure 404 event.not_found, also when the event is about an RFC that is no longer linked. */
export async function getEvent(ctx: Ctx, event_id: string): Promise<EventPayload> {
  const row = await findEvent(ctx.db.$client, ctx.organization.id, event_id)
  if (!row) throw notFound('event')
  return payloadOf(row)
}
