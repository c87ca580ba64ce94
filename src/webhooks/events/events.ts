import { notFound } from '../../failures.ts'
import type { Ctx, System } from '../../platform/context.ts'
import { openCursor, type Page, sealCursor } from '../../platform/paging/cursor.ts'
import type { EventQuery } from '../contract.ts'
import { pageOfScan } from '../deliveries/log.ts'
import { findEvent, forgetEvents, scanEvents } from '../deliveries/log-store.ts'
import type { EventPayload } from './catalog.ts'

const KEPT_MS = 90 * 86_400_000
const FORGOTTEN_AT_ONCE = 2_000
const ROUNDS = 400

const bodyOf = ({ body }: { body: string }): EventPayload => JSON.parse(body) as EventPayload

/** The organization's events, oldest first, as they are delivered. The last page has a cursor too: what happens later follows it. */
export async function listEvents(ctx: Ctx, query: EventQuery): Promise<Page<EventPayload>> {
  const { limit, cursor, fiscalEntityId, fiscal_entity_id = fiscalEntityId, ...others } = query
  const filters = { ...others, fiscal_entity_id }
  const scope = { list: 'events', filters }
  const [after] = (await openCursor(ctx, scope, cursor)) ?? []
  const scan = await scanEvents(ctx.db.$client, ctx.organization.id, filters, Number(after ?? 0), limit + 1)
  const { kept, last } = pageOfScan(scan, limit)
  const end = last ?? scan.rows.at(-1)
  return {
    data: kept.map(bodyOf),
    has_more: last !== undefined,
    next_cursor: end ? await sealCursor(ctx, scope, [end.seq]) : null,
  }
}

/** One event. 404 when it is absent, another's, or about an RFC that is no longer linked. */
export async function getEvent(ctx: Ctx, event_id: string): Promise<EventPayload> {
  const row = await findEvent(ctx.db.$client, ctx.organization.id, event_id)
  if (!row) throw notFound('event')
  return bodyOf(row)
}

/** Forgets events, and their deliveries, after 90 days (decisions.md 9). */
export async function pruneEvents({ db, now }: System): Promise<void> {
  const before = now.getTime() - KEPT_MS
  for (let round = 0; round < ROUNDS; round++) if ((await forgetEvents(db.$client, before, FORGOTTEN_AT_ONCE)) < FORGOTTEN_AT_ONCE) return
}
