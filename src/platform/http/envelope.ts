import type { Context, MiddlewareHandler } from 'hono'
import { requestId } from 'hono/request-id'
import { type App, type System, systemOf } from '../context.ts'
import { log } from '../log.ts'
import { networkOf } from '../network.ts'
import { clock } from '../time/clock.ts'

/** Gives every request an id of ours. A client's own id is longer than 0 characters, so that none is accepted. */
export const ownRequestId = requestId({ limitLength: 0, generator: () => `req_${crypto.randomUUID().replaceAll('-', '')}` })

/** The system of a request. Throws UnusableSettings. */
export function systemOfRequest({ env, req, var: { requestId } }: Context<App>): System {
  const address = req.header('cf-connecting-ip') ?? ''
  return { ...systemOf(env, clock.date(), requestId), address, network: networkOf(address) }
}

const HEADERS = {
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'Strict-Transport-Security': 'max-age=63072000; includeSubDomains',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
}

/** Gives every answer the headers of an API that no page embeds. An answer that has one of them already keeps its own. */
export const apiHeaders: MiddlewareHandler<App> = async (c, next) => {
  await next()
  for (const [name, value] of Object.entries(HEADERS)) if (!c.res.headers.has(name)) c.res.headers.set(name, value)
}

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
