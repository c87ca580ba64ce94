import { Hono, type MiddlewareHandler } from 'hono'
import * as z from 'zod'
import { alertRoutes } from './alerts/routes.ts'
import { sourceRoutes } from './authority/routes.ts'
import { billingRoutes } from './billing/routes.ts'
import { blacklistRoutes } from './blacklists/routes.ts'
import { cfdiRoutes } from './cfdi/read/routes.ts'
import { entityRoutes } from './connections/routes.ts'
import { seatRoutes } from './connections/seats-routes.ts'
import { documentRoutes } from './documents/routes.ts'
import { syncRoutes } from './downloads/routes.ts'
import { extractorRoutes } from './extractors/routes.ts'
import { authenticate } from './identity/credentials/authenticate.ts'
import { credentialRoutes } from './identity/credentials/routes.ts'
import { organizationRoutes } from './identity/organization/routes.ts'
import { identityRoutes } from './identity/routes.ts'
import { teamRoutes } from './identity/team/routes.ts'
import { importRoutes } from './imports/routes.ts'
import { authRoutes } from './onboarding/routes.ts'
import { auditRoutes } from './platform/audit/routes.ts'
import type { App } from './platform/context.ts'
import { readAuthorization } from './platform/http/authorization.ts'
import { arrival, envelope } from './platform/http/envelope.ts'
import { limitCredential } from './platform/http/limits.ts'
import { document, type Route, routesOf } from './platform/http/openapi.ts'
import { params, publicOperation, refuses, returns, returnsFile } from './platform/http/operation.ts'
import { problem } from './platform/http/problem.ts'
import { referenceFile, referencePage } from './platform/http/reference.ts'
import { routing } from './platform/http/routing.ts'
import type { Settings } from './platform/settings.ts'
import { repseRoutes, supplierRoutes } from './repse/routes.ts'
import { FiscalEntityId } from './taxpayers/contract.ts'
import { testHelperRoutes } from './test-helpers/routes.ts'
import { notices } from './webhooks/events/catalog.ts'
import { eventRoutes, webhookRoutes } from './webhooks/routes.ts'

const INFO = {
  title: 'Fiscal Data Service',
  version: '1.0.0',
  description:
    'Connect Mexican taxpayers (RFCs), have their CFDIs downloaded on a cadence, and read them through your visibility window. ' +
    'Amounts are decimal strings. Lists are pages by cursor. Unknown query parameters and members are refused with 422.',
}

/** Finds the route, and who asks, before anything else of the request is looked at. */
const admission: MiddlewareHandler<App> = async (c, next) => {
  const path = new URL(c.req.url).pathname
  const { system } = c.var
  const { pattern, isPublic, params: inPath } = tables[system.settings.environment]()(c.req.method, path)
  c.set('route', pattern)
  if (isPublic) return next()
  const named = inPath['fiscal_entity_id'] ?? c.req.query('fiscal_entity_id') ?? c.req.query('fiscalEntityId')
  const fiscalEntity = FiscalEntityId.safeParse(named)
  const presented = readAuthorization(c.req.header('authorization'))
  c.set('ctx', { ...system, ...(await authenticate(system, presented, fiscalEntity.success ? fiscalEntity.data : null)) })
  await limitCredential(c.var.ctx)
  return next()
}

const Health = z
  .strictObject({ status: z.literal('ok'), environment: z.enum(['test', 'live']), tax_authority: z.string() })
  .meta({ id: 'Health' })

export const app: Hono<App> = new Hono<App>()
  .use(envelope)
  .use(arrival)
  .all('/api/v1/*', (c) =>
    c.body(null, 308, { Location: `/v1${new URL(c.req.url).pathname.slice('/api/v1'.length)}${new URL(c.req.url).search}` }),
  )
  .use(admission)
  .get('/health', publicOperation('getHealth', 'Service', 'Whether the service is up'), returns(200, Health), (c) =>
    c.json({ status: 'ok' as const, environment: c.var.system.settings.environment, tax_authority: c.env.TAX_AUTHORITY }),
  )
  .get('/docs', publicOperation('getReference', 'Service', 'This reference as a page'), returnsFile('The page', 'text/html'), (c) =>
    referencePage(c),
  )
  .get(
    '/docs/:file',
    publicOperation('getReferenceFile', 'Service', 'A file of the reference page'),
    params(z.strictObject({ file: z.string() })),
    returnsFile('The file', 'text/javascript', 'text/css', 'image/png'),
    refuses(404, 'There is no such file.'),
    (c) => referenceFile(c, c.req.valid('param').file),
  )
  .get('/v1/openapi.json', publicOperation('getOpenApi', 'Service', 'The OpenAPI 3.1 document'), returns(200, z.looseObject({})), (c) =>
    c.json(documents[c.var.system.settings.environment](), 200, { 'Cache-Control': 'public, max-age=300' }),
  )
  .route('/v1/auth', authRoutes)
  .route('/v1/organization', organizationRoutes)
  .route('/v1/team', teamRoutes)
  .route('/v1/credentials', credentialRoutes)
  .route('/v1', identityRoutes)
  .route('/v1/audit-events', auditRoutes)
  .route('/v1/alerts', alertRoutes)
  .route('/v1/webhooks', webhookRoutes)
  .route('/v1/events', eventRoutes)
  .route('/v1/billing', billingRoutes)
  .route('/v1/billing', seatRoutes)
  .route('/v1/extractors', extractorRoutes)
  .route('/v1/fiscal-entities', sourceRoutes)
  .route('/v1/fiscal-entities', entityRoutes)
  .route('/v1/fiscal-entities', syncRoutes)
  .route('/v1/fiscal-entities', documentRoutes)
  .route('/v1/fiscal-entities', importRoutes)
  .route('/v1/fiscal-entities', repseRoutes)
  // Before the CFDIs, whose path by UUID would take its name for one.
  .route('/v1/cfdi', supplierRoutes)
  .route('/v1/cfdi', cfdiRoutes)
  .route('/v1/blacklists', blacklistRoutes)
  .route('/v1/test-helpers', testHelperRoutes)

app.onError(problem)

const once = <T>(make: () => T): (() => T) => {
  let made: T | undefined
  return () => {
    made ??= make()
    return made
  }
}

/** What an environment serves: `live` has no test helpers, neither to be called nor to be read about. */
const served = (environment: Settings['environment']): Route[] =>
  routesOf(app).filter(({ path }) => environment === 'test' || !path.startsWith('/v1/test-helpers/'))

const eachEnvironment = <T>(make: (routes: Route[]) => T) => ({
  test: once(() => make(served('test'))),
  live: once(() => make(served('live'))),
})

const documents = eachEnvironment((routes) => document(routes, INFO, notices()))
const tables = eachEnvironment(routing)
