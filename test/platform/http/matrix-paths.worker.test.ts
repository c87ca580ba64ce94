import { env } from 'cloudflare:workers'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { basic, type Caller } from '../../support/client.ts'
import { absent, TABLE } from '../../support/matrix.ts'
import { essence, json, made, meant, metered, pathOf, ROUTES, send } from '../../support/wire.ts'
import { organizationWith } from '../../support/world.ts'

vi.spyOn(console, 'log').mockImplementation(() => {})

let owner: Caller
beforeAll(async () => {
  ;({ owner } = await organizationWith())
})

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
const PARAMS = {
  ...Object.fromEntries(
    ['uuid', 'api_key', 'fiscal_entity_id', 'extractor_id', 'document_id', 'import_id'].map((name) => [name, absent(name)]),
  ),
  file: 'start.js',
}
const PATHS = [...new Set(ROUTES.map(({ path }) => path))].map((path) => ({ path: pathOf(path, PARAMS) }))

describe('an unknown path', () => {
  it.each([
    '/',
    '/v1',
    '/v1/',
    '/v1/nothing',
    '/v1/organization/',
    '/v1//organization',
    '/V1/organization',
    '/v1/Organization',
    '/v1/organization/stats/x',
    '/v1/extractors/',
    '/v1/%6frganization',
    '/v1/organization%2fstats',
    '/v1/organization;x',
    '/v1/organization%00',
    '/v1/fiscal-entities//sync',
    '/v2/organization',
    '/docs/',
    '/docs/../v1/x',
    '/docs/package.json',
    '/docs/..%2fpackage.json',
    '/docs/%2e%2e%2fswagger-ui.js.map',
    '/health/',
    '/favicon.ico',
    '/.dev.vars',
    '/index.html',
    '/cdn-cgi/x',
    `/${'a'.repeat(10_000)}`,
    '/v1/%',
    '/v1/%ff',
    '/v1/test-helpers',
    '/v1/test-helpers/nothing',
    '/__proto__',
    '/v1/constructor',
  ])('%s is 404 for everybody, without a look at the credential', async (path) => {
    for (const method of METHODS)
      for (const authorization of [undefined, 'Basic x', basic(owner)]) {
        // What exists but is no file of ours is a public path with an unknown name: GET only.
        const isFile = /^\/docs\/[^/]+$/.test(new URL(`https://api.test${path}`).pathname)
        if (isFile && !['GET', 'HEAD'].includes(method)) continue
        const { answer, d1 } = await metered(method, path, { authorization })
        expect([method, path, answer.status, d1]).toEqual([method, path, 404, 0])
        if (method !== 'HEAD') expect(answer.body.code).toBe('request.unknown_path')
      }
  })
})

describe('a wrong method', () => {
  it.each(PATHS)('on $path is 405 and says which are right, without a look at the credential', async ({ path }) => {
    const right = [...new Set(meant(path).map(({ method }) => method))]
    for (const method of METHODS) {
      if (right.includes(method) || (method === 'HEAD' && right.includes('GET'))) continue
      for (const authorization of [undefined, basic(owner)]) {
        const { answer, d1 } = await metered(method, path, { authorization })
        expect([method, answer.status, d1]).toEqual([method, 405, 0])
        expect(answer.headers.get('allow')?.split(', ').sort(), `Allow of ${path}`).toEqual(right.sort())
        if (method !== 'HEAD') expect(answer.body.code).toBe('request.method_not_allowed')
      }
    }
  })

  it.each([
    ['PATCH', '/v1/webhooks/event-catalog', 'GET'],
    ['DELETE', '/v1/fiscal-entities/data-sources', 'GET'],
    ['GET', '/v1/team/members/invite', 'POST'],
    ['PATCH', '/v1/team/members/invite', 'POST'],
    ['POST', '/v1/cfdi/risk', 'GET'],
  ])('%s of %s, which stands where others have an identifier, is notified the methods of that path alone', async (method, path, allow) => {
    const { status, headers, body } = await send(method, path, { authorization: basic(owner) })
    expect([status, headers.get('allow'), body.detail]).toEqual([405, allow, `This path allows ${allow}.`])
  })

  it('is not talked around by an override', async () => {
    for (const name of ['x-http-method-override', 'x-http-method', 'x-method-override'])
      expect(
        (
          await send('POST', '/v1/organization', {
            authorization: basic(owner),
            headers: { [name]: 'PATCH', 'content-type': 'application/json' },
            body: '{}',
          })
        ).status,
      ).toBe(405)
    expect((await send('POST', '/v1/organization?_method=PATCH', { authorization: basic(owner) })).status).toBe(405)
  })
})

