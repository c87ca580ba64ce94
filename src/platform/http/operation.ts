import { waitUntil } from 'cloudflare:workers'
import { zValidator } from '@hono/zod-validator'
import type { Context, MiddlewareHandler } from 'hono'
import { accepts } from 'hono/accepts'
import { routePath } from 'hono/route'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import * as z from 'zod'
import { type App, awaitsConfirmation, type Ctx, type StoredUpload } from '../context.ts'
import { type Column, columnsOf, csvOf } from '../csv.ts'
import { Failure } from '../failures.ts'
import { answerOnce } from '../idempotency/idempotency.ts'
import { requireScope, type Scope, scopeOf } from '../tenant/scopes.ts'
import { admitJson, dropUpload, readOptional, readUpload, storeUpload } from './body.ts'
import { limitAddress, limitCredential, limitFailures, limitPublic } from './limits.ts'
import { presentedBy } from './presented/session.ts'
import { InvalidInput, parse } from './validation/faults.ts'
import { type InputTarget, memberHint, membersOf } from './validation/messages.ts'
import { encodingFaultsOf } from './validation/texts.ts'

/** A declared answer of a route. */
export interface Output {
  status: number
  description: string | undefined
  schema?: z.ZodType
  headers?: Record<string, string | undefined>
  contentTypes?: readonly string[]
}

/**
 * A route is a list of clauses: middleware that both refuses requests and describes the route in the OpenAPI document. The order of the
 * clauses is the order of the refusals: operation 401, params 400, then the scope of the operation 403, body 413, 415, 400 and 422.
 */
export interface Clause {
  operation?: { id: string; tag: string; summary: string; description: string | undefined; isPublic: boolean; isLimited: boolean }
  input?: { target: InputTarget; schema: z.ZodObject; isOptional?: true }
  isIdempotent?: true
  upload?: { contentTypes: readonly string[]; description: string }
  outputs?: readonly Output[]
}

const CLAUSE: unique symbol = Symbol('clause')

const described = <M extends MiddlewareHandler>(clause: Clause, middleware: M): M => Object.assign(middleware, { [CLAUSE]: clause })

export const clauseOf = (handler: unknown): Clause | undefined => (handler as { [CLAUSE]?: Clause })[CLAUSE]

const pass = (): MiddlewareHandler<App> => (_c, next) => next()

/**
 * Names a route (operationId, tag, one-line summary, further description) and admits only requests with a valid credential: 401 without
 * one, 429 when it or its organization makes too many requests, or its address too many without one, and 403 unless it has the scope that
 * follows from the tag and the method. Where the path has parameters, these are looked at first (`params`).
 */
export const operation = (id: string, tag: string, summary: string, description?: string) =>
  described({ operation: { id, tag, summary, description, isPublic: false, isLimited: true } }, (async (c, next) => {
    c.set('route', routePath(c))
    const fiscalEntity = c.req.param('fiscal_entity_id') ?? c.req.query('fiscal_entity_id') ?? c.req.query('fiscalEntityId')
    const presented = await presentedBy(c)
    if (presented) c.set('presented', presented)
    const { ctx, afterwards } = await limitFailures(c, presented, () => c.var.authenticate(c.var.system, presented, fiscalEntity))
    c.set('ctx', ctx)
    await limitCredential(c, ctx)
    c.set('scope', scopeOf({ id, tag }, c.req.method))
    try {
      if (!c.var.route.includes(':')) refuseWithoutScope(c)
      await next()
    } finally {
      if (afterwards) waitUntil(afterwards())
    }
  }) as MiddlewareHandler<App>)

function refuseWithoutScope(c: Context<App>): void {
  const scope = c.get('scope') as Scope | undefined
  if (scope) requireScope(c.var.ctx, scope)
}

/** Names a route that needs no credential: 429 when its address makes too many requests of this kind. */
export const publicOperation = (id: string, tag: string, summary: string, description?: string) =>
  described({ operation: { id, tag, summary, description, isPublic: true, isLimited: true } }, (async (c, next) => {
    c.set('route', routePath(c))
    await limitPublic(c)
    return next()
  }) as MiddlewareHandler<App>)

