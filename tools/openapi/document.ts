import type * as z from 'zod'
import type { Output } from '../../src/platform/http/operation.ts'
import { Problem } from '../../src/platform/http/problem.ts'
import { type JsonSchema, jsonSchemaOf, type Side } from '../../src/platform/http/validation/json-schema.ts'
import { rolesWith, type Scope } from '../../src/platform/tenant/scopes.ts'
import { ROLES } from '../../src/platform/tenant/tenant.ts'
import { furtherRefusals, impliedRefusals, isIdempotent, operationOf, type Route, scopeOfRoute } from './route-table.ts'

type Json = Record<string, unknown>

/** Writes zod schemas as OpenAPI schemas and collects those that have an id. */
function schemaWriter() {
  const components: Record<string, Json> = {}
  const collect = (id: string, { id: _, ...schema }: JsonSchema) => {
    const known = components[id]
    if (known && JSON.stringify(known) !== JSON.stringify(schema))
      throw new Error(`${id} has one shape in a request and another in a reply: give each its own id.`)
    components[id] = schema
  }
  const of = (schema: z.ZodType, side: Side): Json => {
    const {
      $schema: _,
      $defs = {},
      ...written
    } = JSON.parse(JSON.stringify(jsonSchemaOf(schema, side)).replaceAll('#/$defs/', '#/components/schemas/')) as JsonSchema & {
      $defs?: Record<string, JsonSchema>
    }
    for (const [id, definition] of Object.entries($defs)) collect(id, definition)
    return written
  }
  return { components, of }
}

const IDEMPOTENCY_KEY: Json = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'A key that makes it safe to send the request again. For 24 hours, requests of your organization with the same key, method, path, ' +
    'query and body are carried out once and get the same answer, which carries the request_id of the first request. Another request with the key ' +
    'is refused with 422, and a repetition while the first request is being carried out with 409. The answer is repeated only to the ' +
    'credential that got it. Some answers are not kept, so that the request can be carried out later with the same key: refusals by ' +
    'shape, role, payment (402) or rate (429), refusals that ask to try again, and errors of the service (5xx). An answer of more than 64 KiB, ' +
    'compressed and encrypted, is not kept either, nor what exceeds 16 MiB of your organization on a day: the request is carried out once all the ' +
    'same, and a repetition gets 409 `idempotency.done` with the status, the digest and the resource. Use a new value for each request, such as a UUID.',
  schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[ -~]+$' },
}

/** Whether an answer with this status is repeated under an Idempotency-Key. */
const isReplayed = (status: number): boolean => status < 300 || [404, 409, 422].includes(status)

const REPLAYED = {
  'Idempotency-Replayed':
    '`true` when an earlier request with the same Idempotency-Key was carried out, and this is what it was answered, or what there is of it.',
}

/** Headers that go with a status on every route. */
const HEADERS: Record<number, Record<string, string>> = {
  401: { 'WWW-Authenticate': 'How to authenticate.' },
  429: {
    'Retry-After': 'Seconds to wait; the same as retry_after_seconds.',
    'RateLimit-Policy':
      'The limits that the request was counted against, in every answer: the name of each, the number of requests (q), and the seconds in ' +
      'which they are counted (w).',
    RateLimit:
      'The tightest of them, in every answer: how many requests remain at most (r), and in how many seconds all of them are there again (t).',
  },
  503: { 'Retry-After': 'Seconds to wait.' },
}

/** A kind of request that the service itself sends to customers. */
export interface Notice {
  key: string
  description: string
  headers: Record<string, string>
  schema: z.ZodType
}

function rolesInWords(scope: Scope): string {
  const roles = rolesWith(scope)
  return roles.length === ROLES.length
    ? 'every role has'
    : `the ${roles.length > 1 ? 'roles' : 'role'} ${roles.join(' and ')} ${roles.length > 1 ? 'have' : 'has'}`
}

