import * as z from 'zod'
import { doc } from '#doc'
import { alertRoutes } from './alerts/routes.ts'
import { sourceRoutes } from './authority/routes.ts'
import { checkPaid } from './billing/entitlements.ts'
import { billingRoutes } from './billing/routes.ts'
import { customListRoutes } from './blacklists/custom/routes.ts'
import { blacklistRoutes } from './blacklists/lookups/routes.ts'
import { changesRoutes } from './cfdi/changes/routes.ts'
import { detailRoutes } from './cfdi/detail/routes.ts'
import { searchRoutes } from './cfdi/search/routes.ts'
import { summaryRoutes } from './cfdi/summary/routes.ts'
import { entityRoutes } from './connections/routes.ts'
import { seatRoutes } from './connections/seats-routes.ts'
import { obligationRoutes } from './documents/obligations/routes.ts'
import { documentRoutes } from './documents/routes.ts'
import { coverageRoutes } from './downloads/completeness/routes.ts'
import { syncJobRoutes } from './downloads/routes.ts'
import { extractorRoutes } from './extractors/routes.ts'
import { entityRunRoutes, oneRunRoutes, runRoutes } from './extractors/runs/routes.ts'
import { fetcherRoutes } from './fetcher/routes.ts'
import { authenticate, noteUse } from './identity/credentials/authenticate.ts'
import { credentialRoutes } from './identity/credentials/routes.ts'
import { organizationRoutes } from './identity/organization/routes.ts'
import { identityRoutes } from './identity/routes.ts'
import { teamRoutes } from './identity/team/routes.ts'
import { importRoutes } from './imports/routes.ts'
import { concentrationRoutes } from './insight/concentration/routes.ts'
import { conceptsRoutes } from './insight/concepts/routes.ts'
import { deductionRoutes } from './insight/deductions/routes.ts'
import { efosRoutes } from './insight/efos/routes.ts'
import { financingRoutes } from './insight/financing/routes.ts'
import { fxRoutes } from './insight/fx/routes.ts'
import { portfolioRoutes } from './insight/portfolio/routes.ts'
import { reportRoutes } from './insight/reports/routes.ts'
import { riskRoutes } from './insight/risk/routes.ts'
import { vatRoutes } from './insight/vat/routes.ts'
import { withholdingRoutes } from './insight/withholdings/routes.ts'
import { mailboxRoutes } from './mailbox/routes.ts'
import { authRoutes } from './onboarding/routes.ts'
import { auditRoutes } from './platform/audit/routes.ts'
import { type App, type Authenticate, systemOf } from './platform/context.ts'
import { apiHeaders, ownRequestId, requestLog } from './platform/http/envelope.ts'
import { Health, healthOf, Unhealthy } from './platform/http/health.ts'
import { Hono, refuseWrongPaths } from './platform/http/hono.ts'
import { params, publicOperation, refuses, returns, returnsFile } from './platform/http/operation.ts'
import { problem, unknownPath } from './platform/http/problem.ts'
import { llmsPage, openApi, referenceFile, referencePage } from './platform/http/reference.ts'
import { repseRoutes, supplierRoutes } from './repse/routes.ts'
import { statusRoutes } from './status/routes.ts'
import { connectorRoutes } from './storage/connectors/routes.ts'
import { entitySyncRoutes, syncRoutes } from './sync/routes.ts'
import { FiscalEntityId } from './taxpayers/contract.ts'
import { testHelperRoutes } from './test-helpers/routes.ts'
import { watchRoutes } from './watch/routes.ts'
import { eventCatalogRoutes } from './webhooks/catalog/routes.ts'
import { deliveryRoutes } from './webhooks/deliveries/routes.ts'
import { webhookRoutes } from './webhooks/endpoints/routes.ts'
import { eventRoutes } from './webhooks/events/routes.ts'

const authenticateRequest: Authenticate = async (system, presented, named) => {
  const fiscalEntity = FiscalEntityId.safeParse(named)
  const { isFirstUse, ...who } = await authenticate(system, presented, fiscalEntity.success ? fiscalEntity.data : null)
  const ctx = { ...system, ...who }
  return { ctx, afterwards: isFirstUse ? () => noteUse(ctx) : null }
}

