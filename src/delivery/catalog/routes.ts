import type { App } from '../../platform/context.ts'
import { Hono } from '../../platform/http/hono.ts'
import { operation, returns } from '../../platform/http/operation.ts'
import { EventCatalog } from './payload-contract.ts'

export const eventCatalogRoutes = new Hono<App>().get(
  '/event-catalog',
  operation(
    'getEventCatalog',
    'Webhooks',
    'List the events that a webhook can subscribe to',
    'Each available event comes with the JSON Schema of its payload and a sample.',
  ),
  returns(200, EventCatalog),
  async (c) => c.json<EventCatalog>(await (await c.env.ASSETS.fetch('https://assets.invalid/event-catalog.json')).json()),
)
