import type { Context, MiddlewareHandler } from 'hono'
import { type App, systemOf } from '../env.ts'

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
  c.set('system', systemOf(c.env, new Date(started), requestId))
  await next()
  c.header('X-Request-Id', requestId)
  for (const [name, value] of Object.entries(HEADERS)) c.header(name, value)
  if (!c.res.headers.has('Content-Security-Policy')) c.header('Content-Security-Policy', API_POLICY)
  if (!c.res.headers.has('Cache-Control')) c.header('Cache-Control', 'no-store')
  console.log(JSON.stringify(lineOf(c, started)))
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