describe('HEAD', () => {
  it.each(TABLE.filter(({ route, row }) => route.method === 'GET' && !row.given))(
    'of $name says what GET says, without a body',
    async ({ route }) => {
      for (const authorization of [undefined, basic(owner)]) {
        const [head, get] = [await send('HEAD', route.path, { authorization }), await send('GET', route.path, { authorization })]
        expect(head.text).toBe('')
        const facts = ({ status, headers }: typeof head) => [
          status,
          headers.get('content-type'),
          headers.get('cache-control'),
          headers.get('www-authenticate'),
        ]
        expect(facts(head)).toEqual(facts(get))
      }
    },
  )
})

describe('the retired prefix', () => {
  const moved: [string, string][] = [
    ['/api/v1/organization', '/v1/organization'],
    ['/api/v1/cfdi?fiscal_entity_id=fe_1&limit=2&cursor=a%2Bb%20c', '/v1/cfdi?fiscal_entity_id=fe_1&limit=2&cursor=a%2Bb%20c'],
    ['/api/v1/extractors/ext_1/run', '/v1/extractors/ext_1/run'],
    ['/api/v1/', '/v1/'],
    ['/api/v1', '/v1'],
    ['/api/v1/unknown/%E2%82%AC', '/v1/unknown/%E2%82%AC'],
    ['/api/v1?next=https://evil.example', '/v1?next=https://evil.example'],
  ]
  it.each(moved)('%s goes to %s with method, query and body', async (from, to) => {
    for (const method of METHODS) {
      const { answer, d1 } = await metered(method, from)
      expect([method, answer.status, answer.headers.get('location'), answer.text, d1]).toEqual([method, 308, to, '', 0])
    }
  })

  it.each([
    '/api/v1//evil.example',
    '/api/v1///evil.example/x',
    '/api/v1/\\evil.example',
    '/api/v1\\\\evil.example',
    '/api/v1/%5cevil.example',
    '/api/v1/%2f%2fevil.example',
    '/api/v1/..%2f..%2fevil',
    '/api/v1/%0d%0aSet-Cookie:x=1',
    '/api/v1/%0aX:y',
    '/api/v1/%00',
    '/api/v1/https://evil.example',
    '/api/v1/@evil.example',
    '/api/v1/;@evil.example',
    '/api/v1/x?a=%0d%0aX:y',
    '/api/v1/.%2e/evil',
  ])('%s stays on this host under /v1', async (path) => {
    const { status, headers } = await send('GET', path)
    if (status === 404) return
    const location = headers.get('location')!
    expect([status, location.startsWith('/v1'), headers.get('set-cookie'), headers.get('x')]).toEqual([308, true, null, null])
    const target = new URL(location, 'https://api.test')
    expect([target.origin, target.pathname.startsWith('/v1')]).toEqual(['https://api.test', true])
  })

  it.each(['/api/v1x', '/api/v10/organization', '/api/v2/organization', '/api', '/api/'])('%s is not it', async (path) => {
    expect((await send('GET', path)).status).toBe(404)
  })
})

describe('what a proxy or a caller says of itself', () => {
  it('changes nothing', async () => {
    const plain = essence(await send('GET', '/v1/organization', { authorization: basic(owner) }))
    for (const headers of [
      { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'http', 'x-forwarded-for': '1.2.3.4', forwarded: 'host=evil.example' },
      { 'cf-connecting-ip': '1.2.3.4', 'cf-worker': 'evil.example', 'x-real-ip': '1.2.3.4' },
      { 'x-original-url': '/v1/credentials', 'x-rewrite-url': '/v1/credentials' },
      { origin: 'https://evil.example', cookie: 'session=1', 'accept-language': 'xx', accept: 'text/html' },
      { 'x-request-id': 'req_00000000000000000000000000000000', 'x-organization-id': 'org_1' },
    ]) {
      const answer = await send('GET', '/v1/organization', {
        authorization: basic(owner),
        headers: headers as unknown as Record<string, string>,
      })
      expect(essence(answer)).toBe(plain)
      expect(answer.headers.get('x-request-id')).not.toBe('req_00000000000000000000000000000000')
      expect(answer.headers.get('access-control-allow-origin')).toBeNull()
    }
  })
})

