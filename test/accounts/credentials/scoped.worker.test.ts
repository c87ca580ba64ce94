import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { newId, uuidOf } from '../../../src/platform/db/id.ts'
import { api, basic, type Caller } from '../../support/client.ts'
import { at, restore } from '../../support/clock.ts'
import { costOf } from '../../support/meter.ts'
import { freshRfc, joined } from '../../support/tenants.ts'
import { json, send } from '../../support/wire.ts'
import { credentialOf, organizationWith } from '../../support/world.ts'

afterEach(restore)

const CREDENTIALS = '/v1/credentials'
const create = (by: Caller, draft: object) => api(by, 'POST', CREDENTIALS, { name: 'CI', role: 'admin', ...draft })
const connect = async (by: Caller): Promise<string> =>
  (await api(by, 'POST', '/v1/fiscal-entities', { rfc: freshRfc() })).body.fiscal_entity_id
const statusOf = async (caller: Caller): Promise<number> => (await api(caller, 'GET', '/v1/organization')).status
const ask = (caller: Caller, address?: string) =>
  send('GET', '/v1/organization', { authorization: basic(caller), headers: address === undefined ? {} : { 'cf-connecting-ip': address } })

describe('limits of a credential', () => {
  it('are shown, and sent ones are kept without repetitions', async () => {
    const { owner } = await organizationWith()
    const fe = await connect(owner)
    const draft = {
      scopes: ['cfdi:read', 'events:read', 'cfdi:read'],
      fiscal_entity_ids: [uuidOf(fe), fe],
      allowed_addresses: ['192.0.2.0/24', '2001:db8::/32', '192.0.2.0/24'],
    }
    const { status, body } = await create(owner, draft)
    const kept = {
      scopes: ['cfdi:read', 'events:read'],
      fiscal_entity_ids: [fe],
      allowed_addresses: ['192.0.2.0/24', '2001:db8::/32'],
    }
    expect([status, body]).toMatchObject([201, kept])
    const { data } = (await api(owner, 'GET', CREDENTIALS)).body
    expect(data.find(({ api_key }: Caller) => api_key === body.api_key)).toMatchObject(kept)
  })

  it.each([
    [{ scopes: [] }, 'scopes', 'request.invalid'],
    [{ scopes: ['cfdi:everything'] }, 'scopes[0]', 'request.invalid'],
    [{ role: 'member', scopes: ['cfdi:read', 'team:write'] }, 'scopes[1]', 'credential.scopes'],
    [{ scopes: ['sandbox:write'] }, 'scopes[0]', 'credential.scopes'],
    [{ fiscal_entity_ids: [] }, 'fiscal_entity_ids', 'request.invalid'],
    [{ fiscal_entity_ids: ['nonsense'] }, 'fiscal_entity_ids[0]', 'request.invalid'],
    [{ fiscal_entity_ids: [newId('fe')] }, 'fiscal_entity_ids[0]', 'credential.fiscal_entity'],
    [{ allowed_addresses: ['10.1.2.3/8'] }, 'allowed_addresses[0]', 'request.invalid'],
    [{ allowed_addresses: ['10.0.0.0/8', 'example.com'] }, 'allowed_addresses[1]', 'request.invalid'],
    [{ allowed_addresses: Array.from({ length: 21 }, (_, n) => `192.0.2.${n}`) }, 'allowed_addresses', 'request.invalid'],
  ])('%j is 422 for %s', async (draft, path, code) => {
    const { owner } = await organizationWith()
    const { status, body } = await create(owner, draft)
    expect([status, body.code, body.errors[0].path]).toEqual([422, code, path])
  })

  it('of another organization’s RFC are told like those of none', async () => {
    const [{ owner }, { owner: stranger }] = [await organizationWith(), await organizationWith()]
    const theirs = await connect(stranger)
    const of = async (id: string) => {
      const { status, body } = await create(owner, { fiscal_entity_ids: [id] })
      return [status, { ...body, request_id: null }]
    }
    expect(await of(theirs)).toEqual(await of(newId('fe')))
  })
})

