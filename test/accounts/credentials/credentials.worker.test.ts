import { env } from 'cloudflare:workers'
import fc from 'fast-check'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { checksum, isApiKey, isToken, newKeyPair } from '../../../src/accounts/credentials/key.ts'
import { api, basic, type Caller } from '../../support/client.ts'
import { at } from '../../support/clock.ts'
import { signUp } from '../../support/tenants.ts'
import { send } from '../../support/wire.ts'
import { credentialOf, organizationWith } from '../../support/world.ts'

afterEach(() => {
  vi.useRealTimers()
})

const CREDENTIALS = '/v1/credentials'
const statusOf = async (caller: Caller): Promise<number> => (await api(caller, 'GET', '/v1/organization')).status

describe('a secret by its looks', () => {
  it('carries what a scanner needs to tell it from a look-alike, offline', () => {
    for (const environment of ['test', 'live'] as const) {
      const { api_key, api_secret } = newKeyPair(environment)
      expect(api_key).toMatch(new RegExp(`^fds_${environment}_key_[0-9A-Za-z]{22}$`))
      expect(api_secret).toMatch(new RegExp(`^fds_${environment}_secret_[0-9A-Za-z]{49}$`))
      expect(checksum(api_secret.slice(0, -6))).toBe(api_secret.slice(-6))
      expect([isToken(environment, 'secret', api_secret), isApiKey(environment, api_key)]).toEqual([true, true])
      expect([isToken(environment, 'secret', api_key), isApiKey(environment, api_secret)]).toEqual([false, false])
    }
    // CRC-32 of "123456789" is 0xcbf43926, the check value of the algorithm: six digits of base62.
    expect(checksum('123456789')).toBe('3jZRME')
  })

  it('is not one any more with any one character changed, cut or added', () => {
    fc.assert(
      fc.property(fc.nat(), fc.constantFrom(...'0123456789ABCXYZabcxyz_-. '), (at, character) => {
        const { api_secret } = newKeyPair('test')
        const position = at % api_secret.length
        const changed = api_secret.slice(0, position) + character + api_secret.slice(position + 1)
        expect(isToken('test', 'secret', changed)).toBe(changed === api_secret)
        expect(isToken('test', 'secret', api_secret.slice(0, position) + api_secret.slice(position + 1))).toBe(false)
        expect(isToken('test', 'secret', api_secret.slice(0, position) + character + api_secret.slice(position))).toBe(false)
        expect(isToken('live', 'secret', api_secret)).toBe(false)
      }),
    )
  })

  it('is never the same twice', () => {
    const pairs = Array.from({ length: 500 }, () => newKeyPair('test'))
    expect(new Set(pairs.flatMap(({ api_key, api_secret }) => [api_key, api_secret])).size).toBe(1_000)
  })
})