/** The test helpers that change what the sandbox of the tax authority answers. */
const OF_SANDBOX = /^\/v1\/test-helpers\/(cfdi|fiscal-entities|mailbox)(\/|$)/

// Paths are matched as they were sent: an encoded spelling of a path is another path.
export const app: Hono<App> = new Hono<App>({ getPath: ({ url }) => /^[^?#]*/.exec(url)![0].slice(url.indexOf('/', 'https://'.length)) })

app
  .use(ownRequestId, requestLog, apiHeaders)
  .all('/api/v1/*', (c) => {
    const { pathname, search } = new URL(c.req.url)
    return c.body(null, 308, { Location: `/v1${pathname.slice('/api/v1'.length)}${search}` })
  })
  .get(
    '/health',
    publicOperation(
      'getHealth',
      'Service',
      doc('Check whether the service can be used'),
      doc('Checks the settings and asks every database.'),
    ),
    returns(200, Health),
    returns(503, Unhealthy, doc('The service cannot be used. `missing` says what its operator has to do.'), {}),
    async (c) => {
      const health = await healthOf(c.env, c.var.requestId)
      return c.json(health, health.status === 'ok' ? 200 : 503)
    },
  )
  .use((c, next) => {
    c.set('system', systemOf(c.env, new Date(), c.var.requestId))
    c.set('authenticate', authenticateRequest)
    return next()
  })
  .use('/v1/test-helpers/*', (c, next) => {
    const { environment, taxAuthority } = c.var.system.settings
    if (environment === 'live' || (taxAuthority !== 'sandbox' && OF_SANDBOX.test(c.req.path))) throw unknownPath()
    return next()
  })
  .use(refuseWrongPaths(app))
  .get(
    '/docs',
    publicOperation('getReference', 'Service', doc('Read this reference as a page')),
    returnsFile(doc('The page'), 'text/html'),
    (c) => referencePage(c),
  )
  .get(
    '/docs/:file',
    publicOperation('getReferenceFile', 'Service', doc('Get a file of the reference page')),
    params(z.strictObject({ file: z.string() })),
    returnsFile(doc('The file'), 'text/javascript', 'text/css', 'image/png'),
    refuses(404, doc('There is no file with this name.')),
    (c) => referenceFile(c, c.req.valid('param').file),
  )
  .get(
    '/llms.txt',
    publicOperation('getLlmsText', 'Service', doc('Read what a language model should know of this API')),
    returnsFile(doc('The text, in Markdown'), 'text/plain'),
    (c) => llmsPage(c),
  )
  .get(
    '/v1/openapi.json',
    publicOperation('getOpenApi', 'Service', doc('Get the OpenAPI 3.1 document')),
    returns(200, z.looseObject({})),
    (c) => openApi(c),
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
  // Before the other CFDI routes, because `/v1/cfdi/:uuid` would match its path.
  .route('/v1/cfdi', supplierRoutes)
  .route('/v1/cfdi', concentrationRoutes)
  .route('/v1/cfdi', riskRoutes)
  .route('/v1/cfdi', deductionRoutes)
  .route('/v1/cfdi', searchRoutes)
  .route('/v1/cfdi', summaryRoutes)
  .route('/v1/cfdi', withholdingRoutes)
  .route('/v1/cfdi', changesRoutes)
  .route('/v1/cfdi', detailRoutes)
  .route('/v1/cfdi', statusRoutes)
  .route('/v1/analytics', portfolioRoutes)
  .route('/v1/reports', reportRoutes)
  .route('/v1/analytics', vatRoutes)
  .route('/v1/analytics', conceptsRoutes)
  .route('/v1/analytics', efosRoutes)
  .route('/v1/analytics', financingRoutes)
  .route('/v1/analytics', fxRoutes)
  .route('/v1/blacklists', blacklistRoutes)
  .route('/v1/blacklists/custom', customListRoutes)
  .route('/v1/blacklists', watchRoutes)
  .route('/v1/test-helpers', testHelperRoutes)
  .route('/fetcher/v1', fetcherRoutes)

app.onError(problem)
app.notFound((c) => problem(unknownPath(), c))
