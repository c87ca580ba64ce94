import { env } from 'cloudflare:workers'
import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { consoleApp } from '../../../src/accounts/console/routes.ts'
import { newKeyPair, newToken } from '../../../src/accounts/credentials/key.ts'
import { networkOf } from '../../../src/platform/network.ts'
import configuration from '../../../wrangler.toml?raw'
import { basic } from '../../support/client.ts'
import { at } from '../../support/clock.ts'
import { signUp } from '../../support/tenants.ts'
import { type Answer, json, metered, send } from '../../support/wire.ts'
import { credentialOf } from '../../support/world.ts'

vi.spyOn(console, 'log').mockImplementation(() => {})

/** The platform's own limit, of three a minute. */
const tight = (name: 'PER_CREDENTIAL' | 'PER_ORGANIZATION' | 'PER_ADDRESS'): Env => ({ ...env, [name]: env.TIGHT })

/** A limit that says what it was asked for, and what the test wants. */
const heard = (keys: string[], success: (key: string) => boolean): RateLimit => ({
  async limit({ key }) {
    keys.push(key)
    return { success: success(key) }
  },
})

/** A minute may begin between two of them, hence up to twice as many. */
async function untilRefused(ask: () => Promise<Answer>): Promise<{ passed: number; refused: Answer }> {
  for (let passed = 0; passed <= 6; passed++) {
    const answer = await ask()
    if (answer.status === 429) return { passed, refused: answer }
    expect(answer.status).toBeLessThan(300)
  }
  throw new Error('Nothing was refused.')
}

