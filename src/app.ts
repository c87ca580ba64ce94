import * as z from 'zod'
import { alertRoutes } from './alerts/routes.ts'
import { sourceRoutes } from './authority/routes.ts'
import { checkPaid } from './billing/entitlements.ts'
import { billingRoutes } from './billing/routes.ts'
import { blacklistRoutes } from './blacklists/lookups/routes.ts'
import { changesRoutes } from './cfdi/changes/routes.ts'
import { detailRoutes } from './cfdi/detail/routes.ts'
import { relatedRoutes } from './cfdi/related/routes.ts'
import { searchRoutes } from './cfdi/search/routes.ts'
import { summaryRoutes } from './cfdi/summary/routes.ts'
import { entityRoutes } from './connections/routes.ts'
import { seatRoutes } from './connections/seats-routes.ts'
import { consoleApp, isOfConsole } from './console/routes.ts'
import { obligationRoutes } from './documents/obligations/routes.ts'
import { documentRoutes } from './documents/routes.ts'
import { coverageRoutes } from './downloads/completeness/routes.ts'
import { syncJobRoutes } from './downloads/routes.ts'
import { extractorRoutes } from './extractors/routes.ts'
import { entityRunRoutes, oneRunRoutes, runRoutes } from './extractors/runs/routes.ts'
import { fetcherRoutes } from './fetcher/routes.ts'
import { credentialRoutes } from './identity/credentials/routes.ts'
import { organizationRoutes } from './identity/organization/routes.ts'
import { identityRoutes } from './identity/routes.ts'
import { teamRoutes } from './identity/team/routes.ts'
import { importRoutes } from './imports/routes.ts'
import { mailboxRoutes } from './mailbox/routes.ts'
import { authRoutes } from './onboarding/routes.ts'
import { auditRoutes } from './platform/audit/routes.ts'
import type { App } from './platform/context.ts'
import type { Hono } from './platform/http/hono.ts'
import { params, publicOperation, refuses, returns, returnsFile } from './platform/http/operation.ts'
import { llmsPage, openApi, referenceFile, referencePage } from './platform/http/reference.ts'
import { repseRoutes } from './repse/routes.ts'
import { isServed, shell } from './shell.ts'
import { statusRoutes } from './status/routes.ts'
import { connectorRoutes } from './storage/connectors/routes.ts'
import { SURFACE_PATHS } from './surface-paths.ts'
import { entitySyncRoutes, syncRoutes } from './sync/routes.ts'
import { testHelperRoutes } from './test-helpers/routes.ts'
import { watchRoutes } from './watch/routes.ts'
import { eventCatalogRoutes } from './webhooks/catalog/routes.ts'
import { deliveryRoutes } from './webhooks/deliveries/routes.ts'
import { webhookRoutes } from './webhooks/endpoints/routes.ts'
import { eventRoutes } from './webhooks/events/routes.ts'

/** Mounts what the Worker of requests answers itself. */
export function mountRequests(app: Hono<App>): Hono<App> {
  app
    .get('/docs', publicOperation('getReference', 'Service', 'Read this reference as a page'), returnsFile('The page', 'text/html'), (c) =>
      referencePage(c),
    )
    .get(
      '/docs/:file',
      publicOperation('getReferenceFile', 'Service', 'Get a guide, or a file that the pages load'),
      params(z.strictObject({ file: z.string() })),
      returnsFile('The file', 'text/html', 'text/javascript', 'text/css', 'image/svg+xml'),
      refuses(404, 'There is no file with this name.'),
      (c) => referenceFile(c, c.req.valid('param').file),
    )
    .get(
      '/llms.txt',
      publicOperation('getLlmsText', 'Service', 'Read what a language model should know of this API'),
      returnsFile('The text, in Markdown', 'text/plain'),
      (c) => llmsPage(c),
    )
    .get(
      '/v1/openapi.json',
      publicOperation('getOpenApi', 'Service', 'Get the OpenAPI 3.1 document'),
      returns(200, z.looseObject({})),
      (c) => openApi(c, (path) => isServed(c.var.system.settings, path)),
    )
    .route('/v1/auth', authRoutes)
    .route('/v1/organization', organizationRoutes)
    .route('/v1/team', teamRoutes)
    .route('/v1/credentials', credentialRoutes)
    .route('/v1', identityRoutes)
    .route('/v1/audit-events', auditRoutes)
    .route('/v1/alerts', alertRoutes)
    .route('/v1/webhooks', eventCatalogRoutes)
    .route('/v1/webhooks', webhookRoutes)
    .route('/v1/webhooks', deliveryRoutes)
    .route('/v1/events', eventRoutes)
    .route('/v1/storage-connectors', connectorRoutes(checkPaid))
    .route('/v1/billing', billingRoutes)
    .route('/v1/billing', seatRoutes)
    .route('/v1/extractors', extractorRoutes)
    .route('/v1/extractors', runRoutes)
    .route('/v1/fiscal-entities', sourceRoutes)
    .route('/v1/fiscal-entities', entityRoutes)
    .route('/v1/runs', oneRunRoutes)
    .route('/v1/fiscal-entities', entityRunRoutes)
    .route('/v1/sync', syncRoutes)
    .route('/v1/fiscal-entities', entitySyncRoutes)
    .route('/v1/fiscal-entities', syncJobRoutes)
    .route('/v1/fiscal-entities', coverageRoutes)
    .route('/v1/fiscal-entities', documentRoutes)
    .route('/v1/fiscal-entities', obligationRoutes)
    .route('/v1/fiscal-entities', mailboxRoutes)
    .route('/v1/fiscal-entities', importRoutes)
    .route('/v1/fiscal-entities', repseRoutes)
    .route('/v1/cfdi', searchRoutes)
    .route('/v1/cfdi', summaryRoutes)
    .route('/v1/cfdi', changesRoutes)
    .route('/v1/cfdi', detailRoutes)
    .route('/v1/cfdi', relatedRoutes)
    .route('/v1/cfdi', statusRoutes)
    .route('/v1/blacklists', blacklistRoutes)
    .route('/v1/blacklists', watchRoutes)
    .route('/v1/test-helpers', testHelperRoutes)
    .route('/fetcher/v1', fetcherRoutes)
  return app
}

export const app: Hono<App> = mountRequests(shell(SURFACE_PATHS))

/** What answers at a path: the console's pages and sessions, or the API. */
export const appAt = (path: string, api = app): Hono<App> => (isOfConsole(path) ? consoleApp : api)
