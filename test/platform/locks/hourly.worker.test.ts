import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { HOURLY } from '../../../src/platform/locks/hourly.ts'
import { api, basic } from '../../support/client.ts'
import { at } from '../../support/clock.ts'
import { silenceQueues } from '../../support/queues.ts'
import { connect, signUp } from '../../support/tenants.ts'
import { json, send } from '../../support/wire.ts'
import { credentialOf } from '../../support/world.ts'

vi.spyOn(console, 'log').mockImplementation(() => {})
silenceQueues()
afterEach(() => void vi.useRealTimers())

const HOUR_MS = 3_600_000

/** Uses up what an organization may ask for in an hour but for the last `left`. */
async function use(organization_id: string, what: keyof typeof HOURLY, left: number) {
  const cooldown = env.COOLDOWNS.getByName(`hourly:${what}:${organization_id}`)
  for (let n = left; n < HOURLY[what].most; n++) expect((await cooldown.acquire(3_600, Date.now(), HOURLY[what].most)).acquired).toBe(true)
}

describe('a cooldown for several actions', () => {
  it('admits exactly so many in a time that begins with the first, however they come, and then so many again', async () => {
    const cooldown = env.COOLDOWNS.getByName('several')
    const now = Date.parse('2026-11-29T12:00:00Z')
    const all = await Promise.all(Array.from({ length: 20 }, () => cooldown.acquire(3_600, now, 7)))
    expect(all.filter(({ acquired }) => acquired)).toHaveLength(7)
    expect(await cooldown.acquire(3_600, now + 1_000, 7)).toEqual({ acquired: false, retry_after_seconds: 3_599 })
    expect(await cooldown.acquire(3_600, now + HOUR_MS - 1, 7)).toEqual({ acquired: false, retry_after_seconds: 1 })
    const later = await Promise.all(Array.from({ length: 20 }, () => cooldown.acquire(3_600, now + HOUR_MS, 7)))
    expect(later.filter(({ acquired }) => acquired)).toHaveLength(7)
  })
})

describe('what stays', () => {
  it('of changes in an hour there are so many audit events and keys: then nothing is left behind, and what was done is still answered', async () => {
    at('2026-11-29T12:00:00Z')
    const owner = await signUp()
    const webhook = (n: number) => ({ name: `a${n}`, url: `https://hooks.example.com/${n}`, event_keys: ['sync.completed'] })
    const ask = (method: string, path: string, body: object, key?: string) => {
      const sent = json(body)
      return send(method, path, {
        ...sent,
        headers: { ...sent.headers, ...(key && { 'idempotency-key': key }) },
        authorization: basic(owner),
      })
    }
    const left = async () => [
      await env.DB.prepare('select count(*) from idempotency_keys where organization_id = ?').bind(owner.organization_id).first('count(*)'),
      (await api(owner, 'GET', '/v1/audit-events?limit=100')).body.data.length,
    ]
    const before = await left()
    await use(owner.organization_id, 'changes', 3)
    const first = await ask('POST', '/v1/webhooks', webhook(1), 'first')
    const path = `/v1/webhooks/${first.body.webhook_id}`
    expect([first.status, (await ask('PATCH', path, { name: 'b' })).status]).toEqual([201, 200])
    // A refusal keeps a row of its key.
    const { fiscal_entity_id } = await connect(await signUp())
    expect((await ask('POST', '/v1/exports', { fiscal_entity_id, kind: 'cfdi', format: 'csv' }, 'refused')).status).toBe(404)
    const full = await left()
    expect(full).toEqual([Number(before[0]) + 2, Number(before[1]) + 2])
    for (const [method, where, body, key] of [
      ['POST', '/v1/webhooks', webhook(3), 'later'],
      ['POST', '/v1/webhooks', webhook(4)],
      ['PATCH', path, { name: 'c' }],
    ] as const) {
      const refused = await ask(method, where, body, key)
      expect([refused.status, refused.body.code, refused.headers.get('ratelimit')]).toEqual([
        ...[429, 'organization.hourly_limit', '"changes";r=0;t=3600'],
      ])
    }
    expect(await left()).toEqual(full)
    const again = await ask('POST', '/v1/webhooks', webhook(1), 'first')
    expect([again.status, again.headers.get('idempotency-replayed'), again.body]).toEqual([201, 'true', first.body])
    at('2026-11-29T13:00:00Z')
    expect((await ask('POST', '/v1/webhooks', webhook(3), 'later')).status).toBe(201)
  })
})