describe('requests of one credential', () => {
  it('are so many a minute, and then 429 with when to come back and what the limit is; another’s are its own', async () => {
    const owner = await signUp()
    const other = await credentialOf(owner, 'admin')
    const ask = (caller = owner as { api_key: string; api_secret: string }) =>
      send('GET', '/v1/organization', { authorization: basic(caller), env: tight('PER_CREDENTIAL') })
    const { passed, refused } = await untilRefused(() => ask())
    expect(passed).toBeGreaterThanOrEqual(3)
    expect(refused.body).toEqual({
      detail: { message: expect.stringContaining(`${env.CREDENTIAL_REQUESTS_PER_MINUTE} requests a minute`), retry_after_seconds: 60 },
      code: 'request.rate_limit',
      request_id: expect.any(String),
    })
    expect([refused.headers.get('retry-after'), refused.headers.get('ratelimit')]).toEqual(['60', '"credential";r=0;t=60'])
    expect(refused.headers.get('ratelimit-policy')!.split(', ').sort()).toEqual([
      `"credential";q=${env.CREDENTIAL_REQUESTS_PER_MINUTE};w=60`,
      `"organization";q=${env.ORGANIZATION_REQUESTS_PER_MINUTE};w=60`,
    ])
    expect((await ask(other)).status).toBe(200)
  })

  it('count for their organization too, whichever of its credentials sends them; another organization’s are its own', async () => {
    const [owner, stranger] = [await signUp(), await signUp()]
    const callers = [owner, await credentialOf(owner, 'admin'), await credentialOf(owner, 'member'), await credentialOf(owner, 'member')]
    const ask = (caller: { api_key: string; api_secret: string }) =>
      send('GET', '/v1/organization', { authorization: basic(caller), env: tight('PER_ORGANIZATION') })
    let turn = 0
    const { passed, refused } = await untilRefused(() => ask(callers[turn++ % callers.length]!))
    expect(passed).toBeGreaterThanOrEqual(3)
    expect(refused.body).toMatchObject({
      detail: { message: expect.stringMatching(/^The credentials of this organization have made more than \d+ requests a minute\./) },
      code: 'request.rate_limit',
    })
    expect([refused.headers.get('retry-after'), refused.headers.get('ratelimit')]).toEqual(['60', '"organization";r=0;t=60'])
    expect((await ask(stranger)).status).toBe(200)
  })

  it('tell in every answer what is left of the tightest limit, errors included', async () => {
    at('2026-11-18T12:00:00Z')
    const owner = await signUp()
    const other = await credentialOf(owner, 'admin')
    const [limit, ofOrganization] = [env.CREDENTIAL_REQUESTS_PER_MINUTE, env.ORGANIZATION_REQUESTS_PER_MINUTE].map(Number)
    at('2026-11-18T13:00:00Z')
    const told = async (path: string, caller = owner as { api_key: string; api_secret: string }, bindings: Env = env) => {
      const { status, headers } = await send('GET', path, { authorization: basic(caller), env: bindings })
      return [status, headers.get('ratelimit')]
    }
    expect(await told('/v1/organization')).toEqual([200, `"credential";r=${limit! - 1};t=60`])
    at('2026-11-18T13:00:20Z')
    expect(await told('/v1/webhooks/nonsense')).toEqual([400, `"credential";r=${limit! - 2};t=40`])
    expect(await told('/v1/cfdi?limit=x')).toEqual([422, `"credential";r=${limit! - 3};t=40`])
    expect(await told('/v1/organization', other)).toEqual([200, `"credential";r=${limit! - 1};t=60`])
    // Four so far by two credentials; where the organization has fewer left, that is told.
    const narrow = { ...env, ORGANIZATION_REQUESTS_PER_MINUTE: '100' }
    expect(await told('/v1/organization', other, narrow)).toEqual([200, '"organization";r=95;t=40'])
    at('2026-11-18T13:01:20Z')
    expect(await told('/v1/organization')).toEqual([200, `"credential";r=${limit! - 1};t=60`])
    expect(ofOrganization).toBeGreaterThan(limit!)
    vi.useRealTimers()
  })

  const refusing = (keys: string[] = []): Env => ({
    ...env,
    PER_CREDENTIAL: heard(keys, () => false),
  })

  it('are counted by key, never by secret, once they are known to be theirs: who is not let in is 401 and counts for nobody', async () => {
    const owner = await signUp()
    const keys: string[] = []
    const authorizations = [
      undefined,
      'Basic %%%',
      basic({ ...owner, api_secret: owner.api_secret.replace(/.$/, '!') }),
      basic({ ...owner, api_key: `fds_test_key_${'0'.repeat(22)}` }),
    ]
    for (const authorization of authorizations)
      expect((await send('GET', '/v1/organization', { authorization, env: refusing(keys) })).status).toBe(401)
    expect(keys).toEqual([])
    expect((await send('GET', '/v1/organization', { authorization: `Bearer ${owner.api_secret}`, env: refusing(keys) })).status).toBe(429)
    expect(keys).toEqual([owner.api_key])
  })

  it('are refused before anything else of them is looked at, and nothing is done', async () => {
    const owner = await signUp()
    const sent = { ...json({ name: 'CI', role: 'member' }), authorization: basic(owner), env: refusing() }
    const { answer, d1 } = await metered('POST', '/v1/credentials', { ...sent, headers: { ...sent.headers, 'idempotency-key': 'limited' } })
    // One: who they are.
    expect([answer.status, d1]).toEqual([429, 1])
    for (const [method, path] of [
      ['POST', '/v1/extractors'],
      ['DELETE', '/v1/extractors/nonsense'],
      ['GET', '/v1/cfdi?limit=x'],
    ] as const)
      expect((await send(method, path, { authorization: basic(owner), env: refusing() })).status).toBe(429)
    expect((await send('GET', '/v1/nothing', { authorization: basic(owner), env: refusing() })).status).toBe(404)
    const again = await send('POST', '/v1/credentials', { ...sent, env, headers: { ...sent.headers, 'idempotency-key': 'limited' } })
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([201, null])
  })

  it('have no limit where none is bound', async () => {
    const owner = await signUp()
    const { PER_CREDENTIAL: _, PER_ADDRESS: __, PER_ORGANIZATION: ___, ...others } = env
    const unbound = others as unknown as Env
    for (let n = 0; n < 10; n++)
      expect((await send('GET', '/v1/organization', { authorization: basic(owner), env: unbound })).status).toBe(200)
    const draft = json({ organization_name: 'Uno', name: 'Ana', email: 'ana@example.com' })
    expect((await send('POST', '/v1/auth/signup', { ...draft, env: unbound })).status).toBe(201)
  })
})