describe('creating', () => {
  it('shows the secret once, in an answer that nobody may keep, and never again', async () => {
    const { owner } = await organizationWith()
    const { status, headers, body } = await api(owner, 'POST', CREDENTIALS, { name: '  CI  ', role: 'member' })
    expect([status, headers.get('cache-control')]).toEqual([201, 'no-store'])
    expect(body).toEqual({
      api_key: expect.any(String),
      api_secret: expect.any(String),
      name: 'CI',
      role: 'member',
      member_id: (await api(owner, 'GET', '/v1/team/members')).body.data[0].member_id,
      created_by: owner.api_key,
      created_at: expect.any(String),
      expires_at: null,
      ...{ scopes: null, fiscal_entity_ids: null, allowed_addresses: null },
      overlap_until: null,
      last_used_on: null,
    })
    const listed = await api(owner, 'GET', CREDENTIALS)
    expect(JSON.stringify(listed.body)).not.toContain('secret')
    const { api_secret: _, ...kept } = body
    expect(listed.body.data).toContainEqual(kept)
    const { results } = await env.DB.prepare('select * from credentials where api_key = ?').bind(body.api_key).all()
    expect(JSON.stringify(results)).not.toContain(body.api_secret.slice(-20))
    expect(results[0]!['digest']).toMatch(/^\d+\.[0-9a-f]{64}$/)
  })

  it.each([
    ['owner', 'owner', 201],
    ['owner', 'admin', 201],
    ['owner', 'member', 201],
    ['admin', 'owner', 403],
    ['admin', 'admin', 201],
    ['admin', 'member', 201],
    ['member', 'member', 403],
  ] as const)('by an %s of an %s is %i', async (by, role, expected) => {
    const { callers } = await organizationWith()
    const { status, body } = await api(callers[by], 'POST', CREDENTIALS, { name: 'x', role })
    expect(status).toBe(expected)
    if (status === 403) expect(body.code).toBe(by === 'admin' ? 'credential.owner_only' : 'credential.role')
    else expect(await statusOf(body)).toBe(200)
    const { data } = (await api(callers.owner, 'GET', CREDENTIALS)).body
    expect(data).toHaveLength(status === 201 ? 4 : 3)
  })

  it.each([
    [{ role: 'member' }, 'name'],
    [{ name: '   ', role: 'member' }, 'name'],
    [{ name: 'x'.repeat(121), role: 'member' }, 'name'],
    [{ name: 'a\nb', role: 'member' }, 'name'],
    [{ name: 'x' }, 'role'],
    [{ name: 'x', role: 'root' }, 'role'],
    [{ name: 'x', role: ['owner'] }, 'role'],
    [{ name: 'x', role: 'member', expires_at: '2020-01-01T00:00:00Z' }, 'expires_at'],
    [{ name: 'x', role: 'member', expires_at: '2030-01-01' }, 'expires_at'],
    [{ name: 'x', role: 'member', expires_at: 1_900_000_000 }, 'expires_at'],
    [{ name: 'x', role: 'member', api_key: 'fds_test_key_mine' }, 'api_key'],
  ])('%j is 422 for %s', async (draft, path) => {
    const owner = await signUp()
    const { status, body } = await api(owner, 'POST', CREDENTIALS, draft)
    expect([status, body.errors.map((one: { path: string }) => one.path)]).toEqual([422, [path]])
    expect((await api(owner, 'GET', CREDENTIALS)).body.data).toHaveLength(1)
  })

  it('counts a name in code points', async () => {
    const owner = await signUp()
    expect((await api(owner, 'POST', CREDENTIALS, { name: '🧾'.repeat(120), role: 'member' })).status).toBe(201)
  })
})

describe('an expiry', () => {
  it('ends a credential at that very instant', async () => {
    at('2026-11-18T12:00:00Z')
    const { owner } = await organizationWith()
    const caller = await credentialOf(owner, 'owner', { expires_at: '2026-11-18T07:00:00-06:00' })
    at('2026-11-18T12:59:59.999Z')
    expect(await statusOf(caller)).toBe(200)
    at('2026-11-18T13:00:00Z')
    expect(await statusOf(caller)).toBe(401)
    expect((await send('GET', '/v1/organization', { authorization: `Bearer ${caller.api_secret}` })).status).toBe(401)
    const { data } = (await api(owner, 'GET', CREDENTIALS)).body
    expect(data.find(({ api_key }: Caller) => api_key === caller.api_key).expires_at).toBe('2026-11-18T13:00:00.000Z')
  })
})

