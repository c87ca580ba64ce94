import * as z from 'zod'
import { documented, GivenInstant, Id, Paging, pageOf } from '../../platform/http/shapes.ts'
import { FiscalEntityId } from '../../taxpayers/contract.ts'
import { EventPayload, SentEventKey } from '../catalog/payload-contract.ts'

export const EventQuery = z
  .strictObject({
    ...Paging,
    event_key: SentEventKey.optional().meta({ description: 'Lists only events with this key, such as `cfdi.cancelled`.' }),
    since: GivenInstant.optional().meta({
      description:
        'Begins with the events that were added to the feed at this instant or later. An event is added some seconds after its `occurred_at`.',
    }),
    fiscal_entity_id: documented(FiscalEntityId.optional(), {
      type: 'string',
      description: 'Lists only events about this fiscal entity: a `fe_…` identifier, or its UUID form.',
    }),
    fiscalEntityId: documented(FiscalEntityId.optional(), {
      type: 'string',
      description: 'Alternative spelling of `fiscal_entity_id`.',
    }),
  })
  .superRefine(({ fiscal_entity_id, fiscalEntityId }, context) => {
    if (fiscal_entity_id !== undefined && fiscalEntityId !== undefined && fiscal_entity_id !== fiscalEntityId)
      context.addIssue({ code: 'custom', path: ['fiscalEntityId'], message: 'Must be the same as fiscal_entity_id.' })
  })
export type EventQuery = z.infer<typeof EventQuery>

export const EventPage = pageOf(EventPayload).extend({
  next_cursor: z.string().meta({ description: 'The cursor for the next request, also when nothing new has occurred.' }),
})

export const EventPath = z.strictObject({ event_id: Id('evt') })

export const WatchQuery = z.strictObject({ ...Paging, since: EventQuery.shape.since })
export type WatchQuery = z.infer<typeof WatchQuery>
