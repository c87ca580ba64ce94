import * as z from 'zod'
import { checkPaid } from '../accounts/billing/billing.ts'
import { consoleApp, isOfConsole } from '../accounts/console/routes.ts'
import { authenticate, noteUse } from '../accounts/credentials/authenticate.ts'
import { billingRoutes, credentialRoutes, identityRoutes, organizationRoutes, teamRoutes } from '../accounts/routes.ts'
import { deductionRoutes } from '../analytics/deductions/routes.ts'
import { diotRoutes, diotSettingsRoutes } from '../analytics/diot/routes.ts'
import { isrRoutes } from '../analytics/isr/routes.ts'
import {
  concentrationRoutes,
  conceptsRoutes,
  efosRoutes,
  financingRoutes,
  fxRoutes,
  indicatorRoutes,
  portfolioVatRoutes,
  reportRoutes,
  riskRoutes,
  supplierRoutes,
  withholdingRoutes,
} from '../analytics/routes.ts'
import { vatRoutes } from '../analytics/vat/routes.ts'
import { sourceRoutes } from '../authority/routes.ts'
import { detailRoutes } from '../cfdi/detail/routes.ts'
import { changesRoutes, importRoutes, relatedRoutes, searchRoutes, summaryRoutes } from '../cfdi/routes.ts'
import { consentRoutes } from '../connections/consents/routes.ts'
import { entityRunRoutes, extractorRoutes, oneRunRoutes, runRoutes } from '../connections/extractors/routes.ts'
import { fetcherRoutes } from '../connections/fetcher/routes.ts'
import { isOfLinks, linkPages } from '../connections/links/page-routes.ts'
import { connectLinkRoutes } from '../connections/links/routes.ts'
import { attentionRoutes, entityRoutes, entitySyncRoutes, seatRoutes, syncRoutes } from '../connections/routes.ts'
import { connectorRoutes } from '../copies/connectors/routes.ts'
import { exportRoutes } from '../copies/exports/routes.ts'
import { deliveryRoutes, eventRoutes, listedRoutes, watchRoutes, webhookRoutes } from '../delivery/routes.ts'
import { documentRoutes, mailboxRoutes, portfolioDocumentRoutes } from '../documents/routes.ts'
import { downloadRoutes } from '../downloads/routes.ts'
import { cancellationRoutes, statusRoutes } from '../downloads/status/routes.ts'
import { blacklistRoutes, customListRoutes, repseRoutes } from '../lists/routes.ts'
import type { App, Authenticate } from '../platform/context.ts'
import { apiHeaders, ownRequestId, requestLog, systemOfRequest } from '../platform/http/envelope.ts'
import { Health, healthOf, Unhealthy } from '../platform/http/health.ts'
import { Hono, refuseWrongPaths } from '../platform/http/hono.ts'
import { limitHeaders, limitPublic } from '../platform/http/limits.ts'
import { openOperation, params, publicOperation, refuses, returns, returnsFile } from '../platform/http/operation.ts'
import { problem, unknownPath } from '../platform/http/problem.ts'
import { llmsPage, openApi, referenceFile, referencePage } from '../platform/http/reference.ts'
import { alertRoutes, auditRoutes } from '../platform/routes.ts'
import type { Settings } from '../platform/settings.ts'
import { FiscalEntityId } from '../taxpayers/contract.ts'
import { resume } from './resume.ts'
import { authRoutes } from './sign-up/routes.ts'
import { testHelperRoutes } from './test-helpers/routes.ts'
import { getUsage } from './usage.ts'

