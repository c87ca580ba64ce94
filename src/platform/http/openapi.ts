import type { Hono } from 'hono'
import * as z from 'zod'
import type { App } from '../context.ts'
import { type Clause, clauseOf } from './operation.ts'
import { Problem } from './problem.ts'

type Json = Record<string, unknown>
type Side = 'input' | 'output'

/** Turns zod schemas into OpenAPI ones, collecting those that have a name. */
function schemaWriter() {
  const components: Record<string, Json> = {}
  const collect = (id: string, { id: _, ...schema }: Json) => {
    const known = components[id]
    if (known && JSON.stringify(known) !== JSON.stringify(schema))
      throw new Error(`${id} reads differently as a request and as a reply: give each its own name.`)
    components[id] = schema
  }
  const of = (schema: z.ZodType, io: Side): Json => {
    const written = z.toJSONSchema(z.object({ it: schema }), {
      io,
      unrepresentable: 'any',
      override: ({ zodSchema, jsonSchema }) => {
        const { documented } = (zodSchema as unknown as z.ZodType).meta() ?? {}
        if (!documented) return
        for (const key of Object.keys(jsonSchema)) delete jsonSchema[key as keyof typeof jsonSchema]
        Object.assign(jsonSchema, documented)
      },
    })
    const { properties, $defs = {} } = JSON.parse(JSON.stringify(written).replaceAll('#/$defs/', '#/components/schemas/')) as {
      properties: { it: Json }
      $defs?: Record<string, Json>
    }
    for (const [id, definition] of Object.entries($defs)) collect(id, definition)
    return properties.it
  }
  return { components, of }
}

export interface Route {
  method: string
  /** As Hono writes it: `/v1/extractors/:extractor_id`. */
  path: string
  clauses: Clause[]
}

/** Every documented route, read off the application itself. */
export function routesOf(app: Hono<App>): Route[] {
  const found = new Map<string, Route>()
  for (const { method, path, handler } of app.routes) {
    const clause = clauseOf(handler)
    if (!clause) continue
    const key = `${method} ${path}`
    const route = found.get(key) ?? { method, path, clauses: [] }
    route.clauses.push(clause)
    found.set(key, route)
  }
  return [...found.values()]
}

const operationOf = ({ method, path, clauses }: Route) => {
  const operation = clauses.find((clause) => clause.operation)?.operation
  if (!operation) throw new Error(`${method} ${path} has no operation().`)
  return operation
}

/** The refusals that a route's clauses imply, by status. */
export function impliedRefusals(route: Route): Map<number, string> {
  const { clauses } = route
  const has = (target: string) => clauses.some(({ input }) => input?.target === target)
  const upload = clauses.some((clause) => clause.upload)
  const implied = new Map<number, string>()
  if (!operationOf(route).isPublic) implied.set(401, 'The credential is absent, malformed, expired or revoked.')
  if (has('param')) implied.set(400, 'An identifier in the path is malformed.')
  if (clauses.some(({ input }) => input?.target === 'query' && 'cursor' in input.schema.shape))
    implied.set(400, 'An identifier or the cursor is malformed.')
  if (has('json')) implied.set(400, 'The body is not JSON, or an identifier in the path is malformed.')
  if (clauses.some((clause) => clause.roles)) implied.set(403, 'The credential’s role may not do this.')
  if (has('json') || upload) {
    implied.set(413, 'The body is too large.')
    implied.set(415, 'The content type is not accepted.')
  }
  if (has('json') || !operationOf(route).isPublic)
    implied.set(422, 'The body or query does not have the documented shape, or a value of it is not acceptable: errors says which and why.')
  for (const [status, says] of alsoMeans(route)) {
    const before = implied.get(status)
    implied.set(status, before ? `${before} ${says}` : says.replace(/^Or (.)/, (_, first: string) => first.toUpperCase()))
  }
  return implied
}

const TOO_MANY = 'Or the credential makes too many requests. RateLimit-Policy says how many are accepted.'

const IN_FLIGHT =
  'Or a request with this Idempotency-Key is being carried out, or was carried out and its answer cannot be given again: resource_id says what it made.'

const OTHER_KEY = 'Or the Idempotency-Key is malformed, or was sent with another request.'

const isIdempotent = ({ clauses }: Route): boolean => clauses.some((clause) => clause.isIdempotent)

/** What a status means beside what the route itself says of it. */
const alsoMeans = (route: Route): Map<number, string> =>
  new Map([
    ...(isIdempotent(route) ? [[409, IN_FLIGHT] as const, [422, OTHER_KEY] as const] : []),
    ...(operationOf(route).isPublic ? [] : [[429, TOO_MANY] as const]),
  ])

const IDEMPOTENCY_KEY: Json = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'Makes it safe to send the request again: for 24 hours the same key with the same method, path and body is carried out once and answered ' +
    'alike. Another request with the key is 422, one while the first is being carried out 409. Refusals by role, shape, payment (402) or rate ' +
    '(429), those that say to try again, and errors of ours are not kept; any other answer is, only for the credential that it was given to, with the request_id of the first request in its body. Of your organization’s own choosing, such as a UUID.',
  schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[ -~]+$' },
}

/** What can be answered again. */
const isReplayed = (status: number): boolean => status < 300 || [404, 409, 422].includes(status)

const REPLAYED = { 'Idempotency-Replayed': '`true` when this is the answer that an earlier request with the Idempotency-Key got.' }