describe('nobody makes a credential that may do more', () => {
  it('its limits are the maker’s where none are given, and never go beyond them', async () => {
    const { owner } = await organizationWith()
    const [one, two] = [await connect(owner), await connect(owner)]
    const limits = {
      scopes: ['cfdi:read', 'credentials:write', 'credentials:read', 'exports:write'],
      fiscal_entity_ids: [one, two],
      allowed_addresses: ['192.0.2.0/24'],
    }
    const maker = await credentialOf(owner, 'admin', limits)
    const make = (draft: object) =>
      send('POST', CREDENTIALS, {
        authorization: basic(maker),
        headers: { 'content-type': 'application/json', 'cf-connecting-ip': '192.0.2.9' },
        body: JSON.stringify({ name: 'CI', role: 'admin', ...draft }),
      })
    expect((await make({})).body).toMatchObject(limits)
    expect((await make({ role: 'member' })).body).toMatchObject({ ...limits, scopes: ['cfdi:read', 'credentials:read'] })
    const narrower = { scopes: ['cfdi:read'], fiscal_entity_ids: [two], allowed_addresses: ['192.0.2.128/25'] }
    expect((await make(narrower)).body).toMatchObject(narrower)
    for (const [draft, path] of [
      [{ scopes: null }, 'scopes'],
      [{ scopes: ['cfdi:read', 'webhooks:write'] }, 'scopes'],
      [{ fiscal_entity_ids: null }, 'fiscal_entity_ids'],
      [{ allowed_addresses: null }, 'allowed_addresses'],
      [{ allowed_addresses: ['192.0.0.0/16'] }, 'allowed_addresses'],
    ] as const) {
      const { status, body } = await make(draft)
      expect([draft, status, body.code, body.errors[0].path]).toEqual([draft, 422, 'credential.exceeds_maker', path])
    }
    const third = await connect(owner)
    expect((await make({ fiscal_entity_ids: [one, third] })).body.code).toBe('credential.fiscal_entity')
  })

  it('a bound credential makes none with a scope of the organization that it does not have itself', async () => {
    const { owner } = await organizationWith()
    const bound = await credentialOf(owner, 'admin', {
      fiscal_entity_ids: [await connect(owner)],
      scopes: ['credentials:write', 'cfdi:read'],
    })
    expect((await create(bound, { scopes: ['billing:read'] })).body.code).toBe('credential.exceeds_maker')
    expect((await create(bound, { scopes: null })).body.code).toBe('credential.exceeds_maker')
    expect((await create(bound, { scopes: ['cfdi:read'] })).status).toBe(201)
  })

  it('an invitation gives the member a credential with the same limits, or narrower ones', async () => {
    const { owner } = await organizationWith()
    const [one, two] = [await connect(owner), await connect(owner)]
    const maker = await credentialOf(owner, 'admin', { fiscal_entity_ids: [one], scopes: ['team:write', 'cfdi:read'] })
    const invite = (by: Caller, more: object) =>
      api(by, 'POST', '/v1/team/members/invite', { email: `${crypto.randomUUID()}@example.com`, role: 'member', ...more })
    expect((await invite(maker, { fiscal_entity_ids: null })).body.code).toBe('credential.exceeds_maker')
    for (const [by, more, limits] of [
      [maker, {}, { fiscal_entity_ids: [one], scopes: ['cfdi:read'] }],
      [owner, { fiscal_entity_ids: [two] }, { fiscal_entity_ids: [two], scopes: null }],
    ] as const) {
      const { body } = await invite(by, more)
      expect(body).toMatchObject(limits)
      const joined = await send('POST', '/v1/auth/invitations/accept', json({ token: body.token, name: 'Bea' }))
      expect(joined.body.credential).toMatchObject(limits)
    }
  })
})