describe('a deployment of `test` with the real authority', () => {
  const real = { ...env, TAX_AUTHORITY: 'sat' } as Env
  const helpers = ROUTES.filter(({ path }) => path.startsWith('/v1/test-helpers/'))
  const OF_SANDBOX = [
    'cfdi/:uuid/cancel',
    ...['ciec', 'efirma'].map((kind) => `fiscal-entities/:fiscal_entity_id/expire-${kind}`),
    'mailbox',
    'sync-jobs/:job_id/fail',
  ]
  const isOfSandbox = (path: string) => OF_SANDBOX.includes(path.slice('/v1/test-helpers/'.length))

  it.each(helpers.filter(({ path }) => isOfSandbox(path)))(
    'has nothing at $path, which changes what the sandbox answers',
    async ({ path }) => {
      const nothing = essence(await send('GET', '/v1/nothing', { env: real }))
      for (const method of METHODS.filter((one) => one !== 'HEAD'))
        for (const authorization of [undefined, basic(owner)]) {
          const { answer, d1 } = await metered(method, pathOf(path, PARAMS), { env: real, authorization })
          expect([method, essence(answer), d1]).toEqual([method, nothing, 0])
        }
    },
  )

  it('has the other test helpers', async () => {
    const others = helpers.filter(({ path }) => !isOfSandbox(path))
    expect([others.length, helpers.length - others.length]).toEqual([7, OF_SANDBOX.length])
    for (const { method, path } of others)
      expect([path, (await send(method, pathOf(path, PARAMS), { env: real, ...(method === 'GET' ? {} : json({})) })).status]).toEqual([
        path,
        401,
      ])
  })
})

describe('live', () => {
  const live = { ...env, ENVIRONMENT: 'live', TAX_AUTHORITY: 'sat' } as Env
  const helpers = ROUTES.filter(({ path }) => path.startsWith('/v1/test-helpers/'))

  it.each(helpers)('has nothing at $path, whoever asks and however', async ({ path }) => {
    const filled = pathOf(path, PARAMS)
    const nothing = essence(await send('GET', '/v1/nothing', { env: live }))
    for (const method of METHODS.filter((one) => one !== 'HEAD'))
      for (const authorization of [undefined, basic(owner)]) {
        const { answer, d1 } = await metered(method, filled, { env: live, authorization })
        expect([method, essence(answer), d1]).toEqual([method, nothing, 0])
      }
    expect((await send('POST', filled.replace('test-helpers', '%74est-helpers'), { env: live })).status).toBe(404)
  })

  it('does not describe them', async () => {
    const [inLive, inTest] = [await send('GET', '/v1/openapi.json', { env: live }), await send('GET', '/v1/openapi.json')]
    expect(inLive.text).not.toMatch(/test.?helper|scenario|expireCiec/i)
    const { paths, ...others } = inTest.body
    const kept = Object.fromEntries(Object.entries(paths).filter(([path]) => !path.startsWith('/v1/test-helpers')))
    expect(inLive.body.paths).toEqual(kept)
    expect(Object.keys(inTest.body.paths).length - Object.keys(kept).length).toBe(new Set(helpers.map(({ path }) => path)).size)
    expect(inLive.body.security).toEqual(others.security)
  })

  it('refuses a credential of test, and says what it is', async () => {
    expect((await send('GET', '/v1/organization', { env: live, authorization: basic(owner) })).status).toBe(401)
    expect((await send('GET', '/health', { env: live })).body).toEqual({ status: 'ok', environment: 'live', tax_authority: 'sat' })
  })
})

afterAll(() => {
  // So that a matrix whose rows went missing does not pass for one without a fault.
  expect(made.requests).toBeGreaterThan(1_000)
})