describe('revoking', () => {
  it('ends a credential before its next request, in both forms, and it is gone from the list', async () => {
    const { owner } = await organizationWith()
    const caller = await credentialOf(owner, 'admin')
    expect(await statusOf(caller)).toBe(200)
    const { status, body } = await api(owner, 'DELETE', `${CREDENTIALS}/${caller.api_key}`)
    expect([status, body]).toEqual([204, ''])
    expect(await statusOf(caller)).toBe(401)
    expect((await send('GET', '/v1/organization', { authorization: `Bearer ${caller.api_secret}` })).status).toBe(401)
    expect(JSON.stringify((await api(owner, 'GET', CREDENTIALS)).body)).not.toContain(caller.api_key)
    expect((await api(owner, 'DELETE', `${CREDENTIALS}/${caller.api_key}`)).status).toBe(404)
  })

  it('leaves the others alone, and lets one revoke oneself', async () => {
    const { owner, callers } = await organizationWith()
    expect((await api(callers.admin, 'DELETE', `${CREDENTIALS}/${callers.admin.api_key}`)).status).toBe(204)
    expect([await statusOf(callers.admin), await statusOf(callers.member), await statusOf(owner)]).toEqual([401, 200, 200])
  })

  it('of an owner’s needs another one that is good for as long', async () => {
    at('2026-11-18T12:00:00Z')
    const { owner } = await organizationWith()
    const [short, long] = [
      await credentialOf(owner, 'owner', { expires_at: '2026-11-18T20:00:00Z' }),
      await credentialOf(owner, 'owner', { expires_at: '2026-11-19T20:00:00Z' }),
    ]
    const revoke = async (whose: Caller) => (await api(short, 'DELETE', `${CREDENTIALS}/${whose.api_key}`)).body?.code ?? 'revoked'
    expect(await revoke(owner)).toBe('credential.last_owner')
    const lasting = await credentialOf(owner, 'owner')
    expect([await revoke(owner), await revoke(lasting), await revoke(long)]).toEqual(['revoked', 'credential.last_owner', 'revoked'])
  })

  it('of owners’ that all expire go on to the longest', async () => {
    at('2026-11-18T12:00:00Z')
    const { owner } = await organizationWith()
    const next = await credentialOf(owner, 'owner', { expires_at: '2026-11-19T20:00:00Z' })
    await env.DB.prepare('update credentials set expires_at = ? where api_key = ?')
      .bind(Date.parse('2026-11-18T20:00:00Z'), owner.api_key)
      .run()
    expect((await api(owner, 'DELETE', `${CREDENTIALS}/${next.api_key}`)).body.code).toBe('credential.last_owner')
    expect((await api(next, 'DELETE', `${CREDENTIALS}/${owner.api_key}`)).status).toBe(204)
  })

  it('of an owner’s is for owners', async () => {
    const { owner, callers } = await organizationWith()
    const second = await credentialOf(owner, 'owner')
    const refused = await api(callers.admin, 'DELETE', `${CREDENTIALS}/${second.api_key}`)
    expect([refused.status, refused.body.code, await statusOf(second)]).toEqual([403, 'credential.owner_only', 200])
    expect((await api(callers.admin, 'DELETE', `${CREDENTIALS}/${callers.member.api_key}`)).status).toBe(204)
    expect((await api(owner, 'DELETE', `${CREDENTIALS}/${second.api_key}`)).status).toBe(204)
  })
})

describe('the list', () => {
  it('is the organization’s, oldest first, page by page without a gap or a repetition, also among those of one instant', async () => {
    at('2026-11-18T12:00:00Z')
    const { owner } = await organizationWith()
    await Promise.all(Array.from({ length: 7 }, () => credentialOf(owner, 'member')))
    at('2026-11-18T12:00:01Z')
    const late = await credentialOf(owner, 'member')
    const all: Caller[] = (await api(owner, 'GET', `${CREDENTIALS}?limit=100`)).body.data
    expect(all).toHaveLength(11)
    expect(all.at(-1)!.api_key).toBe(late.api_key)
    const seen: string[] = []
    let cursor: string | null = ''
    do {
      const { body } = await api(owner, 'GET', `${CREDENTIALS}?limit=3${cursor ? `&cursor=${cursor}` : ''}`)
      expect(body.has_more).toBe(body.next_cursor !== null)
      seen.push(...body.data.map(({ api_key }: Caller) => api_key))
      // What goes and comes meanwhile moves nobody else.
      if (seen.length === 3) {
        await api(owner, 'DELETE', `${CREDENTIALS}/${seen[1]}`)
        at('2026-11-18T12:00:02Z')
        await credentialOf(owner, 'member')
      }
      cursor = body.next_cursor
    } while (cursor)
    expect(seen.slice(0, 11)).toEqual(all.map(({ api_key }) => api_key))
    expect(new Set(seen).size).toBe(12)
  })
})

describe('rotating the pepper', () => {
  it('keeps old secrets working and makes new ones under the new key', async () => {
    const owner = await signUp()
    const newer = `9:${crypto.getRandomValues(new Uint8Array(32)).toBase64()}`
    const both = { ...env, API_SECRET_KEYS: `${newer},${env.API_SECRET_KEYS}` } as Env
    const ask = (caller: Caller, where: Env) => send('GET', '/v1/organization', { authorization: basic(caller), env: where })
    expect((await ask(owner, both)).status).toBe(200)
    const made = await send('POST', CREDENTIALS, {
      authorization: basic(owner),
      env: both,
      headers: { 'content-type': 'application/json' },
      body: '{"name":"x","role":"admin"}',
    })
    expect(made.status).toBe(201)
    expect([(await ask(made.body, both)).status, (await ask(made.body, env)).status]).toEqual([200, 401])
    expect((await ask(owner, { ...env, API_SECRET_KEYS: newer } as Env)).status).toBe(401)
  })
})