/** Names a route that needs no credential and counts against no limit: one that costs nothing, or whose requests are signed. */
export const openOperation = (id: string, tag: string, summary: string, description?: string) =>
  described({ operation: { id, tag, summary, description, isPublic: true, isLimited: false } }, ((c, next) => {
    c.set('route', routePath(c))
    return next()
  }) as MiddlewareHandler<App>)

/**
 * Admits only organizations whose e-mail address is confirmed, where the deployment sends mail; 403 for others. It stands first,
 * so that nothing of the body is looked at or stored.
 */
export const confirmed = () =>
  described(
    {
      outputs: [
        {
          status: 403,
          description:
            'The credential may not do this (`credential.role`, `credential.scope`), or it does not come from one of its addresses (`credential.address`), or the e-mail address of the sign-up is not confirmed (`email.unconfirmed`).',
        },
      ],
    },
    ((c, next) => {
      if (awaitsConfirmation(c.var.ctx))
        throw new Failure(
          'forbidden',
          'email.unconfirmed',
          'Confirm the e-mail address of the sign-up first: open the link in the mail that was sent to it. POST /v1/auth/email/resend sends the mail again.',
        )
      return next()
    }) as MiddlewareHandler<App>,
  )

/** Makes the values that `parse` reads from this part of a request available under `c.req.valid(target)`, between two checks of ours. */
const valid = <S extends z.ZodObject, T extends InputTarget>(
  target: T,
  schema: S,
  check: (c: Context) => unknown,
  hint = memberHint,
  checkThen: (c: Context) => void = () => {},
) => {
  const validate = zValidator(target, schema, undefined, {
    validationFunction: (_, value) => ({ success: true, data: parse(target, schema, value, hint) }),
  })
  return described({ input: { target, schema } }, (async (c, next) => {
    await check(c)
    return validate(c, async () => {
      checkThen(c)
      await next()
    })
  }) as typeof validate)
}

/**
 * A JSON body of at most 1 MiB: 413, 415, 400 when it is not JSON, 422 when it does not have this shape. `elsewhere` says, after a space,
 * which other route takes a member.
 */
export const body = <S extends z.ZodObject>(schema: S, elsewhere: Readonly<Record<string, string>> = {}) => {
  const hint: typeof memberHint = (at, path, name) =>
    path.length === 0 && Object.hasOwn(elsewhere, name) ? elsewhere[name]! : memberHint(at, path, name)
  return valid('json', schema, (c) => admitJson(c, () => membersOf(schema)), hint)
}
/** The same for a route that may be called without a body, whatever its content type: 422 when it is no JSON object of this shape. */
export const optionalBody = <S extends z.ZodObject>(schema: S) =>
  described({ input: { target: 'json', schema, isOptional: true } }, (async (c, next) => {
    c.req.addValidatedData('json', parse('json', schema, await readOptional(c), memberHint))
    return next()
  }) as MiddlewareHandler<App, string, { in: { json: z.input<S> }; out: { json: z.output<S> } }>)
/** Query parameters: 422 when they do not have this shape. One that is given several times is a list. */
export const query = <S extends z.ZodObject>(schema: S) =>
  valid('query', schema, ({ req }) => {
    const broken = encodingFaultsOf(req.url)
    if (broken.length > 0) throw new InvalidInput('query', broken)
  })
/** Parameters of the path: 400 when they do not have this shape; then 403 without the scope of the operation. */
export const params = <S extends z.ZodObject>(schema: S) => valid('param', schema, () => {}, memberHint, refuseWithoutScope)

/** A raw body of one of these content types: 413 above the limit in bytes, 415, 422 when it is empty. */
export const upload = (contentTypes: readonly string[], limit: number, description: string) =>
  described({ upload: { contentTypes, description } }, (async (c, next) => {
    c.set('upload', await readUpload(c, contentTypes, limit))
    return next()
  }) as MiddlewareHandler<App>)

/**
 * The same for a body that may be large: it goes into the bucket as it comes, unless `isAdmitted` says that the handler refuses the
 * request, and 400 when its Content-Length is wrong. An upload that the handler does not keep is deleted again.
 */
export const storedUpload = (
  contentTypes: readonly string[],
  limit: number,
  description: string,
  prefix: string,
  isAdmitted: (ctx: Ctx) => boolean,
) =>
  described({ upload: { contentTypes, description } }, (async (c, next) => {
    const stored = await storeUpload(c, { contentTypes, limit, prefix, isAdmitted: isAdmitted(c.var.ctx) })
    c.set('stored', stored)
    await next()
    await dropUpload(c, stored)
  }) as MiddlewareHandler<App>)