describe('what lies behind a resource that a bound credential sees', () => {
  it('of a webhook and a connector that were for other RFCs too, it sees and moves nothing of these', async () => {
    const { owner } = await organizationWith()
    const [one, two] = [await connect(owner), await connect(owner)]
    const bound = await credentialOf(owner, 'admin', { fiscal_entity_ids: [one] })
    const made = await api(owner, 'POST', '/v1/webhooks', { name: 'W', url: 'https://hooks.example.com/w', event_keys: ['cfdi.cancelled'] })
    const path = `/v1/webhooks/${made.body.webhook_id}`
    expect((await api(bound, 'GET', path)).status).toBe(404)
    const event = async (about: string) => {
      const event_id = newId('evt')
      const body = JSON.stringify({
        event: 'cfdi.cancelled',
        event_id,
        occurred_at: new Date().toISOString(),
        fiscal_entity_id: uuidOf(about),
      })
      await env.EVENTS_0.batch([
        env.EVENTS_0.prepare(
          'insert into events (organization_id, seq, body) select ?1, coalesce(max(seq), ?3) + 1, ?2 from events where organization_id = ?1',
        ).bind(owner.organization_id, body, Date.now()),
        env.EVENTS_0.prepare(
          `insert into deliveries select webhook, (select max(seq) from events where organization_id = ?1), 0, 'cfdi.cancelled', 'lost', ?2, null, null, '[]', ?2
           from webhooks where webhook_id = ?3`,
        ).bind(owner.organization_id, Date.now(), made.body.webhook_id),
      ])
      return event_id
    }
    const [own] = [await event(one), await event(two)]
    await api(owner, 'PATCH', path, { fiscal_entity_ids: [one] })
    const { data } = (await api(bound, 'GET', `${path}/deliveries`)).body
    expect(data.map(({ event_id }: { event_id: string }) => event_id)).toEqual([own])
    expect((await api(owner, 'GET', `${path}/deliveries`)).body.data).toHaveLength(2)
    // What it has sent again goes to a URL of its own, and so nothing of others does.
    await api(bound, 'PATCH', path, { url: 'https://mine.example.com/w' })
    await api(bound, 'POST', `${path}/deliveries/redeliver`, { since: '2026-01-01T00:00:00Z' })
    const again = async () => (await api(owner, 'GET', `${path}/deliveries?status=failed`)).body.data
    await vi.waitUntil(async () => (await again()).length === 1, { timeout: 20_000, interval: 50 })
    expect((await again())[0]).toMatchObject({
      fiscal_entity_id: two,
      attempts: [{ error: 'Not sent: The webhook is not for this RFC any more.', status_code: null }],
    })
  })

  it('what it makes for no RFC in particular is for its own, and what is for more it does not see', async () => {
    const { owner } = await organizationWith()
    const [one, two] = [await connect(owner), await connect(owner)]
    const bound = await credentialOf(owner, 'admin', { fiscal_entity_ids: [one] })
    const hook = { name: 'W', url: 'https://hooks.example.com/w', event_keys: ['cfdi.cancelled'] }
    const store = {
      ...{ name: 'S', provider: 's3', config: { bucket: 'fiscal' } },
      credentials: { access_key_id: 'AKIDEXAMPLE', secret_access_key: 'secret-of-nobody' },
    }
    const webhook = (await api(bound, 'POST', '/v1/webhooks', hook)).body
    expect(webhook.fiscal_entity_ids).toEqual([one])
    expect((await api(bound, 'PATCH', `/v1/webhooks/${webhook.webhook_id}`, { fiscal_entity_ids: null })).body.fiscal_entity_ids).toEqual([
      one,
    ])
    expect((await api(bound, 'PATCH', `/v1/webhooks/${webhook.webhook_id}`, { fiscal_entity_ids: [two] })).body.code).toBe(
      'webhook.fiscal_entity',
    )
    const connector = (await api(bound, 'POST', '/v1/storage-connectors', store)).body
    expect(connector.scope.fiscal_entity_ids).toEqual([one])
    expect((await api(bound, 'POST', '/v1/storage-connectors', { ...store, scope: { fiscal_entity_ids: [one, two] } })).body.code).toBe(
      'storage_connector.scope',
    )
    await api(owner, 'POST', '/v1/webhooks', hook)
    await api(owner, 'POST', '/v1/webhooks', { ...hook, fiscal_entity_ids: [one, two] })
    await api(owner, 'POST', '/v1/storage-connectors', { ...store, config: { bucket: 'other' } })
    const countOf = async (by: Caller, path: string) => (await api(by, 'GET', path)).body.data.length
    expect([await countOf(bound, '/v1/webhooks'), await countOf(owner, '/v1/webhooks')]).toEqual([1, 3])
    expect([await countOf(bound, '/v1/storage-connectors'), await countOf(owner, '/v1/storage-connectors')]).toEqual([1, 2])
  })
})

