import { env } from 'cloudflare:workers'
import { describe, expect, it } from 'vitest'
import { listCatalog } from '../../../src/delivery/catalog/catalog.ts'
import { fetcherApi, openApiOf } from '../../../tools/openapi/openapi.ts'
import { scopeOfRoute } from '../../../tools/openapi/route-table.ts'
import { request } from '../../support/client.ts'
import { isPublic, nameOf, ROUTES, send, shapeOf } from '../../support/wire.ts'

interface Schema {
  $ref?: string
  type?: string | string[]
  [keyword: string]: unknown
}
interface Media {
  schema: Schema
}
interface Operation {
  operationId: string
  tags: string[]
  summary: string
  description?: string
  security?: unknown[]
  'x-required-scope'?: string
  parameters?: { name: string; in: string; required: boolean; schema: Schema; description?: string }[]
  requestBody?: { required: boolean; content: Record<string, Media> }
  responses: Record<string, { description: string; headers?: Record<string, unknown>; content?: Record<string, Media> }>
}
interface Document {
  openapi: string
  info: { title: string; version: string; description: string }
  servers: { url: string }[]
  security: Record<string, []>[]
  paths: Record<string, Record<string, Operation>>
  webhooks: Record<string, Record<'post', Operation>>
  components: { schemas: Record<string, Schema>; securitySchemes: Record<string, { type: string; scheme: string }> }
}

const reply = await request('GET', '/v1/openapi.json')
const document = reply.body as Document
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    name: `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ':$1')}`,
    path,
    method,
    operation,
  })),
)
const routeOf = (name: string) => ROUTES.find((route) => nameOf(route) === name)!

/** Every object in a document, with where it stands. */
function* objectsIn(value: unknown, at = '#'): Generator<[string, Record<string, unknown>]> {
  if (Array.isArray(value)) for (const [n, inner] of value.entries()) yield* objectsIn(inner, `${at}/${n}`)
  else if (value && typeof value === 'object') {
    yield [at, value as Record<string, unknown>]
    for (const [key, inner] of Object.entries(value)) yield* objectsIn(inner, `${at}/${key}`)
  }
}

/** What a document says of each operation in numbers and names. `npm run generated` compares every byte. */
const outlineOf = (paths: Record<string, object>): string[] =>
  Object.entries(paths)
    .flatMap(([path, methods]) =>
      Object.entries(methods as Record<string, Operation>).map(([method, { operationId, parameters = [], responses }]) => {
        const statuses = Object.keys(responses).filter((status) => status !== '405')
        return [method, path, operationId, ...parameters.map((one) => one.name), ...statuses].join(' ')
      }),
    )
    .sort()

const resolve = (ref: string): unknown =>
  ref
    .slice(2)
    .split('/')
    .reduce<unknown>((inner, key) => (inner as Record<string, unknown> | undefined)?.[key], document)

const resolved = (schema: Schema): Schema => (schema.$ref ? (resolve(schema.$ref) as Schema) : schema)

