import { BLACKLIST_CHANGED } from '../../lists/listed/changed.ts'
import type { Ctx } from '../../platform/context.ts'
import type { Page } from '../../platform/paging/cursor.ts'
import type { EventPayload } from '../catalog/payload-contract.ts'
import { listEvents } from '../events/events.ts'
import type { WatchQuery } from './contract.ts'

/** Returns a page of the changes of lists that concern counterparties of the organization, oldest first, as its feed of events has them. */
export const watchBlacklists = (ctx: Ctx, query: WatchQuery): Promise<Page<EventPayload>> =>
  listEvents(ctx, { ...query, event_key: BLACKLIST_CHANGED })
