import { waitUntil } from 'cloudflare:workers'
import { zValidator } from '@hono/zod-validator'
import type { Context, MiddlewareHandler } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import * as z from 'zod'
import { Failure } from '../../failures.ts'
import type { App } from '../context.ts'
import { answerOnce } from '../idempotency/idempotency.ts'
import type { Role } from '../tenant.ts'
import { readAuthorization } from './authorization.ts'
import { readJson, readUpload } from './body.ts'
import { limitAddress } from './limits.ts'
import { InvalidInput } from './problem.ts'

/** What one middleware contributes to the description of the route that it sits on. */
export interface Clause {
  operation?: { id: string; tag: string; summary: string; description?: string; isPublic: boolean }
  roles?: readonly Role[]
  input?: { target: 'json' | 'query' | 'param'; schema: z.ZodObject }
  isIdempotent?: true
  upload?: { contentTypes: readonly string[]; description: string }
  output?: { status: number; description: string; schema?: z.ZodType; headers?: Record<string, string>; contentTypes?: readonly string[] }
}

const CLAUSE: unique symbol = Symbol('clause')

const described = <M extends MiddlewareHandler>(clause: Clause, middleware: M): M => Object.assign(middleware, { [CLAUSE]: clause })

export const clauseOf = (handler: unknown): Clause | undefined => (handler as { [CLAUSE]?: Clause })[CLAUSE]

const pass = (): MiddlewareHandler<App> => (_c, next) => next()

type Guard = (c: Context) => Promise<void> | void

const valid = <S extends z.ZodObject, T extends 'json' | 'query' | 'param'>(target: T, schema: S, guard: Guard = () => {}) => {
  const validator = zValidator(target, schema, (result) => {
    if (!result.success) throw new InvalidInput(target, result.error.issues)
  })
  const guarded = (async (c, next) => {
    await guard(c as Context)
    return validator(c, next)
  }) as typeof validator
  return described({ input: { target, schema } }, guarded)
}

/** Names a route: the operationId, the tag that it is listed under, one line, and what else a reader should know. */
export const operation = (id: string, tag: string, summary: string, description?: string) =>
  described({ operation: { id, tag, summary, isPublic: false, ...(description && { description }) } }, pass())

/** The same for a route that needs no credential. */
export const publicOperation = (id: string, tag: string, summary: string, description?: string) =>
  described({ operation: { id, tag, summary, isPublic: true, ...(description && { description }) } }, pass())

/** Only credentials of these roles pass; any other answers 403. */
export const roles = (...allowed: [Role, ...Role[]]) =>
  described({ roles: allowed }, ((c, next) => {
    const { actor } = c.var.ctx
    if (actor.kind !== 'credential' || !allowed.includes(actor.role))
      throw new Failure('forbidden', 'credential.role', `This needs a credential with the role ${allowed.join(' or ')}.`)
    return next()
  }) as MiddlewareHandler<App>)

/** A JSON body. */
export const body = <S extends z.ZodObject>(schema: S) => valid('json', schema, readJson)
export const query = <S extends z.ZodObject>(schema: S) => valid('query', schema)
export const params = <S extends z.ZodObject>(schema: S) => valid('param', schema)

/** Whatever is tried again: not a failure of ours, and no refusal that a payment, time or another credential lifts. */
const isFinal = (status: number, error: Error | undefined): boolean =>
  status < 500 && ![401, 402, 403, 429].includes(status) && !(error instanceof Failure && error.kind === 'contention')

/** The body as it came, for a fingerprint: JSON as text, an upload by its digest. */
async function contentOf(c: Context<App>): Promise<string> {
  const uploaded = c.get('upload') as Uint8Array | undefined
  if (uploaded) return new Uint8Array(await crypto.subtle.digest('SHA-256', uploaded)).toHex()
  return (await c.req.bodyCache.text) ?? ''
}

/**
 * A request that, sent again, would do something again: with the same Idempotency-Key it gets the same answer. The last clause, because
 * what the others refuse is not kept.
 */
export const idempotent = () =>
  described({ isIdempotent: true }, (async (c, next) => {
    const key = c.req.header('idempotency-key')
    const presented = readAuthorization(c.req.header('authorization'))
    if (key === undefined || !presented) return next()
    const asked = { key, request: [c.req.method, c.req.path, await contentOf(c)], api_secret: presented.api_secret }
    const answering = answerOnce(c.var.ctx, asked, async (ctx) => {
      c.set('ctx', ctx)
      await next()
      const answer = { status: c.res.status, content_type: c.res.headers.get('content-type') ?? '', text: await c.res.clone().text() }
      return { answer, isFinal: isFinal(answer.status, c.error) }
    })
    // Also when the caller hangs up: that is what they will send the key again for.
    waitUntil(answering.catch(() => {}))
    const { status, content_type, text, replayed } = await answering
    if (!replayed) return
    return c.body(text, status as ContentfulStatusCode, { 'Content-Type': content_type, 'Idempotency-Replayed': 'true' })
  }) as MiddlewareHandler<App>)

/** What needs no credential and makes something: so often from one address, and no more. After the shape, which costs nothing. */
export const perAddress = () =>
  described({ output: { status: 429, description: 'Too many from one address. RateLimit-Policy says how many are accepted.' } }, (async (
    c,
    next,
  ) => {
    await limitAddress(c)
    return next()
  }) as MiddlewareHandler<App>)

/** A raw body of one of these content types, not empty and not above the limit. */
export const upload = (contentTypes: readonly string[], limit: number, description: string) =>
  described({ upload: { contentTypes, description } }, (async (c, next) => {
    c.set('upload', await readUpload(c, contentTypes, limit))
    return next()
  }) as MiddlewareHandler<App>)

const noQuery = query(z.strictObject({}))

/** A route that declares no query takes none, lest a misspelled filter be ignored in silence; public pages take any. */
const passUnasked = (): MiddlewareHandler<App> => (c, next) => {
  const isPage = c.get('ctx') === undefined && c.req.method !== 'POST'
  return isPage || c.req.valid('query' as never) !== undefined ? next() : noQuery(c as never, next)
}

/** What the route answers. */
export const returns = (status: number, schema?: z.ZodType, description = 'OK', headers?: Record<string, string>) =>
  described({ output: { status, description, ...(schema && { schema }), ...(headers && { headers }) } }, passUnasked())

/** What the route answers when it does not answer JSON. */
export const returnsFile = (description: string, ...contentTypes: string[]) =>
  described({ output: { status: 200, description, contentTypes } }, passUnasked())

/** A refusal of this route beyond those that its other clauses imply (400, 401, 403, 413, 415, 422). */
export const refuses = (status: 400 | 402 | 404 | 409 | 413 | 415 | 422 | 429 | 503, description: string) =>
  described({ output: { status, description } }, pass())
