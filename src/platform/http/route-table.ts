import type { Hono } from 'hono'
import type { App } from '../context.ts'
import { type Clause, clauseOf } from './operation.ts'

/** A route as its clauses declare it. */
export interface Route {
  method: string
  /** As Hono writes it: `/v1/extractors/:extractor_id`. */
  path: string
  clauses: Clause[]
}

/** Reads every declared route off the application itself. */
export function routesOf(app: Hono<App>): Route[] {
  const routes = new Map<string, Route>()
  for (const { method, path, handler } of app.routes) {
    const clause = clauseOf(handler)
    if (!clause) continue
    const key = `${method} ${path}`
    const route = routes.get(key) ?? { method, path, clauses: [] }
    route.clauses.push(clause)
    routes.set(key, route)
  }
  return [...routes.values()]
}

/** The clause that names a route. Throws when there is none. */
export function operationOf({ method, path, clauses }: Route): NonNullable<Clause['operation']> {
  const operation = clauses.find((clause) => clause.operation)?.operation
  if (!operation) throw new Error(`${method} ${path} has no operation().`)
  return operation
}

export const isIdempotent = ({ clauses }: Route): boolean => clauses.some((clause) => clause.isIdempotent)
