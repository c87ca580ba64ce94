import type { Hono } from 'hono'
import type { App } from '../../src/platform/context.ts'
import { type Clause, clauseOf } from '../../src/platform/http/operation.ts'
import { type Scope, scopeOf } from '../../src/platform/tenant/scopes.ts'

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

/** The scope that a route needs; null when it is public. */
export function scopeOfRoute(route: Route): Scope | null {
  const operation = operationOf(route)
  return operation.isPublic ? null : scopeOf(operation, route.method)
}

export const isIdempotent = ({ clauses }: Route): boolean => clauses.some((clause) => clause.isIdempotent)

/** The refusals that the clauses of a route imply, by status, in the words of the OpenAPI document. */
export function impliedRefusals(route: Route): Map<number, string> {
  const { clauses } = route
  const { isPublic } = operationOf(route)
  const has = (target: string) => clauses.some(({ input }) => input?.target === target)
  const upload = clauses.some((clause) => clause.upload)
  const refusals = new Map<number, string>()
  if (!isPublic) refusals.set(401, 'The credential is absent, malformed, expired or revoked.')
  if (has('param')) refusals.set(400, 'An identifier in the path is malformed.')
  if (clauses.some(({ input }) => input?.target === 'query' && 'cursor' in input.schema.shape))
    refusals.set(400, has('param') ? 'The cursor or an identifier in the path is malformed.' : 'The cursor is malformed.')
  if (has('json'))
    refusals.set(400, has('param') ? 'The body is not JSON, or an identifier in the path is malformed.' : 'The body is not JSON.')
  if (!isPublic) refusals.set(403, FORBIDDEN)
  if (has('json') || upload) {
    refusals.set(413, 'The body is too large.')
    refusals.set(415, 'The content type of the body is not accepted.')
  }
  if (has('json') || !isPublic)
    refusals.set(
      422,
      'The body or the query does not have the documented shape, or one of its values is not acceptable. `errors` names what is wrong.',
    )
  for (const [status, further] of furtherRefusals(route)) refusals.set(status, [refusals.get(status), further].filter(Boolean).join(' '))
  return refusals
}

const FORBIDDEN =
  'The role or the scopes of the credential do not permit this (`credential.role`, `credential.scope`), or the request does not come from one ' +
  'of its addresses (`credential.address`).'

const TOO_MANY =
  'The credential or its organization makes too many requests, or the address too many without a valid credential ' +
  '(`request.rate_limit`); or the organization asks for more of something expensive than it may in an hour ' +
  '(`organization.hourly_limit`). RateLimit names the limit, and Retry-After when to send the request again.'
const TOO_MANY_PUBLIC = 'The address makes too many requests (`request.rate_limit`). RateLimit names the limit.'

const NOT_REPEATED =
  'A request with this Idempotency-Key is being carried out, or was carried out and its answer cannot be repeated. In the second case ' +
  '`resource_id` names the resource that it made or changed, and `first_answer` says what it was answered if that was not kept.'

const WRONG_KEY = 'The Idempotency-Key is malformed, or was sent with another request.'

const tooMany = ({ isPublic, isLimited }: ReturnType<typeof operationOf>) =>
  isLimited ? [[429, isPublic ? TOO_MANY_PUBLIC : TOO_MANY] as const] : []

/** The meanings of a status in addition to those that the route itself declares. */
export const furtherRefusals = (route: Route): Map<number, string> =>
  new Map([...(isIdempotent(route) ? [[409, NOT_REPEATED] as const, [422, WRONG_KEY] as const] : []), ...tooMany(operationOf(route))])