describe('the document', () => {
  it('is OpenAPI 3.1, may be cached, and is about every route and nothing else', () => {
    expect([document.openapi, reply.headers.get('content-type'), reply.headers.get('cache-control')]).toEqual([
      '3.1.0',
      'application/json',
      'public, max-age=300',
    ])
    expect(document.info.version).toMatch(/^\d+\.\d+\.\d+$/)
    const ofCustomers = ROUTES.filter(({ path }) => !path.startsWith('/fetcher/'))
    expect(operations.map(({ name }) => name).sort()).toEqual(ofCustomers.map(nameOf).sort())
  })

  it('leaves the contract of the fetcher to a document of its own, whose every request is signed', () => {
    const { openapi, paths, security, components } = fetcherApi()
    expect([openapi, Object.keys(security[0]!), Object.keys(components.securitySchemes)]).toEqual([
      '3.1.0',
      ['timestamp', 'digest', 'signature'],
      ['timestamp', 'digest', 'signature'],
    ])
    const described = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, one]) => ({ path, method, one })),
    )
    const names = described.map(({ path, method }) => `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`)
    expect(names.sort()).toEqual(
      ROUTES.filter(({ path }) => path.startsWith('/fetcher/'))
        .map(nameOf)
        .sort(),
    )
    expect(described.every(({ one }) => !('security' in (one as object)))).toBe(true)
  })

  it.each(['test', 'live'] as const)('of %s says what the routes say', async (ENVIRONMENT) => {
    const TAX_AUTHORITY = ENVIRONMENT === 'live' ? 'sat' : 'sandbox'
    const { body } = await send('GET', '/v1/openapi.json', { env: { ...env, ENVIRONMENT, TAX_AUTHORITY } })
    expect(outlineOf(body.paths)).toEqual(outlineOf(openApiOf(ENVIRONMENT).paths))
  })

  it('has no reference that leads nowhere, and no schema that nobody refers to', () => {
    const refs = [...objectsIn(document)].flatMap(([at, object]) => ('$ref' in object ? [[at, object['$ref'] as string]] : []))
    expect(refs.length).toBeGreaterThan(20)
    for (const [at, ref] of refs) expect(resolve(ref!), `${at} → ${ref}`).toBeTypeOf('object')
    const used = new Set(refs.map(([, ref]) => ref!.replace('#/components/schemas/', '')))
    expect(Object.keys(document.components.schemas).filter((name) => !used.has(name))).toEqual([])
  })

  it('has nothing of the writer’s left in it', () => {
    for (const [at, object] of objectsIn(document)) {
      expect(Object.keys(object), at).not.toContain('documented')
      expect(Object.keys(object), at).not.toContain('$defs')
      expect(Object.keys(object), at).not.toContain('$schema')
    }
  })

  it('takes a credential as Basic or as a Bearer token', () => {
    expect(document.security).toEqual([{ basic: [] }, { bearer: [] }])
    const { basic, bearer } = document.components.securitySchemes
    expect([basic?.type, basic?.scheme, bearer?.type, bearer?.scheme]).toEqual(['http', 'basic', 'http', 'bearer'])
  })

  it('names each operation once, in camel case', () => {
    const ids = operations.map(({ operation }) => operation.operationId)
    expect(new Set(ids).size).toBe(ids.length)
    for (const id of ids) expect(id).toMatch(/^[a-z][A-Za-z]+$/)
  })
})

describe.each(operations)('$name', ({ name, path, operation }) => {
  const { parameters = [], requestBody, responses } = operation

  it('says what it is, and how it ends', () => {
    expect(operation.tags).toHaveLength(1)
    expect(operation.summary).toMatch(/^[A-Z].*[^.]$/)
    // Most operations have more to say; what one says reaches the document.
    if (operation.operationId === 'connectFiscalEntity') expect(operation.description).toMatch(/draft/)
    const statuses = Object.keys(responses)
    // One, or what is asked for, and that it is being made or a part of it.
    expect(['200', '201', '202', '204', '200 202', '200 206', '200 202 206']).toContain(
      statuses.filter((status) => status.startsWith('2')).join(' '),
    )
    for (const [status, { description }] of Object.entries(responses)) expect(description.length, status).toBeGreaterThan(1)
  })

  it('declares each parameter of its path, and none twice', () => {
    const inPath = parameters.filter((one) => one.in === 'path')
    expect(inPath.map((one) => one.name).sort()).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, one]) => one!).sort())
    expect(inPath.every(({ required }) => required)).toBe(true)
    expect(new Set(parameters.map((one) => `${one.in} ${one.name}`)).size).toBe(parameters.length)
    for (const { name: parameter, schema } of parameters)
      expect(
        resolved(schema)['const'] ?? resolved(schema).type ?? resolved(schema)['enum'] ?? resolved(schema)['anyOf'],
        parameter,
      ).toBeDefined()
    expect(parameters.filter((one) => one.in === 'query').map((one) => one.name)).toEqual(
      Object.keys(shapeOf(routeOf(name), 'query') ?? {}),
    )
  })

  it('describes every body that is sent or answered', () => {
    const bodies = [requestBody, ...Object.values(responses)].flatMap((one) => Object.entries(one?.content ?? {}))
    for (const [type, { schema }] of bodies) {
      const notified = resolved(schema)
      expect(Object.keys(notified).length, `${type} of ${name}`).toBeGreaterThan(0)
      if (type === 'application/json' && name !== 'GET /v1/openapi.json' && notified.type === 'object')
        expect(notified['properties'], name).toBeDefined()
      if (type === 'application/json' && notified.type === 'array') expect(notified['items'], name).toBeDefined()
    }
    for (const [status, { content }] of Object.entries(responses)) {
      const error = name === 'GET /health' && status === '503' ? 'Unhealthy' : 'Problem'
      if (Number(status) >= 400) expect(content?.['application/json']?.schema).toEqual({ $ref: `#/components/schemas/${error}` })
      else if (['204', '304'].includes(status)) expect(content).toBeUndefined()
      else expect(content).toBeDefined()
    }
  })

  it('answers 401, 403, 413, 415 and 422 where it can', () => {
    const route = routeOf(name)
    const has = (status: number) => String(status) in responses
    expect([has(401), operation.security]).toEqual(isPublic(route) ? [false, []] : [true, undefined])
    const scope = scopeOfRoute(route)
    expect([has(403), operation['x-required-scope'] ?? null]).toEqual([scope !== null, scope])
    if (scope !== null) expect(operation.description).toContain(`Needs the scope \`${scope}\``)
    // A test of a webhook may name an event.
    if (requestBody)
      expect([requestBody.required || name.endsWith('/test'), has(413), has(415), has(422)]).toEqual([true, true, true, true])
    if (parameters.some((one) => one.in === 'path' && one.name.endsWith('_id')) && !isPublic(route))
      expect([has(400), has(404)]).toEqual([true, true])
    if (!isPublic(route)) expect(has(422), 'an unknown query parameter').toBe(true)
  })
})