describe('what needs no credential, from one address', () => {
  const from = (address: string, path: string, body: object, bindings: Env) => {
    const { headers, ...sent } = json(body)
    return send('POST', path, { ...sent, headers: { ...headers, 'cf-connecting-ip': address }, env: bindings })
  }
  const SIGNUP = '/v1/auth/signup'
  const ACCEPT = '/v1/auth/invitations/accept'
  const draft = { organization_name: 'Uno', name: 'Ana', email: 'ana@example.com' }

  it('is so much a minute, and then 429; from another address it goes on', async () => {
    const { passed, refused } = await untilRefused(() => from('203.0.113.7', SIGNUP, draft, tight('PER_ADDRESS')))
    expect(passed).toBeGreaterThanOrEqual(3)
    expect([refused.body.code, refused.headers.get('retry-after'), refused.headers.get('ratelimit')]).toEqual([
      'request.rate_limit',
      '60',
      '"address";r=0;t=60',
    ])
    expect(refused.headers.get('ratelimit-policy')!.split(', ')).toContain(`"address";q=${env.ADDRESS_REQUESTS_PER_MINUTE};w=60`)
    expect((await from('203.0.113.8', SIGNUP, draft, tight('PER_ADDRESS'))).status).toBe(201)
  })

  it('counts sign-ups and acceptances together, what is malformed not at all, and makes nothing beyond', async () => {
    const keys: string[] = []
    let success = true
    const bindings: Env = { ...env, PER_ADDRESS: heard(keys, () => success) }
    expect((await from('2001:db8:1:2:3::4', SIGNUP, draft, bindings)).status).toBe(201)
    expect((await from('2001:db8:1:2:ffff::', ACCEPT, { token: 'x', name: 'Bea' }, bindings)).status).toBe(404)
    expect((await from('2001:db8:1:2::', SIGNUP, {}, bindings)).status).toBe(422)
    expect(keys).toEqual(['2001:db8:1:2', '2001:db8:1:2'])
    success = false
    const count = () => env.DB.prepare('select count(*) as n from organizations').first('n')
    const before = await count()
    for (const path of [SIGNUP, ACCEPT])
      expect((await from('203.0.113.7', path, path === SIGNUP ? draft : { token: 'x', name: 'Bea' }, bindings)).status).toBe(429)
    expect(await count()).toBe(before)
    for (const path of ['/health', '/v1/openapi.json', '/docs']) expect((await send('GET', path, { env: bindings })).status).toBe(200)
  })

  it('of any other kind is as much as an organization may send, and 429 beyond; health is answered all the same', async () => {
    const keys: string[] = []
    let success = true
    const bindings: Env = { ...env, PER_ORGANIZATION: heard(keys, () => success) }
    const ask = (method: string, path: string) => send(method, path, { headers: { 'cf-connecting-ip': '203.0.113.9' }, env: bindings })
    const OPEN = [
      ['GET', '/docs', 200],
      ['GET', '/docs/limits', 200],
      ['GET', '/llms.txt', 200],
      ['GET', '/v1/openapi.json', 200],
      ['GET', '/v1/nothing', 404],
      ['PUT', '/v1/organization', 405],
      ['POST', '/v1/auth/signup', 422],
      ['POST', '/v1/billing/stripe/webhook', 415],
    ] as const
    for (const [method, path, status] of OPEN) {
      const answer = await ask(method, path)
      expect([path, answer.status, answer.headers.get('ratelimit')]).toEqual([
        path,
        status,
        expect.stringMatching(/^"public";r=\d+;t=\d+$/),
      ])
    }
    expect(keys).toEqual(OPEN.map(() => 'public 203.0.113.9'))
    success = false
    for (const [method, path] of OPEN) {
      const { status, headers, body } = await ask(method, path)
      expect([path, status, headers.get('ratelimit'), body.code]).toEqual([path, 429, '"public";r=0;t=60', 'request.rate_limit'])
    }
    for (const [method, path] of [
      ['GET', '/console/'],
      ['GET', '/console/session'],
      ['POST', '/console/session'],
    ] as const) {
      const { status, headers } = await consoleApp.fetch(new Request(`https://api.test${path}`, { method }), bindings)
      expect([path, status, headers.get('ratelimit')]).toEqual([path, 429, '"public";r=0;t=60'])
    }
    expect((await ask('GET', '/health')).status).toBe(200)
  })

  it('and is said to come from the fetcher counts only while its signature is wrong', async () => {
    const keys: string[] = []
    let success = true
    const bindings = { ...env, FETCHER_KEYS: `1:${btoa('f'.repeat(32))}`, PER_ORGANIZATION: heard(keys, () => success) } as Env
    const ask = async () => (await send('POST', '/fetcher/v1/leases', { ...json({}), env: bindings })).status
    expect([await ask(), keys.length]).toEqual([401, 1])
    success = false
    expect(await ask()).toBe(429)
  })

  it.each([
    ['203.0.113.7', '203.0.113.7'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['2001:db8::1', '2001:db8:0:0'],
    ['2001:0DB8:0000:00a0:ffff:ffff:ffff:ffff', '2001:db8:0:a0'],
    ['2001:db8:1:2:3:4:5::', '2001:db8:1:2'],
    ['::1', '0:0:0:0'],
    ['::', '0:0:0:0'],
    ['2001::db8:1:2:3:4:5', '2001:0:db8:1'],
    ['', ''],
  ])('%s is of %s', (address, network) => {
    expect(networkOf(address)).toBe(network)
  })

  it('is of the first half of an IPv6 address, however that is written', () => {
    const groups = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 0xffff })), { minLength: 8, maxLength: 8 })
    fc.assert(
      fc.property(groups, fc.boolean(), fc.boolean(), (all, isPadded, isUpper) => {
        const expected = all
          .slice(0, 4)
          .map((one) => one.toString(16))
          .join(':')
        const full = all.map((one) => one.toString(16).padStart(isPadded ? 4 : 1, '0')).join(':')
        expect(networkOf(isUpper ? full.toUpperCase() : full)).toBe(expected)
        // The URL parser writes the longest run of zeros as two colons.
        expect(networkOf(new URL(`http://[${full}]`).hostname.slice(1, -1))).toBe(expected)
      }),
    )
  })
})