/** Writes the OpenAPI 3.1 document of these routes and notices. */
export function document(routes: readonly Route[], info: Json, notices: readonly Notice[] = []) {
  const { components, of } = schemaWriter()
  const json = (schema: z.ZodType, side: Side) => ({ content: { 'application/json': { schema: of(schema, side) } } })
  const binary = (contentTypes: readonly string[]) => ({
    content: Object.fromEntries(contentTypes.map((type) => [type, { schema: { type: 'string', format: 'binary' } }])),
  })
  const stringHeaders = (headers: Record<string, string | undefined>) =>
    Object.fromEntries(Object.entries(headers).map(([name, description]) => [name, { description, schema: { type: 'string' } }]))

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

  const respond = ({ status, description, schema, headers = HEADERS[status], contentTypes }: Output): Json => ({
    description,
    ...(headers && Object.keys(headers).length > 0 && { headers: stringHeaders(headers) }),
    ...(contentTypes || schema || status >= 400
      ? {
          content: {
            ...((schema || (status >= 400 && !contentTypes)) && json(schema ?? Problem, 'output').content),
            ...(contentTypes && binary(contentTypes).content),
          },
        }
      : {}),
  })

  const responses = (route: Route): Json => {
    const further = furtherRefusals(route)
    const replayed = (status: number) => (isIdempotent(route) && isReplayed(status) ? REPLAYED : undefined)
    const all = new Map(
      [...impliedRefusals(route)].map(([status, description]) => {
        const headers = replayed(status)
        return [status, respond({ status, description, ...(headers && { headers }) })]
      }),
    )
    for (const output of route.clauses.flatMap(({ outputs }) => outputs ?? [])) {
      const description = [output.description, further.get(output.status)].filter(Boolean).join(' ')
      const own = (output.headers ?? replayed(output.status)) ? { ...output.headers, ...replayed(output.status) } : undefined
      all.set(output.status, respond({ ...output, description, ...(own && { headers: own }) }))
    }
    return Object.fromEntries([...all].sort(([a], [b]) => a - b).map(([status, response]) => [String(status), response]))
  }

  const operation = (route: Route): Json => {
    const { id, tag, summary, description, isPublic } = operationOf(route)
    const inputs = route.clauses.flatMap(({ input }) => input ?? [])
    const sent = inputs.find(({ target }) => target === 'json')
    const bodySchema = sent?.schema
    const uploaded = route.clauses.find((clause) => clause.upload)?.upload
    const scope = scopeOfRoute(route)
    const needs = scope && `Needs the scope \`${scope}\`, which ${rolesInWords(scope)}.`
    const parameterList = inputs
      .flatMap(({ target, schema }) => (target === 'json' ? [] : parameters(target === 'param' ? 'path' : 'query', schema)))
      .concat(isIdempotent(route) ? [IDEMPOTENCY_KEY] : [])
    return {
      operationId: id,
      tags: [tag],
      summary,
      ...((description || needs) && { description: [description, needs].filter(Boolean).join('\n\n') }),
      ...(isPublic ? { security: [] } : { 'x-required-scope': scope }),
      ...(parameterList.length > 0 && { parameters: parameterList }),
      ...(bodySchema && { requestBody: { required: !sent?.isOptional, ...json(bodySchema, 'input') } }),
      ...(uploaded && { requestBody: { required: true, description: uploaded.description, ...binary(uploaded.contentTypes) } }),
      responses: responses(route),
    }
  }

  const paths: Record<string, Json> = {}
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route) }
  }

  const webhook = ({ key, description, headers, schema }: Notice): Json => ({
    post: {
      operationId: `on${key.replace(/(?:^|[._])(.)/g, (_, letter: string) => letter.toUpperCase())}`,
      summary: description,
      security: [],
      parameters: Object.entries(headers).map(([name, text]) => ({
        name,
        in: 'header',
        required: true,
        description: text,
        schema: { type: 'string' },
      })),
      requestBody: { required: true, ...json(schema, 'output') },
      responses: { '2XX': { description: 'Received. Answer at once and process the event later.' } },
    },
  })

  return {
    openapi: '3.1.0',
    info,
    servers: [{ url: '/' }],
    security: [{ basic: [] }, { bearer: [] }],
    paths,
    webhooks: Object.fromEntries(notices.map((notice) => [notice.key, webhook(notice)])),
    components: {
      schemas: components,
      securitySchemes: {
        basic: { type: 'http', scheme: 'basic', description: 'The api_key as the user name and the api_secret as the password.' },
        bearer: { type: 'http', scheme: 'bearer', description: 'The api_secret alone.' },
      },
    },
  }
}
