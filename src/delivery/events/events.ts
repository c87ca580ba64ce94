import { type Ctx, eventsOf, type System } from '../../platform/context.ts'
import { idOfUuid, uuidOf } from '../../platform/db/id.ts'
import { readFirst } from '../../platform/db/statement.ts'
import { notFound } from '../../platform/failures.ts'
import { openCursor, type Page, sealCursor } from '../../platform/paging/cursor.ts'
import type { Tenant } from '../../platform/tenant/tenant.ts'
import { findLinked } from '../../taxpayers/taxpayers.ts'
import type { EventPayload } from '../catalog/payload-contract.ts'
import type { EventQuery } from './contract.ts'
import { type EventRow, findEvent, scanEvents } from './store.ts'
import { fillPage, payloadOf, SCAN_ROWS } from './stored-body.ts'

/** The part of a payload that names its RFC. */
interface About {
  fiscal_entity_id?: string | null
}

/**
 * Returns which of these events are hidden from a tenant, because they are about an RFC that is no longer linked, or not the tenant's. Asks
 * the control plane once, and not at all when none is about an RFC.
 */
export async function hiddenOf<T extends { body: string }>({ db }: System, tenant: Tenant, events: readonly T[]): Promise<Set<T>> {
  const about = new Map(events.map((event) => [event, (JSON.parse(event.body) as About).fiscal_entity_id ?? undefined]))
  const entities = [...new Set(about.values())].flatMap((uuid) => (uuid === undefined ? [] : [idOfUuid('fe', uuid)]))
  const linked = entities.length === 0 ? new Set() : await findLinked(db, tenant, entities)
  return new Set(
    events.filter((event) => {
      const uuid = about.get(event)
      return uuid !== undefined && !linked.has(idOfUuid('fe', uuid))
    }),
  )
}

/** The same in the feed, which shows who is bound to RFCs no event that is about none. */
async function hiddenInFeed<T extends { body: string }>(ctx: Ctx, events: readonly T[]): Promise<Set<T>> {
  const hidden = await hiddenOf(ctx, ctx.organization, events)
  if (ctx.organization.bound_to)
    for (const event of events) if ((JSON.parse(event.body) as About).fiscal_entity_id == null) hidden.add(event)
  return hidden
}

const view = ({ body, seq }: EventRow): EventPayload => JSON.parse(payloadOf(body, seq)) as EventPayload

/**
 * Returns a page of the organization's events, oldest first. The last page has a cursor too: it lists later events. Throws Failure 404
 * fiscal_entity.not_found when the fiscal entity of the filter is not linked.
 */
export async function listEvents(ctx: Ctx, query: EventQuery): Promise<Page<EventPayload>> {
  const { limit, cursor, since, fiscalEntityId, fiscal_entity_id = fiscalEntityId, ...others } = query
  if (fiscal_entity_id !== undefined && !(await findLinked(ctx.db, ctx.organization, [fiscal_entity_id])).has(fiscal_entity_id))
    throw notFound('fiscal_entity')
  const scope = { list: 'events', filters: { ...others, since, fiscal_entity_id } }
  const [after] = (await openCursor(ctx, scope, cursor)) ?? []
  const filters = { event_key: others.event_key ?? null, entity_uuid: fiscal_entity_id === undefined ? null : uuidOf(fiscal_entity_id) }
  const begin = Number(after ?? (since === undefined ? 0 : Date.parse(since) - 1))
  const isFiltered = filters.event_key !== null || filters.entity_uuid !== null
  const { matches, last, end } = await fillPage<EventRow>(
    limit,
    isFiltered || ctx.organization.bound_to ? SCAN_ROWS : 0,
    async (row, take) => {
      const scanned = await scanEvents(eventsOf(ctx).$client, ctx.organization.id, filters, row?.seq ?? begin, take)
      const found = scanned.rows.filter(({ is_match }) => is_match === 1)
      for (const one of await hiddenInFeed(ctx, found)) one.is_match = 0
      return scanned
    },
  )
  return {
    data: matches.map(view),
    has_more: last !== undefined,
    next_cursor: await sealCursor(ctx, scope, [(last ?? end)?.seq ?? begin]),
  }
}

/** Returns one event. Throws Failure 404 event.not_found, also when the event is about an RFC that is no longer linked. */
export async function getEvent(ctx: Ctx, event_id: string): Promise<EventPayload> {
  const row = await readFirst(eventsOf(ctx).$client, findEvent(ctx.organization.id, event_id))
  if (!row || (await hiddenInFeed(ctx, [row])).size > 0) throw notFound('event')
  return view(row)
}