/** A path as it was sent: an encoded spelling of a path is another path. */
const pathOf = ({ url }: Pick<Request, 'url'>): string => /^[^?#]*/.exec(url)![0].slice(url.indexOf('/', 'https://'.length))

const authenticateRequest: Authenticate = async (system, presented, named) => {
  const fiscalEntity = FiscalEntityId.safeParse(named)
  const { isFirstUse, ...who } = await authenticate(system, presented, fiscalEntity.success ? fiscalEntity.data : null)
  const ctx = { ...system, ...who }
  return { ctx, afterwards: isFirstUse ? () => noteUse(ctx) : null }
}

/** The test helpers that change what the sandbox of the tax authority answers. */
const OF_SANDBOX = /^\/v1\/test-helpers\/(cfdi|fiscal-entities|mailbox|sync-jobs)(\/|$)/

/** Whether a deployment serves a path: `live` has no test helpers, and the sandbox's exist only where the authority is the sandbox. */
export const isServed = ({ environment, taxAuthority }: Settings, path: string): boolean =>
  !path.startsWith('/v1/test-helpers/') || (environment !== 'live' && (taxAuthority === 'sandbox' || !OF_SANDBOX.test(path)))

/** Every route of the API. */
export const app: Hono<App> = new Hono<App>({ getPath: pathOf })

// Runs for every request before its route.
app
  .use(ownRequestId, requestLog, apiHeaders, limitHeaders)
  .all('/api/v1/*', (c) => {
    const { pathname, search } = new URL(c.req.url)
    return c.body(null, 308, { Location: `/v1${pathname.slice('/api/v1'.length)}${search}` })
  })
  .get(
    '/health',
    openOperation(
      'getHealth',
      'Service',
      'Check whether the service can be used',
      'Checks the settings and the database without which nothing works. An answer is kept for ten seconds.',
    ),
    returns(200, Health),
    returns(503, Unhealthy, 'The service cannot be used. `missing` says what its operator has to do.', {}),
    async (c) => {
      const health = await healthOf(c.env, c.var.requestId)
      return c.json(health, health.status === 'ok' ? 200 : 503)
    },
  )
  .use((c, next) => {
    c.set('system', systemOfRequest(c))
    c.set('authenticate', authenticateRequest)
    return next()
  })
  .use('/v1/test-helpers/*', async (c, next) => {
    if (isServed(c.var.system.settings, c.req.path)) return next()
    await limitPublic(c)
    throw unknownPath()
  })
  .use(refuseWrongPaths(app))

app
  // These come before `/v1/cfdi/:uuid`, which would match their paths.
  .route('/v1/cfdi', supplierRoutes)
  .route('/v1/cfdi', concentrationRoutes)
  .route('/v1/cfdi', riskRoutes)
  .route('/v1/cfdi', deductionRoutes)
  .route('/v1/cfdi', withholdingRoutes)
  .route('/v1/analytics', indicatorRoutes)
  .route('/v1/analytics', vatRoutes)
  .route('/v1/analytics', isrRoutes)
  .route('/v1/analytics', conceptsRoutes)
  .route('/v1/analytics', efosRoutes)
  .route('/v1/analytics', financingRoutes)
  .route('/v1/analytics', fxRoutes)
  .route('/v1/reports', diotRoutes)
  .route('/v1/reports', reportRoutes)
  .route('/v1/exports', exportRoutes)
  .route('/v1/blacklists/custom', customListRoutes)
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
  .get('/v1/openapi.json', publicOperation('getOpenApi', 'Service', 'Get the OpenAPI 3.1 document'), returns(200, z.looseObject({})), (c) =>
    openApi(c, (path) => isServed(c.var.system.settings, path)),
  )
  .route('/v1/auth', authRoutes)
  .route('/v1/organization', organizationRoutes)
  .route('/v1/team', teamRoutes)
  .route('/v1/credentials', credentialRoutes)
  .route('/v1', identityRoutes)
  .route('/v1/audit-events', auditRoutes)
  .route('/v1/alerts', alertRoutes)
  .route('/v1/webhooks', webhookRoutes)
  .route('/v1/webhooks', deliveryRoutes)
  .route('/v1/events', eventRoutes)
  .route('/v1/storage-connectors', connectorRoutes(checkPaid))
  .route('/v1/billing', billingRoutes(getUsage, resume))
  .route('/v1/billing', seatRoutes)
  .route('/v1/extractors', extractorRoutes)
  .route('/v1/extractors', runRoutes)
  .route('/v1/fiscal-entities', sourceRoutes)
  .route('/v1/fiscal-entities', entityRoutes)
  .route('/v1/connect-links', connectLinkRoutes)
  .route('/v1/consents', consentRoutes)
  .route('/v1/runs', oneRunRoutes)
  .route('/v1/fiscal-entities', entityRunRoutes)
  .route('/v1/portfolio', attentionRoutes)
  .route('/v1/portfolio', portfolioDocumentRoutes)
  .route('/v1/portfolio', portfolioVatRoutes)
  .route('/v1/portfolio', listedRoutes)
  .route('/v1/sync', syncRoutes)
  .route('/v1/fiscal-entities', entitySyncRoutes)
  .route('/v1/fiscal-entities', downloadRoutes)
  .route('/v1/fiscal-entities', documentRoutes)
  .route('/v1/fiscal-entities', diotSettingsRoutes)
  .route('/v1/fiscal-entities', mailboxRoutes)
  .route('/v1/fiscal-entities', importRoutes)
  .route('/v1/fiscal-entities', repseRoutes)
  .route('/v1/cfdi', searchRoutes)
  .route('/v1/cfdi', summaryRoutes)
  .route('/v1/cfdi', changesRoutes)
  .route('/v1/cfdi', detailRoutes)
  .route('/v1/cfdi', relatedRoutes)
  .route('/v1/cfdi', statusRoutes)
  .route('/v1/cancellation-requests', cancellationRoutes)
  .route('/v1/blacklists', blacklistRoutes)
  .route('/v1/blacklists', watchRoutes)
  .route('/v1/test-helpers', testHelperRoutes)
  .route('/fetcher/v1', fetcherRoutes)

app.onError(problem)
app.notFound(async (c) => {
  await limitPublic(c)
  return problem(unknownPath(), c)
})

/** The app that answers a request: the console's pages and sessions, the pages of connect links, or the API. */
export function appFor(request: Pick<Request, 'url'>): Hono<App> {
  const path = pathOf(request)
  if (isOfConsole(path)) return consoleApp
  return isOfLinks(path) ? linkPages : app
}
