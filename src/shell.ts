import { authenticate, noteUse } from './identity/credentials/authenticate.ts'
import { type App, type Authenticate, systemOf } from './platform/context.ts'
import { apiHeaders, ownRequestId, requestLog } from './platform/http/envelope.ts'
import { Health, healthOf, Unhealthy } from './platform/http/health.ts'
import { Hono, refuseWrongPaths } from './platform/http/hono.ts'
import { publicOperation, returns } from './platform/http/operation.ts'
import { problem, unknownPath } from './platform/http/problem.ts'
import type { Settings } from './platform/settings.ts'
import { pathOf } from './surface-paths.ts'
import { FiscalEntityId } from './taxpayers/contract.ts'

const authenticateRequest: Authenticate = async (system, presented, named) => {
  const fiscalEntity = FiscalEntityId.safeParse(named)
  const { isFirstUse, ...who } = await authenticate(system, presented, fiscalEntity.success ? fiscalEntity.data : null)
  const ctx = { ...system, ...who }
  return { ctx, afterwards: isFirstUse ? () => noteUse(ctx) : null }
}

/** The test helpers that change what the sandbox of the tax authority answers. */
const OF_SANDBOX = /^\/v1\/test-helpers\/(cfdi|fiscal-entities|mailbox|sync-jobs)(\/|$)/

/** Whether a deployment has what is at a path: `live` has no test helper, and another authority than the sandbox has none of the sandbox's. */
export const isServed = ({ environment, taxAuthority }: Settings, path: string): boolean =>
  !path.startsWith('/v1/test-helpers/') || (environment !== 'live' && (taxAuthority === 'sandbox' || !OF_SANDBOX.test(path)))

/** What every request meets before its route. `elsewhere` has paths of another Worker, which a misspelled path may mean. */
export function shell(elsewhere: readonly string[] = []): Hono<App> {
  const app: Hono<App> = new Hono<App>({ getPath: pathOf })
  app
    .use(ownRequestId, requestLog, apiHeaders)
    .all('/api/v1/*', (c) => {
      const { pathname, search } = new URL(c.req.url)
      return c.body(null, 308, { Location: `/v1${pathname.slice('/api/v1'.length)}${search}` })
    })
    .get(
      '/health',
      publicOperation('getHealth', 'Service', 'Check whether the service can be used', 'Checks the settings and asks every database.'),
      returns(200, Health),
      returns(503, Unhealthy, 'The service cannot be used. `missing` says what its operator has to do.', {}),
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
      if (!isServed(c.var.system.settings, c.req.path)) throw unknownPath()
      return next()
    })
    .use(refuseWrongPaths(app, elsewhere))
  app.onError(problem)
  app.notFound((c) => problem(unknownPath(), c))
  return app
}