describe('what is expensive', () => {
  it('is counted for all credentials of an organization together, and told in the refusal; nothing is made beyond', async () => {
    at('2026-11-29T12:00:00Z')
    const [owner, stranger] = [await signUp(), await signUp()]
    const member = await credentialOf(owner, 'admin')
    const { fiscal_entity_id } = await connect(owner)
    const draft = { fiscal_entity_id, kind: 'cfdi', format: 'csv' }
    const ask = (caller: { api_key: string; api_secret: string }, body: object = draft, headers: Record<string, string> = {}) => {
      const sent = json(body)
      return send('POST', '/v1/exports', { ...sent, headers: { ...sent.headers, ...headers }, authorization: basic(caller) })
    }
    await use(owner.organization_id, 'exports', 2)
    const first = await ask(owner, draft, { 'idempotency-key': 'first' })
    expect([first.status, (await ask(member)).status]).toEqual([202, 202])
    at('2026-11-29T12:10:00Z')
    const refused = await ask(member)
    expect([refused.status, refused.body.code, refused.body.detail.retry_after_seconds]).toEqual([429, 'organization.hourly_limit', 3_000])
    expect(refused.body.detail.message).toBe('The organization may ask for 1000 exports in an hour, and has done so. Try again in 3000 s.')
    expect([refused.headers.get('retry-after'), refused.headers.get('ratelimit')]).toEqual(['3000', '"exports";r=0;t=3000'])
    expect(refused.headers.get('ratelimit-policy')).toContain('"exports";q=1000;w=3600')
    expect((await api(owner, 'GET', '/v1/exports')).body.data).toHaveLength(2)
    // A repetition asks for nothing new; what is refused anyway does not count, and what was refused for this can be sent again.
    const again = await ask(owner, draft, { 'idempotency-key': 'first' })
    expect([again.status, again.headers.get('idempotency-replayed'), again.body]).toEqual([202, 'true', first.body])
    expect((await ask(owner, draft, { 'idempotency-key': 'later' })).status).toBe(429)
    const other = await connect(stranger)
    expect((await ask(stranger, { ...draft, fiscal_entity_id: other.fiscal_entity_id })).status).toBe(202)
    at('2026-11-29T13:00:00Z')
    expect((await ask(owner, draft, { 'idempotency-key': 'later' })).status).toBe(202)
  })

  it('is refused at each place where it is asked for', async () => {
    const owner = await signUp()
    const { fiscal_entity_id, rfc } = await connect(owner)
    const webhook = (
      await api(owner, 'POST', '/v1/webhooks', { name: 'a', url: 'https://hooks.example.com/a', event_keys: ['sync.completed'] })
    ).body
    const extractor = (await api(owner, 'GET', '/v1/extractors')).body[0]
    const used: string[] = []
    const getByName = (name: string) => {
      if (!name.startsWith('hourly:')) return env.COOLDOWNS.getByName(name)
      used.push(name.split(':')[1]!)
      return { acquire: async () => ({ acquired: false, retry_after_seconds: 1_234 }) }
    }
    const bindings = { ...env, COOLDOWNS: { getByName } } as unknown as Env
    const ask = (method: string, path: string, body: unknown) =>
      send(method, path, { ...json(body), authorization: basic(owner), env: bindings })
    const zip = new Uint8Array([0x50, 0x4b, 0x05, 0x06, ...Array(18).fill(0)])
    const asked: [string, string, unknown][] = [
      ['PATCH', `/v1/fiscal-entities/${fiscal_entity_id}`, { ciec: 'secreta2' }],
      ['POST', `/v1/extractors/${extractor.extractor_id}/run`, {}],
      ['POST', `/v1/fiscal-entities/${fiscal_entity_id}/extractions`, { data_source_keys: ['sat_cfdi_issued'], from: '2026-01-01' }],
      ['POST', `/v1/fiscal-entities/${fiscal_entity_id}/repse/refresh`, {}],
      ['POST', `/v1/webhooks/${webhook.webhook_id}/test`, {}],
      ['POST', `/v1/webhooks/${webhook.webhook_id}/deliveries/redeliver`, { since: '2026-01-01T00:00:00Z' }],
    ]
    for (const [method, path, body] of asked) {
      const answer = await ask(method, path, body)
      expect([path, answer.status, answer.body.code]).toEqual([path, 429, 'organization.hourly_limit'])
    }
    const upload = { headers: { 'content-type': 'application/zip' }, body: zip, authorization: basic(owner), env: bindings }
    expect((await send('POST', `/v1/fiscal-entities/${fiscal_entity_id}/cfdi/imports`, upload)).body.code).toBe('organization.hourly_limit')
    await env.DB.prepare("update organizations set plan = 'api' where id = ?").bind(owner.organization_id).run()
    const batch = await ask('POST', '/v1/fiscal-entities/batch', { fiscal_entities: [{ rfc: 'EKU9003173C9', ciec: 'secreta1' }] })
    expect([rfc === 'EKU9003173C9', batch.body.data[0].result, batch.body.data[0].refusal.code]).toEqual([
      ...[false, 'refused', 'organization.hourly_limit'],
    ])
    const each = ['logins', 'runs', 'runs', 'repse_refreshes', 'deliveries', 'deliveries', 'imports', 'logins']
    expect(used).toEqual(each)
  })
})
