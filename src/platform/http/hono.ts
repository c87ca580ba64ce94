import type { MiddlewareHandler } from 'hono'
import { HonoBase, type HonoOptions } from 'hono/hono-base'
import { TrieRouter } from 'hono/router/trie-router'
import type { Env, Schema } from 'hono/types'
import type { App } from '../context.ts'
import { problem, wrongMethod } from './problem.ts'

/** Hono with one router alone, which `refuseWrongMethods` needs anyway. */
export class Hono<E extends Env, S extends Schema = Record<never, never>, BasePath extends string = '/'> extends HonoBase<E, S, BasePath> {
  constructor(options: HonoOptions<E> = {}) {
    super({ router: new TrieRouter(), ...options })
  }
}

/**
 * Answers 405 with the methods of the path. A path that routes spell out has the methods of these routes only, because the parameter of
 * another route never has the value that stands there: `/v1/webhooks/event-catalog` is no webhook.
 */
export function refuseWrongMethods(app: { routes: { method: string; path: string }[] }): MiddlewareHandler<App> {
  const literal = new Map<string, Set<string>>()
  const others = new TrieRouter<Set<string>>()
  let isRead = false
  const readRoutes = () => {
    const methods = new Map<string, Set<string>>()
    for (const { method, path } of app.routes)
      if (method !== 'ALL') methods.set(path, (methods.get(path) ?? new Set()).add(method).add(method === 'GET' ? 'HEAD' : method))
    for (const [path, own] of methods) /[:*]/.test(path) ? others.add('ALL', path, own) : literal.set(path, own)
    isRead = true
  }
  return async (c, next) => {
    if (!isRead) readRoutes()
    const { method, path } = c.req
    const own = literal.get(path)
    if (own) {
      if (!own.has(method)) throw wrongMethod([...own])
      return next()
    }
    await next()
    if (c.res.status !== 404 || c.error) return
    const allowed = new Set(others.match('ALL', path)[0].flatMap(([methods]) => [...methods]))
    if (allowed.size > 0 && !allowed.has(method)) c.res = problem(wrongMethod([...allowed]), c)
  }
}