/** Limits a public route by network address: 429. It stands after the body, so that a malformed request does not count. */
export const perAddress = () =>
  described({}, (async (c, next) => {
    await limitAddress(c)
    return next()
  }) as MiddlewareHandler<App>)

/**
 * Whether the same request would get the same answer later: not after a failure of the service, nor a refusal that another credential, a
 * payment or time lifts.
 */
const isFinal = (status: number, error: Error | undefined): boolean =>
  status < 500 && ![401, 402, 403, 429].includes(status) && !(error instanceof Failure && ['contention', 'no_room'].includes(error.kind))

/** The content of the body for a fingerprint: JSON as it was sent, or the digest of an upload. */
const contentOf = async (c: Context<App>): Promise<string> =>
  (c.get('stored') as StoredUpload | undefined)?.sha256 ?? (await c.req.bodyCache.text) ?? ''

/**
 * Carries the request out once for each Idempotency-Key and answers repetitions alike. It is the last clause, so that the refusals of the
 * others are not kept. With `canAnswerAgain` the handler also answers a repetition whose answer was not kept (`isCarriedOut` of its claim).
 */
export const idempotent = ({ canAnswerAgain = false } = {}) =>
  described({ isIdempotent: true }, (async (c, next) => {
    const key = c.req.header('idempotency-key')
    if (key === undefined) return next()
    const content = [c.req.method, c.req.path, new URL(c.req.url).search, await contentOf(c)]
    const answering = answerOnce(c.var.ctx, { key, content, api_secret: c.var.presented.api_secret, canAnswerAgain }, async (ctx) => {
      c.set('ctx', ctx)
      await next()
      const answer = { status: c.res.status, content_type: c.res.headers.get('content-type') ?? '', text: await c.res.clone().text() }
      return { answer, isFinal: isFinal(answer.status, c.error) }
    })
    // A caller who hangs up will send the key again, so the work continues without them.
    waitUntil(answering.catch(() => {}))
    const { status, content_type, text, isReplayed } = await answering
    if (!isReplayed) return
    // The handler has answered it again.
    if (c.finalized) return c.error ? undefined : c.header('Idempotency-Replayed', 'true')
    return c.body(text, status as ContentfulStatusCode, { 'Content-Type': content_type, 'Idempotency-Replayed': 'true' })
  }) as MiddlewareHandler<App>)

const Nothing = z.strictObject({})
const noQuery = query(Nothing)
const NO_BODY = ' This request takes no body.'
const NO_BODY_OF_GET = ' A GET takes no body: send its values as query parameters.'

/**
 * Refuses query parameters and members of a body where a route declares none, so that a misspelled filter is never ignored. Public pages
 * accept any.
 */
const refuseUndeclared = (): MiddlewareHandler<App> => async (c, next) => {
  const isPublic = c.get('ctx') === undefined
  const isRead = c.req.raw.bodyUsed || c.get('stored') !== undefined
  if (!isPublic && !isRead) parse('json', Nothing, await readOptional(c), () => (c.req.method === 'GET' ? NO_BODY_OF_GET : NO_BODY))
  return (isPublic && c.req.method !== 'POST') || c.req.valid('query' as never) !== undefined ? next() : noQuery(c as never, next)
}

/** Declares an answer of the route: its status, and its body where there is one. */
export const returns = (status: number, schema?: z.ZodType, description?: string, headers?: Record<string, string>) =>
  described(
    { outputs: [{ status, description: description ?? 'OK', ...(schema && { schema }), ...(headers && { headers }) }] },
    refuseUndeclared(),
  )

/**
 * Declares an answer that is JSON, or a table in CSV for who accepts text/csv: a line for each item of `data`, or the whole object as one
 * line when it has no `data`; or the table that `tableOf` makes of it. The table of a page has its next page in the header Link.
 */
