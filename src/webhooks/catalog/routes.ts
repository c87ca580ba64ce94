import { doc } from '#doc'
import type { App } from '../../platform/context.ts'
import { Hono } from '../../platform/http/hono.ts'
import { operation, returns } from '../../platform/http/operation.ts'
import { listCatalog } from './catalog.ts'
import { EventCatalog } from './contract.ts'

export const eventCatalogRoutes = new Hono<App>().get(
  '/event-catalog',
  operation(
    'getEventCatalog',
    'Webhooks',
    doc('List the events that a webhook can subscribe to'),
    doc('Each available event comes with the JSON Schema of its payload and a sample.'),
  ),
  returns(200, EventCatalog),
  (c) => c.json(listCatalog()),
)