describe('what is sent', () => {
  it('is every event of the catalog that is available, and the test', async () => {
    expect(Object.keys(document.webhooks)).toEqual([
      ...listCatalog()
        .data.filter(({ sample }) => sample)
        .map(({ key }) => key),
      'webhook.test',
    ])
  })

  it.each(Object.entries(document.webhooks))('%s: has its schema, which says the key, and its headers', (key, { post }) => {
    const { schema } = post.requestBody!.content['application/json']!
    const notified = resolved(schema) as Schema & { properties: Record<string, Schema>; required: string[] }
    expect(schema.$ref).toBe(`#/components/schemas/${key.replace(/(^|[._])(.)/g, (_, __, letter) => letter.toUpperCase())}Event`)
    expect(notified.properties['event']!['const']).toBe(key)
    // Only a test has the one, and only events from before the other existed lack it.
    const optional = key === 'connection.ciec_invalid' ? ['invalid_reason'] : ['sample_of']
    expect([notified.required, notified['additionalProperties']]).toEqual([
      Object.keys(notified.properties).filter((one) => !optional.includes(one)),
      undefined,
    ])
    expect(notified.required).toEqual(expect.arrayContaining(['event', 'event_id', 'occurred_at']))
    expect(post.parameters!.map((one) => [one.name, one.in, one.required])).toEqual(
      [
        ...['Service-Event', 'Service-Delivery-Id', 'Service-Ordering', 'Service-Attempt', 'Service-Signature'],
        ...['webhook-id', 'webhook-timestamp', 'webhook-signature'],
      ].map((name) => [name, 'header', true]),
    )
    for (const one of [post.summary, post.operationId]) expect(one?.length).toBeGreaterThan(5)
    expect(Object.keys(post.responses)).toEqual(expect.arrayContaining([expect.stringMatching(/^2/)]))
  })
})