describe('a role that a limited credential gives', () => {
  it('may do no more than the credential', async () => {
    const { owner, callers } = await organizationWith()
    const limited = await credentialOf(owner, 'admin', { scopes: ['team:write', 'team:read'] })
    const { member_id } = await joined(owner)
    const change = (by: Caller, changes: object) => api(by, 'PATCH', `/v1/team/members/${member_id}`, changes)
    expect((await change(limited, { role: 'admin' })).body.code).toBe('credential.exceeds_maker')
    expect([(await change(limited, { name: 'Otra' })).status, (await change(callers.admin, { role: 'admin' })).status]).toEqual([200, 200])
    expect((await change(limited, { role: 'member' })).status).toBe(200)
  })
})

describe('a credential with addresses', () => {
  it.each([
    ['192.0.2.200', 200],
    ['::ffff:192.0.2.200', 200],
    ['2001:db8:0:1::7', 200],
    ['2001:db8:0:1:ffff::7', 403],
    ['192.0.3.1', 403],
    ['not an address', 403],
    [undefined, 403],
  ])('from %s is %i', async (address, status) => {
    const { owner } = await organizationWith()
    const caller = await credentialOf(owner, 'member', { allowed_addresses: ['192.0.2.0/24', '2001:db8:0:1::/80'] })
    const answer = await ask(caller, address)
    expect([answer.status, answer.body.code]).toEqual([status, status === 200 ? undefined : 'credential.address'])
  })
})