/** Headers that go with a status, whatever the route. */
const HEADERS: Record<number, Record<string, string>> = {
  401: { 'WWW-Authenticate': 'How to authenticate.' },
  429: {
    'Retry-After': 'Seconds to wait; the same as retry_after_seconds.',
    'RateLimit-Policy': 'When it is a limit of requests: whose, how many (q), in how many seconds (w).',
  },
  503: { 'Retry-After': 'Seconds to wait.' },
}

const headersOf = (status: number, own: Record<string, string> | undefined) => own ?? HEADERS[status]

/** What the service itself sends to others: one entry for each kind. */
export interface Notice {
  key: string
  description: string
  headers: Record<string, string>
  schema: z.ZodType
}

/** The OpenAPI 3.1 document of these routes, and of what is sent. */
export function document(routes: readonly Route[], info: Json, notices: readonly Notice[] = []) {
  const { components, of } = schemaWriter()
  const json = (schema: z.ZodType, side: Side) => ({ content: { 'application/json': { schema: of(schema, side) } } })
  const parameters = (where: 'query' | 'path', schema: z.ZodObject): Json[] =>
    Object.entries(schema.shape).map(([name, field]) => {
      const { description, ...rest } = of(field as z.ZodType, 'input')
      return {
        name,
        in: where,
        required: where === 'path' || !(field as z.ZodType).safeParse(undefined).success,
        ...(description ? { description } : {}),
        schema: rest,
      }
    })
  const respond = ({ status, description, schema, headers, contentTypes }: NonNullable<Clause['output']>): Json => ({
    description,
    ...(headersOf(status, headers) && {
      headers: Object.fromEntries(
        Object.entries(headersOf(status, headers) ?? {}).map(([name, says]) => [name, { description: says, schema: { type: 'string' } }]),
      ),
    }),
    ...(contentTypes && {
      content: Object.fromEntries(contentTypes.map((type) => [type, { schema: { type: 'string', format: 'binary' } }])),
    }),
    ...(schema && json(schema, 'output')),
    ...(status >= 400 && json(Problem, 'output')),
  })
  const paths: Record<string, Json> = {}
  for (const route of routes) {
    const { id, tag, summary, description, isPublic } = operationOf(route)
    const inputs = route.clauses.flatMap(({ input }) => input ?? [])
    const bodySchema = inputs.find(({ target }) => target === 'json')?.schema
    const uploaded = route.clauses.find((clause) => clause.upload)?.upload
    const roles = route.clauses.flatMap((clause) => clause.roles ?? [])
    const isKeyed = isIdempotent(route)
    const parameterList = inputs
      .flatMap(({ target, schema }) => (target === 'json' ? [] : parameters(target === 'param' ? 'path' : 'query', schema)))
      .concat(isKeyed ? [IDEMPOTENCY_KEY] : [])
    const also = alsoMeans(route)
    const headersFor = (status: number) => (isKeyed && isReplayed(status) ? { headers: REPLAYED } : {})
    const outputs = new Map(
      [...impliedRefusals(route)].map(([status, says]) => [status, respond({ status, description: says, ...headersFor(status) })]),
    )
    for (const { output } of route.clauses) {
      if (!output) continue
      const description = [output.description, also.get(output.status)].filter(Boolean).join(' ')
      const headers = { ...output.headers, ...headersFor(output.status).headers }
      outputs.set(output.status, respond({ ...output, description, ...(Object.keys(headers).length > 0 && { headers }) }))
    }
    const path = route.path.replace(/:(\w+)/g, '{$1}')
    paths[path] ??= {}
    paths[path][route.method.toLowerCase()] = {
      operationId: id,
      tags: [tag],
      summary,
      ...((description || roles.length > 0) && {
        description: [description, roles.length > 0 ? `Needs the role ${roles.join(' or ')}.` : ''].filter(Boolean).join('\n\n'),
      }),
      ...(isPublic && { security: [] }),
      ...(parameterList.length > 0 && { parameters: parameterList }),
      ...(bodySchema && { requestBody: { required: true, ...json(bodySchema, 'input') } }),
      ...(uploaded && {
        requestBody: {
          required: true,
          description: uploaded.description,
          content: Object.fromEntries(uploaded.contentTypes.map((type) => [type, { schema: { type: 'string', format: 'binary' } }])),
        },
      }),
      responses: Object.fromEntries([...outputs].sort(([a], [b]) => a - b).map(([status, response]) => [String(status), response])),
    }
  }
  const webhooks = Object.fromEntries(
    notices.map(({ key, description, headers, schema }) => [
      key,
      {
        post: {
          operationId: `on.${key}`,
          summary: description,
          security: [],
          parameters: Object.entries(headers).map(([name, says]) => ({
            name,
            in: 'header',
            required: true,
            description: says,
            schema: { type: 'string' },
          })),
          requestBody: { required: true, ...json(schema, 'output') },
          responses: { '2XX': { description: 'Received. Answer at once and process later.' } },
        },
      },
    ]),
  )
  return {
    openapi: '3.1.0',
    info,
    servers: [{ url: '/' }],
    security: [{ basic: [] }, { bearer: [] }],
    paths,
    webhooks,
    components: {
      schemas: components,
      securitySchemes: {
        basic: { type: 'http', scheme: 'basic', description: 'api_key as the user, api_secret as the password.' },
        bearer: { type: 'http', scheme: 'bearer', description: 'The api_secret alone.' },
      },
    },
  }
}