describe('what integrators read in it', () => {
  const schema = (name: string) => document.components.schemas[name] as { properties: Record<string, Schema>; required?: string[] }

  const PAGE = ['data', 'has_more', 'next_cursor']
  it('a list: data, has_more, next_cursor, all of them required; GET /extractors alone is a plain array', () => {
    const answers = operations
      .filter(({ name }) => name.startsWith('GET'))
      .flatMap(({ name, operation }) => {
        const { schema: answered } = operation.responses['200']?.content?.['application/json'] ?? {}
        return answered ? [{ name, answer: resolved(answered) as ReturnType<typeof schema> & { type?: string } }] : []
      })
    expect(answers.filter(({ answer }) => answer.type === 'array').map(({ name }) => name)).toEqual(['GET /v1/extractors'])
    const lists = answers.filter(({ answer }) => resolved(answer.properties?.['data'] ?? {})['type'] === 'array')
    expect(lists.length).toBeGreaterThan(45)
    for (const { name, answer } of lists) expect([name, answer.required]).toEqual([name, expect.arrayContaining(PAGE)])
  })

  it('the content of a document: in which media types, with which headers, and what is refused', () => {
    const { operation } = operations.find(({ name }) => name.endsWith('/documents/:document_id/content'))!
    const headers = (status: string) => Object.keys(operation.responses[status]!.headers ?? {})
    const file = ['Content-Disposition', 'Content-Length', 'Accept-Ranges', 'ETag']
    for (const status of ['200', '206'])
      expect(Object.keys(operation.responses[status]!.content!)).toEqual([
        'application/pdf',
        'application/json',
        'application/octet-stream',
      ])
    expect([headers('200'), headers('206'), headers('304'), headers('416')]).toEqual([
      file,
      [...file, 'Content-Range'],
      ['ETag'],
      ['Content-Range'],
    ])
    expect(Object.keys(operation.responses)).toEqual(['200', '206', '304', '400', '401', '403', '404', '416', '422', '429'])
  })

  it('a page: data, has_more, next_cursor; limit 1 to 100, 25 by default', () => {
    const paged = operations.filter(({ operation }) => operation.parameters?.some((one) => one.name === 'cursor'))
    expect(paged.length).toBeGreaterThan(5)
    for (const { name, operation } of paged) {
      const { required, properties } = resolved(operation.responses['200']!.content!['application/json']!.schema) as ReturnType<
        typeof schema
      >
      // The pages of an aggregate stand in its envelope, and those of a report beside its state.
      const isReport = name.endsWith('/reports/:key')
      // The search of CFDIs says how far it got, and the mailbox when it is not downloaded.
      const isMore = ['basis', 'scanned_through', 'warnings'].some((one) => one in properties) || isReport
      const others = isMore ? Object.keys(properties).filter((one) => !PAGE.includes(one)) : []
      expect(
        Object.keys(properties).filter((one) => !others.includes(one)),
        name,
      ).toEqual(PAGE)
      expect(
        required!.filter((one) => !others.includes(one)),
        name,
      ).toEqual(PAGE)
      expect(operation.parameters!.find((one) => one.name === 'limit')!.schema).toEqual({
        type: 'integer',
        minimum: 1,
        // Questions over all RFCs have one page for 500 clients.
        ...(/\/portfolio\/(attention|obligations|opinions|vat)$/.test(name)
          ? { maximum: 500, default: 500 }
          : { maximum: 100, default: 25 }),
      })
      expect(Object.keys(operation.responses)).toContain('400')
    }
  })

  it('which requests may be sent again with a key', () => {
    const keyed = operations.filter(({ operation }) => operation.parameters?.some((one) => one.in === 'header'))
    expect(keyed.map(({ name }) => name)).toEqual(
      operations
        .filter(({ name, operation }) => name.startsWith('POST') && operation.security === undefined && !/\/(lookup|preview)$/.test(name))
        .map(({ name }) => name),
    )
    expect(keyed.length).toBeGreaterThan(15)
    for (const { name, operation } of keyed) {
      const [{ name: header, required } = {}] = operation.parameters!.filter((one) => one.in === 'header')
      expect([name, header, required]).toEqual([name, 'Idempotency-Key', false])
      const [, done] = Object.entries(operation.responses).find(([status]) => status.startsWith('2'))!
      for (const one of [done!, operation.responses['409']!, operation.responses['422']!])
        expect(Object.keys(one.headers!)).toContain('Idempotency-Replayed')
      expect(operation.responses['422']!.description).toContain('Idempotency-Key is malformed')
      expect([operation.responses['409']!.description, operation.responses['422']]).toEqual([
        expect.stringContaining('Idempotency-Key is being carried out'),
        expect.anything(),
      ])
    }
  })

  it('the account, a secret in one answer only, the extractor’s documented members', () => {
    expect(Object.keys(schema('Organization').properties)).toEqual([
      'id',
      'name',
      'contact_email',
      'logo_url',
      'timezone',
      'email_confirmed_at',
    ])
    expect(Object.keys(schema('OrganizationStats').properties)).toEqual(['total_members', 'active_rfcs'])
    const secret = Object.entries(document.components.schemas).filter(
      ([, one]) => 'api_secret' in ((one as { properties?: object }).properties ?? {}),
    )
    expect(secret.map(([name]) => name)).toEqual(['NewCredential'])
    for (const member of [
      'extractor_id',
      'name',
      'is_enabled',
      'trigger_kind',
      'schedule_kind',
      'schedule_spec',
      'timezone',
      'scope',
      'scope_months',
      'data_source_keys',
      'created_at',
    ])
      expect(schema('Extractor').required, member).toContain(member)
    expect(schema('Problem').required).toEqual(['detail', 'code', 'request_id'])
  })
})
