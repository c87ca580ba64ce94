import type { Context, MiddlewareHandler } from 'hono'
import { requestId } from 'hono/request-id'
import { secureHeaders } from 'hono/secure-headers'
import type { App } from '../context.ts'
import { log } from '../log.ts'

/** Gives every request an id of ours. A client's own id is longer than 0 characters, so that none is accepted. */
export const ownRequestId = requestId({ limitLength: 0, generator: () => `req_${crypto.randomUUID().replaceAll('-', '')}` })

/** Gives every answer the headers of an API that no page embeds. An answer that has one of them already keeps its own. */
export const apiHeaders = secureHeaders({
  contentSecurityPolicy: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
  strictTransportSecurity: 'max-age=63072000; includeSubDomains',
  xFrameOptions: 'DENY',
  crossOriginOpenerPolicy: false,
  originAgentCluster: false,
  xDnsPrefetchControl: false,
  xDownloadOptions: false,
  xPermittedCrossDomainPolicies: false,
  xXssProtection: false,
  overwrite: false,
})

/** Writes one log line about every request, without a secret, and keeps answers out of caches unless they say otherwise. */
export const requestLog: MiddlewareHandler<App> = async (c, next) => {
  const started = Date.now()
  await next()
  const { headers } = c.res
  if (!headers.has('Cache-Control')) headers.set('Cache-Control', 'no-store')
  log.info(c.var, lineOf(c, started))
}

const lineOf = (c: Context<App>, started: number) => {
  const ctx = c.get('ctx') as App['Variables']['ctx'] | undefined
  return {
    method: c.req.method,
    route: c.get('route') ?? null,
    status: c.res.status,
    ms: Date.now() - started,
    organization: ctx?.organization.id ?? null,
    actor: ctx?.actor.kind === 'credential' ? ctx.actor.api_key : null,
  }
}