describe('rolling', () => {
  const roll = (by: Caller, whose: Caller, overlap_hours = 24) => api(by, 'POST', `${CREDENTIALS}/${whose.api_key}/roll`, { overlap_hours })

  it('gives another secret, and both are valid until the overlap ends', async () => {
    at('2026-11-18T12:00:00Z')
    const { owner } = await organizationWith()
    const old = await credentialOf(owner, 'admin')
    const { status, body } = await roll(owner, old, 72)
    expect([status, body.api_key, body.overlap_until]).toEqual([200, old.api_key, '2026-11-21T12:00:00.000Z'])
    expect(body.api_secret).not.toBe(old.api_secret)
    const next: Caller = body
    at('2026-11-21T11:59:59.999Z')
    expect([await statusOf(old), await statusOf(next)]).toEqual([200, 200])
    at('2026-11-21T12:00:00Z')
    expect([await statusOf(old), await statusOf(next)]).toEqual([401, 200])
    expect((await ask(old)).body.detail).toContain('was valid until 2026-11-21T12:00:00.000Z')
    expect((await api(owner, 'DELETE', `${CREDENTIALS}/${old.api_key}`)).status).toBe(204)
    expect([await statusOf(old), await statusOf(next)]).toEqual([401, 401])
  })

  it('without an overlap ends the secret at once, and again in the overlap keeps the one in use and its end', async () => {
    at('2026-11-18T12:00:00Z')
    const { owner } = await organizationWith()
    const first = await credentialOf(owner, 'admin')
    const lost: Caller = (await roll(owner, first, 10)).body
    at('2026-11-18T15:00:00Z')
    const { body: again } = await roll(owner, first, 72)
    expect(again.overlap_until).toBe('2026-11-18T22:00:00.000Z')
    expect([await statusOf(first), await statusOf(lost), await statusOf(again)]).toEqual([200, 401, 200])
    const { body: last } = await roll(again, again, 0)
    expect(last.overlap_until).toBe(null)
    expect([await statusOf(first), await statusOf(again), await statusOf(last)]).toEqual([401, 401, 200])
  })

  it.each([-1, 73, 1.5, '24', null])('an overlap of %j is 422', async (overlap_hours) => {
    const { owner } = await organizationWith()
    const { status, body } = await roll(owner, owner, overlap_hours as number)
    expect([status, body.errors[0].path]).toEqual([422, 'overlap_hours'])
  })

  it('is for who may do as much: its secret would give the rest', async () => {
    at('2026-11-18T12:00:00Z')
    const { owner, callers } = await organizationWith()
    const fe = await connect(owner)
    const codeOf = async (by: Caller, whose: Caller) => (await roll(by, whose, 1)).body.code ?? 'rolled'
    const bound = { fiscal_entity_ids: [fe], scopes: ['credentials:write', 'cfdi:read'] }
    expect(await codeOf(callers.admin, owner)).toBe('credential.owner_only')
    const scoped = await credentialOf(owner, 'admin', { scopes: ['credentials:write'] })
    expect(await codeOf(scoped, callers.admin)).toBe('credential.exceeds_maker')
    expect(await codeOf(await credentialOf(owner, 'admin', bound), scoped)).toBe('credential.exceeds_maker')
    expect(await codeOf(await credentialOf(owner, 'admin', { expires_at: '2026-11-19T12:00:00Z' }), callers.admin)).toBe(
      'credential.exceeds_maker',
    )
    const near = await credentialOf(owner, 'admin', { allowed_addresses: ['192.0.2.1'] })
    const answer = await send('POST', `${CREDENTIALS}/${callers.admin.api_key}/roll`, {
      authorization: basic(near),
      headers: { 'content-type': 'application/json', 'cf-connecting-ip': '192.0.2.1' },
      body: '{"overlap_hours":1}',
    })
    expect(answer.body.code).toBe('credential.exceeds_maker')
    expect([await codeOf(scoped, scoped), await codeOf(callers.admin, scoped)]).toEqual(['rolled', 'rolled'])
    expect((await roll(owner, { api_key: 'fds_test_key_0000000000000000000000', api_secret: '' })).body.code).toBe('credential.not_found')
  })

  it('keeps no secret, and one of two at a time wins', async () => {
    const { owner } = await organizationWith()
    const whose = await credentialOf(owner, 'member')
    const rolled = await Promise.all([roll(owner, whose), roll(owner, whose)])
    const made = rolled.filter(({ status }) => status === 200).map(({ body }) => body as Caller)
    expect(rolled.map(({ status }) => status).every((status) => [200, 409].includes(status))).toBe(true)
    // The first of two that both succeeded lost its secret to the second.
    expect((await Promise.all(made.map(statusOf))).filter((status) => status === 200)).toHaveLength(1)
    expect(await statusOf(whose)).toBe(200)
    const { results } = await env.DB.prepare('select * from credentials where api_key = ?').bind(whose.api_key).all()
    for (const { api_secret } of [whose, ...made]) expect(JSON.stringify(results)).not.toContain(api_secret.slice(-20))
  })
})

describe('a session of the console', () => {
  it('ends with the secret that it began with', async () => {
    at('2026-11-18T12:00:00Z')
    const { owner, callers } = await organizationWith()
    const begin = async () =>
      env.DB.prepare('insert into console_sessions (session_id, api_key, until, created_at, email) values (?1, ?2, ?3, 0, null)')
        .bind(crypto.randomUUID(), callers.admin.api_key, Date.parse('2026-11-18T20:00:00Z'))
        .run()
    await begin()
    await api(owner, 'POST', `${CREDENTIALS}/${callers.admin.api_key}/roll`, { overlap_hours: 2 })
    const { results } = await env.DB.prepare('select until from console_sessions where api_key = ?').bind(callers.admin.api_key).all()
    expect(results).toEqual([{ until: Date.parse('2026-11-18T14:00:00Z') }])
  })
})

describe('what a bound credential costs', () => {
  it('is one statement for a request, as of any other', async () => {
    const { owner } = await organizationWith()
    const fe = await connect(owner)
    const bound = await credentialOf(owner, 'admin', { fiscal_entity_ids: [fe], scopes: ['fiscal_entities:read'] })
    const costs = async (caller: Caller, path: string) =>
      (await costOf(env.LEDGER_0, env.FILES, () => send('GET', path, { authorization: basic(caller) }))).cost.d1_calls
    for (const path of ['/v1/fiscal-entities', `/v1/fiscal-entities/${fe}`]) {
      await costs(bound, path)
      expect(await costs(bound, path)).toBe(await costs(owner, path))
    }
  })
})
