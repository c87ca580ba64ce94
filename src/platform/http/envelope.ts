import type { Context, MiddlewareHandler } from 'hono'
import { type App, systemOf } from '../context.ts'

const API_POLICY = "default-src 'none'; frame-ancestors 'none'"

const HEADERS = {
  'Strict-Transport-Security': 'max-age=63072000; includeSubDomains',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
}

/** Gives every request an id and one log line without a secret, and every answer its security headers. */
export const envelope: MiddlewareHandler<App> = async (c, next) => {
  const started = Date.now()
  const requestId = `req_${crypto.randomUUID().replaceAll('-', '')}`
  c.set('requestId', requestId)
  await next()
  // Hono makes a new answer, whose headers can be written, for each header that it sets on a finished one: once is enough.
  c.header('X-Request-Id', requestId)
  const { headers } = c.res
  for (const [name, value] of Object.entries(HEADERS)) headers.set(name, value)
  if (!headers.has('Content-Security-Policy')) headers.set('Content-Security-Policy', API_POLICY)
  if (!headers.has('Cache-Control')) headers.set('Cache-Control', 'no-store')
  console.log(JSON.stringify(lineOf(c, started)))
}

/** What serves the request. Inside the envelope, so that a Worker that is configured wrongly says so in an answer like any other. */
export const arrival: MiddlewareHandler<App> = (c, next) => {
  c.set('system', systemOf(c.env, new Date(), c.var.requestId))
  return next()
}

const lineOf = (c: Context<App>, started: number) => {
  const ctx = c.get('ctx') as App['Variables']['ctx'] | undefined
  return {
    level: 'info',
    request_id: c.var.requestId,
    method: c.req.method,
    route: c.get('route') ?? null,
    status: c.res.status,
    ms: Date.now() - started,
    organization: ctx?.organization.id ?? null,
    actor: ctx?.actor.kind === 'credential' ? ctx.actor.api_key : null,
  }
}
