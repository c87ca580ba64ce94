import { app } from './app.ts'
import { document } from './platform/http/openapi.ts'
import { type Route, routesOf } from './platform/http/route-table.ts'
import type { Settings } from './platform/settings.ts'
import { notices } from './webhooks/catalog/notices.ts'

type Environment = Settings['environment']

const INFO = {
  title: 'Fiscal Data Service',
  version: '1.0.0',
  description:
    'Connect Mexican taxpayers (RFCs), have their CFDIs downloaded on a cadence, and read them through your visibility windows. ' +
    'Amounts are decimal strings. Lists are paged with cursors. Unknown query parameters and unknown members of a body are refused with ' +
    '422.',
}

/** The routes that an environment serves: `live` has no test helpers, and its document does not name them. */
const served = (environment: Environment): Route[] =>
  routesOf(app).filter(({ path }) => environment === 'test' || !path.startsWith('/v1/test-helpers/'))

/**
 * The OpenAPI document of an environment, read off its routes. `npm run openapi` writes it into `assets`, and the Worker answers with that
 * file: neither this file nor the texts of the document are in the bundle.
 */
export const openApiOf = (environment: Environment) => document(served(environment), INFO, notices())