export const returnsTable = <Answer>(
  schema: z.ZodType<Answer> & z.ZodObject,
  tableOf?: (answer: Answer) => readonly [columns: readonly Column[], rows: readonly unknown[]],
) => {
  const data = schema.shape['data']
  const item = data instanceof z.ZodArray ? (data.element as z.ZodType) : schema
  const columns = tableOf ? [] : columnsOf(item)
  const output = {
    status: 200,
    description: 'OK',
    schema,
    contentTypes: ['text/csv'],
    headers: { Link: '`rel="next"`: the next page, of a table.' },
  }
  return described({ outputs: [output] }, (async (c, next) => {
    await refuseUndeclared()(c, next)
    if (c.res.status !== 200) return
    c.res.headers.set('Vary', 'Accept')
    if (!prefers(c, 'text/csv')) return
    const answer = (await c.res.json()) as { data?: unknown[]; next_cursor?: string | null }
    const headers = new Headers(c.res.headers)
    headers.set('Content-Type', 'text/csv; charset=utf-8; header=present')
    if (answer.next_cursor) {
      const { pathname, searchParams } = new URL(c.req.url)
      searchParams.set('cursor', answer.next_cursor)
      headers.set('Link', `<${pathname}?${searchParams}>; rel="next"`)
    }
    c.res = undefined
    const fields = c.req.query('fields')?.split(',')
    const meant = fields ? columns.filter(({ path }) => fields.includes(path[0]!)) : columns
    c.res = new Response(csvOf(...(tableOf?.(answer as Answer) ?? [meant, answer.data ?? [answer]])), { headers })
  }) as MiddlewareHandler<App>)
}

/** Whether the caller accepts this type of content rather than JSON. */
export const prefers = (c: Context, contentType: string): boolean =>
  accepts(c, { header: 'Accept', supports: ['application/json', contentType], default: 'application/json' }) === contentType

/** Declares an answer that is JSON, or a file for who accepts it rather. */
export const returnsOrFile = (schema: z.ZodType, contentType: string) =>
  described({ outputs: [{ status: 200, description: 'OK', schema, contentTypes: [contentType] }] }, (async (c, next) => {
    await refuseUndeclared()(c, next)
    c.res.headers.set('Vary', 'Accept')
  }) as MiddlewareHandler<App>)

/** Declares an answer with a body that is not JSON. */
export const returnsFile = (description: string, ...contentTypes: string[]) =>
  described({ outputs: [{ status: 200, description, contentTypes }] }, refuseUndeclared())

/** The headers of a file, whole or in part (platform/content.ts). */
const FILE_HEADERS = {
  'Content-Disposition': '`attachment` with the name of the file.',
  'Content-Length': 'How many bytes the body has.',
  'Accept-Ranges': '`bytes`: Range may ask for a part.',
  ETag: 'Changes with the content, in quotes. Of a tax document it is the SHA-256 that `sha256` names.',
}

/**
 * Declares an answer that is a file in the bucket: whole, or with 206 the part that the header Range asks for, 416 when the file has no such
 * part, and 304 when If-None-Match names the ETag of what the caller has.
 */
export const returnsContent = (description: string, ...contentTypes: string[]) =>
  described(
    {
      outputs: [
        { ...{ status: 200, description, contentTypes }, headers: FILE_HEADERS },
        {
          ...{ status: 206, description: 'The part that Range asks for', contentTypes },
          headers: { ...FILE_HEADERS, 'Content-Range': 'Which bytes the part has, and how many there are.' },
        },
        {
          status: 304,
          description: 'The content is what If-None-Match names. There is no body.',
          headers: { ETag: FILE_HEADERS.ETag },
        },
        {
          ...{ status: 416, description: 'The file has none of the bytes that Range asks for.' },
          headers: { 'Content-Range': '`bytes */` and how many bytes the file has.' },
        },
      ],
    },
    refuseUndeclared(),
  )

type Refusal = 400 | 401 | 402 | 403 | 404 | 409 | 413 | 415 | 422 | 429 | 503

/** Declares a refusal beyond those that the other clauses imply (400, 401, 403, 413, 415, 422). */
export const refuses = (status: Refusal, description: string) => refusesAny({ [status]: description })

/** Declares several refusals at once: Hono's types allow for ten clauses. */
export const refusesAny = (refusals: Partial<Record<Refusal, string>>) =>
  described({ outputs: Object.entries(refusals).map(([status, description]) => ({ status: Number(status), description })) }, pass())
