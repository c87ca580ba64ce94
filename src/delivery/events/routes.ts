import type { App } from '../../platform/context.ts'
import { Hono } from '../../platform/http/hono.ts'
import { operation, params, query, refuses, returns } from '../../platform/http/operation.ts'
import { EventPayload } from '../catalog/payload-contract.ts'
import { EventPage, EventPath, EventQuery } from './contract.ts'
import { getEvent, listEvents } from './events.ts'

const TAG = 'Events'

export const eventRoutes = new Hono<App>()
  .get(
    '/',
    operation(
      'listEvents',
      TAG,
      'List the events of the organization, oldest first',
      'The feed holds every event for 90 days, whether or not a webhook subscribes to it, with the payload that webhooks deliver. A ' +
        '`sync.completed` whose counts are all 0 is kept for 14 days, and for 90 while a delivery of it is pending, failed or lost.\n\n' +
        'To follow the feed, store `next_cursor` and send it with the next request. Every page has one, the last and an empty one too: ' +
        'with it you list the events that occur later. `has_more` alone says whether to ask again at once.\n\n' +
        'With a filter, a page can be shorter than `limit`, or empty, while `has_more` is true. This happens only when the service has examined 5,000 events for the page.',
    ),
    query(EventQuery),
    returns(200, EventPage),
    refuses(404, 'The organization has no connection to the fiscal entity of the filter.'),
    async (c) => c.json(await listEvents(c.var.ctx, c.req.valid('query'))),
  )
  .get(
    '/:event_id',
    operation('getEvent', TAG, 'Get an event'),
    params(EventPath),
    returns(200, EventPayload),
    refuses(404, 'The event does not exist, belongs to another organization, or is about an RFC that is no longer linked.'),
    async (c) => c.json(await getEvent(c.var.ctx, c.req.valid('param').event_id)),
  )