describe('requests without a valid credential, from one address', () => {
  const PATH = '/v1/organization'
  const ask = (address: string, authorization: string | undefined, bindings: Env) =>
    send('GET', PATH, { authorization, headers: { 'cf-connecting-ip': address }, env: bindings })
  const bearer = (secret: string) => `Bearer ${secret}`
  const unknown = () => bearer(newKeyPair('test').api_secret)
  let addresses = 0
  const freshAddress = () => `198.51.100.${++addresses}`

  it('are 401 so many times a minute, and then 429 with when to come back; a valid credential of the address is admitted', async () => {
    const owner = await signUp()
    const address = freshAddress()
    const statuses: number[] = []
    let refused: Answer | undefined
    for (let n = 0; n < 8; n++) {
      const answer = await ask(address, unknown(), tight('PER_ADDRESS'))
      statuses.push(answer.status)
      if (answer.status === 429) refused = answer
    }
    expect(statuses.slice(0, 3)).toEqual([401, 401, 401])
    expect(statuses).toContain(429)
    expect(refused!.body).toEqual({
      detail: { message: expect.stringContaining('requests without a valid credential a minute'), retry_after_seconds: 60 },
      code: 'request.rate_limit',
      request_id: expect.any(String),
    })
    expect([
      refused!.headers.get('retry-after'),
      refused!.headers.get('ratelimit'),
      refused!.headers.get('ratelimit-policy'),
      refused!.headers.get('www-authenticate'),
    ]).toEqual(['60', '"address";r=0;t=60', `"address";q=${env.ADDRESS_REQUESTS_PER_MINUTE};w=60`, null])
    expect((await ask(address, basic(owner), tight('PER_ADDRESS'))).status).toBe(200)
    expect((await ask(freshAddress(), unknown(), tight('PER_ADDRESS'))).status).toBe(401)
  })

  it('count by network, apart from sign-ups, and valid ones do not count', async () => {
    const owner = await signUp()
    const keys: string[] = []
    const bindings: Env = { ...env, PER_ADDRESS: heard(keys, () => true) }
    for (const authorization of [undefined, 'Basic %%%', unknown(), bearer(owner.api_key)])
      expect((await ask('2001:db8:9:2:3::4', authorization, bindings)).status).toBe(401)
    expect((await ask('2001:db8:9:2::7', basic(owner), bindings)).status).toBe(200)
    expect(keys).toEqual(Array(4).fill('failed 2001:db8:9:2'))
  })

  it('beyond the limit the same credential is refused for a minute without a query or a count, and then counts again', async () => {
    at('2026-11-18T12:00:00Z')
    const owner = await signUp()
    const revoked = await credentialOf(owner, 'member')
    await send('DELETE', `/v1/credentials/${revoked.api_key}`, { authorization: basic(owner) })
    const address = freshAddress()
    const keys: string[] = []
    let success = true
    const bindings: Env = { ...env, PER_ADDRESS: heard(keys, () => success) }
    const metred = () =>
      metered('GET', PATH, { authorization: basic(revoked), headers: { 'cf-connecting-ip': address }, env: bindings }).then(
        ({ answer, d1 }) => [answer.status, d1, keys.length],
      )
    expect([await metred(), await metred()]).toEqual([
      [401, 1, 1],
      [401, 1, 2],
    ])
    success = false
    expect([await metred(), await metred(), await metred()]).toEqual([
      [429, 1, 3],
      [429, 0, 3],
      [429, 0, 3],
    ])
    // What is refused is this credential from this network.
    expect((await ask(address, basic(owner), bindings)).status).toBe(200)
    expect((await ask(freshAddress(), basic(revoked), { ...env, PER_ADDRESS: heard([], () => true) })).status).toBe(401)
    success = true
    at('2026-11-18T12:00:59.999Z')
    expect(await metred()).toEqual([429, 0, 3])
    at('2026-11-18T12:01:00Z')
    expect(await metred()).toEqual([401, 1, 4])
    vi.useRealTimers()
  })

  it('beyond the limit credentials that were not valid lately are looked up as often as one credential may send requests', async () => {
    const owner = await signUp()
    const [regular, newcomer] = [await credentialOf(owner, 'member'), await credentialOf(owner, 'member')]
    const address = freshAddress()
    const keys: string[] = []
    let [isBelow, hasLookUps] = [true, true]
    const bindings: Env = {
      ...env,
      PER_ADDRESS: heard([], () => isBelow),
      PER_CREDENTIAL: heard(keys, (key) => hasLookUps || !key.startsWith('unknown ')),
    }
    const cost = async (authorization: string) => {
      const { answer, d1 } = await metered('GET', PATH, { authorization, headers: { 'cf-connecting-ip': address }, env: bindings })
      return [answer.status, d1]
    }
    // Whoever is known is not counted among the unknown, also of a network that is over its limit.
    expect((await cost(basic(regular)))[0]).toBe(200)
    isBelow = false
    expect([await cost(unknown()), await cost(unknown())]).toEqual([
      [429, 1],
      [429, 1],
    ])
    expect(keys).toEqual([regular.api_key, `unknown ${address}`])
    expect((await cost(basic(newcomer)))[0]).toBe(200)
    hasLookUps = false
    const { answer } = await metered('GET', PATH, { authorization: unknown(), headers: { 'cf-connecting-ip': address }, env: bindings })
    expect([answer.status, answer.headers.get('ratelimit-policy')]).toEqual([429, `"address";q=${env.CREDENTIAL_REQUESTS_PER_MINUTE};w=60`])
    expect([await cost(unknown()), await cost(basic(owner))]).toEqual([
      [429, 0],
      [429, 0],
    ])
    for (const known of [regular, newcomer]) expect((await cost(basic(known)))[0]).toBe(200)
  })

  it('beyond the limit what cannot be a credential costs no query at all', async () => {
    const bindings: Env = { ...env, PER_ADDRESS: heard([], () => false) }
    const headers = { 'cf-connecting-ip': freshAddress() }
    for (const authorization of [undefined, 'Basic %%%', bearer(newKeyPair('live').api_secret)]) {
      const { answer, d1 } = await metered('POST', '/v1/credentials', { ...json({}), authorization, headers, env: bindings })
      expect([answer.status, d1]).toEqual([429, 0])
    }
  })

  it('a wrong token of an invitation counts for its address before it is looked up', async () => {
    const headers = { ...json({}).headers, 'cf-connecting-ip': freshAddress() }
    const sent = { headers, body: JSON.stringify({ token: newToken('test', 'invitation'), name: 'Bea' }) }
    const accept = (success: boolean) =>
      metered('POST', '/v1/auth/invitations/accept', { ...sent, env: { ...env, PER_ADDRESS: heard([], () => success) } })
    const [admitted, refused] = [await accept(true), await accept(false)]
    expect([admitted.answer.status, admitted.d1, refused.answer.status, refused.d1]).toEqual([404, 1, 429, 0])
  })

  it('are 401 however many there are where no limit is bound', async () => {
    const { PER_ADDRESS: _, ...unbound } = env
    const address = freshAddress()
    for (let n = 0; n < 8; n++) expect((await ask(address, unknown(), unbound as unknown as Env)).status).toBe(401)
  })
})

describe('in every environment', () => {
  const blocks = configuration.split(/^# -{20,}.*$/m)

  it.each(['local', 'test', 'live'].map((name, n) => [name, blocks[n]!] as const))('%s: what is told is what is bound', (_, block) => {
    for (const [binding, variable] of [
      ['PER_CREDENTIAL', 'CREDENTIAL_REQUESTS_PER_MINUTE'],
      ['PER_ORGANIZATION', 'ORGANIZATION_REQUESTS_PER_MINUTE'],
      ['PER_ADDRESS', 'ADDRESS_REQUESTS_PER_MINUTE'],
    ]) {
      const [, limit, period] = block.match(
        new RegExp(`name = "${binding}", namespace_id = "\\d+", simple = { limit = (\\d+), period = (\\d+) }`),
      )!
      expect([binding, limit, period]).toEqual([binding, block.match(new RegExp(`^${variable} = "(\\d+)"$`, 'm'))![1], '60'])
    }
  })

  it('each limit is one of its own', () => {
    const ids = [...configuration.matchAll(/ namespace_id = "(\d+)",/g)].map(([, id]) => id)
    expect([ids.length, new Set(ids).size]).toEqual([9, 9])
  })
})
