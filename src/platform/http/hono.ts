import type { MiddlewareHandler } from 'hono'
import { HonoBase, type HonoOptions } from 'hono/hono-base'
import { TrieRouter } from 'hono/router/trie-router'
import type { Env, Schema } from 'hono/types'
import type { App } from '../context.ts'
import { nearest } from '../names.ts'
import { limitPublic } from './limits.ts'
import { problem, unknownPath, wrongMethod } from './problem.ts'
import { InvalidInput } from './validation/faults.ts'

/** Hono with one router alone, which `pathsOf` needs anyway. */
export class Hono<E extends Env, S extends Schema = Record<never, never>, BasePath extends string = '/'> extends HonoBase<E, S, BasePath> {
  constructor(options: HonoOptions<E> = {}) {
    super({ router: new TrieRouter(), ...options })
  }
}

/** The methods of each path: of those that routes spell out, and of those with parameters. */
function pathsOf(routes: readonly { method: string; path: string }[]) {
  const literal = new Map<string, Set<string>>()
  const others = new TrieRouter<Set<string>>()
  const methods = new Map<string, Set<string>>()
  for (const { method, path } of routes)
    if (method !== 'ALL') methods.set(path, (methods.get(path) ?? new Set()).add(method).add(method === 'GET' ? 'HEAD' : method))
  for (const [path, own] of methods) /[:*]/.test(path) ? others.add('ALL', path, own) : literal.set(path, own)
  return { literal, at: (path: string) => new Set(others.match('ALL', path)[0].flatMap(([own]) => [...own])) }
}

/**
 * Answers 405 with the methods of the path. A path that routes spell out has the methods of these routes only, because the parameter of
 * another route never has the value that stands there: `/v1/webhooks/event-catalog` is no webhook. An unknown path is answered 404, with a
 * hint about its fault.
 */
export function refuseWrongPaths(app: { routes: { method: string; path: string }[] }): MiddlewareHandler<App> {
  let paths: ReturnType<typeof pathsOf> | undefined
  return async (c, next) => {
    paths ??= pathsOf(app.routes)
    const { literal, at } = paths
    const { method, path } = c.req
    const own = literal.get(path)
    if (own) {
      if (own.has(method)) return next()
      await limitPublic(c)
      throw wrongMethod([...own])
    }
    await next()
    if (c.error instanceof InvalidInput && c.error.target === 'param') {
      const meant = siblingOf(path, paths)
      if (meant !== undefined) c.res = problem(c.error.with(`Did you mean ${meant}?`), c)
    }
    if (c.res.status !== 404 || c.error) return
    const allowed = at(path)
    if (allowed.has(method)) return
    c.res = problem(allowed.size > 0 ? wrongMethod([...allowed]) : unknownPath(hintOf(path, paths)), c)
  }
}

/** A hint about the fault of an unknown path; undefined without one. */
function hintOf(path: string, { literal, at }: ReturnType<typeof pathsOf>): string | undefined {
  const isKnown = (one: string) => literal.has(one) || at(one).size > 0
  if (path.length > 1 && path.endsWith('/') && isKnown(path.slice(0, -1))) return 'Leave out the slash at its end.'
  if (isKnown(`/v1${path}`)) return 'Put /v1 before it.'
  if (path.startsWith('/v1/v1/')) return 'It has /v1 twice.'
  const meant = nearest(path, [...literal.keys()].filter(isShown))
  return meant && `Did you mean ${meant}? GET /docs lists all paths.`
}

/** A path that another one stands for whose last part is no identifier: that of a neighbour with a similar name. */
function siblingOf(path: string, { literal }: ReturnType<typeof pathsOf>): string | undefined {
  const at = path.lastIndexOf('/') + 1
  const partOf = (one: string): string => one.slice(at).split('/')[0]!
  const siblings = [...literal.keys()].filter((one) => isShown(one) && one.startsWith(path.slice(0, at)))
  const meant = nearest(path.slice(at), siblings.map(partOf))
  return siblings.find((one) => partOf(one) === meant)
}

/** Paths of one environment alone are not suggested. */
const isShown = (path: string): boolean => path.startsWith('/v1/') && !path.startsWith('/v1/test-helpers/')
