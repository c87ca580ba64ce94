import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { limitsOf } from '../../../src/accounts/plans/quotas.ts'
import { MOST_BODY_BYTES } from '../../../src/platform/http/body.ts'
import { created, draft } from '../../connections/extractors/support/extractors.ts'
import { losingMessages } from '../../downloads/support/downloads.ts'
import { api, basic, request } from '../../support/client.ts'
import { at } from '../../support/clock.ts'
import { audited, freshRfc, joined, type Organization, organization } from '../../support/tenants.ts'

vi.spyOn(console, 'log').mockImplementation(() => {})
afterEach(() => {
  vi.useRealTimers()
})

const WEBHOOK = { name: 'ERP', url: 'https://hooks.example.com/in', event_keys: ['cfdi.cancelled'] }
const CONNECTOR = {
  name: 'Respaldo',
  provider: 's3',
  config: { bucket: 'fiscal' },
  credentials: { access_key_id: 'AKID', secret_access_key: 'secreto' },
}
const PARALLEL = 60

const quotasOf = async (of: Organization) => (await of.ask('GET', '/v1/billing/usage', undefined, 'member')).body.quotas
const usedOf = async (of: Organization, quota: string): Promise<number> => (await quotasOf(of))[quota].used

/** Makes things until this many are left to the limit, as rows of the API. */
async function fillTo(of: Organization, quota: string, make: () => Promise<{ status: number }>, left: number): Promise<number> {
  const { used, limit } = (await quotasOf(of))[quota]
  for (let n = used; n < limit - left; n++) expect((await make()).status).toBe(201)
  return limit
}

let mails = 0
const MADE: Record<
  string,
  { path: string; body: () => object; plan: string; limit: number; things: string; code: string; action: string }
> = {
  webhooks: {
    ...{ path: '/v1/webhooks', body: () => WEBHOOK, plan: 'api', limit: 20 },
    ...{ things: 'webhooks', code: 'webhook.plan_limit', action: 'webhook.created' },
  },
  storage_connectors: {
    ...{ path: '/v1/storage-connectors', body: () => CONNECTOR, plan: 'api', limit: 5 },
    ...{ things: 'storage connectors', code: 'storage_connector.plan_limit', action: 'storage_connector.created' },
  },
  drafts: {
    ...{ path: '/v1/fiscal-entities', body: () => ({ rfc: freshRfc() }), plan: 'diagnostic', limit: 25 },
    ...{ things: 'drafts', code: 'fiscal_entity.plan_limit', action: 'fiscal_entity.connected' },
  },
  credentials: {
    ...{ path: '/v1/credentials', body: () => ({ name: 'CI', role: 'member' }), plan: 'diagnostic', limit: 20 },
    ...{ things: 'credentials', code: 'credential.plan_limit', action: 'credential.created' },
  },
  invitations: {
    path: '/v1/team/members/invite',
    body: () => ({ email: `quota${++mails}@example.com`, role: 'member' }),
    ...{ plan: 'diagnostic', limit: 25, things: 'pending invitations', code: 'invitation.plan_limit', action: 'invitation.created' },
  },
}

describe('the last place of a quota', () => {
  it.each(Object.entries(MADE))('of %s goes to exactly one of sixty requests that come together', async (quota, made) => {
    const of = await organization(made.plan)
    expect(await fillTo(of, quota, () => of.ask('POST', made.path, made.body()), 1)).toBe(made.limit)
    const before = (await audited(of, made.action)).length
    const replies = await Promise.all(Array.from({ length: PARALLEL }, () => of.ask('POST', made.path, made.body())))
    const by = Object.groupBy(replies, ({ status }) => String(status))
    expect([by['201']?.length, by['409']?.length]).toEqual([1, PARALLEL - 1])
    for (const { body } of by['409']!) {
      expect(body.code).toBe(made.code)
      expect(body.detail).toMatch(new RegExp(`allows ${made.limit} ${made.things} and ${made.limit} exist\\.`))
    }
    expect((await quotasOf(of))[quota]).toEqual({ used: made.limit, limit: made.limit, unit: 'items', resets_at: null })
    // What was refused left no trace.
    expect((await audited(of, made.action)).length).toBe(before + 1)
  })
})

describe('storage connectors', () => {
  it('count while they are paused, and not once they are deleted; each plan has its number', async () => {
    const [of, other] = [await organization('diagnostic'), await organization('starter')]
    const { body } = await of.ask('POST', '/v1/storage-connectors', CONNECTOR)
    await of.ask('PATCH', `/v1/storage-connectors/${body.connector_id}`, { connector_status: 'paused' })
    expect((await of.ask('POST', '/v1/storage-connectors', CONNECTOR)).status).toBe(409)
    await of.ask('DELETE', `/v1/storage-connectors/${body.connector_id}`)
    expect(await usedOf(of, 'storage_connectors')).toBe(0)
    expect((await of.ask('POST', '/v1/storage-connectors', CONNECTOR)).status).toBe(201)
    expect((await quotasOf(other))['storage_connectors']).toEqual({ used: 0, limit: 2, unit: 'items', resets_at: null })
    expect(['api', 'enterprise_gold'].map((plan) => limitsOf(plan, '2027-01-01').storage_connectors)).toEqual([5, 20])
  })
})

describe('webhooks', () => {
  it('leave their place when they are deleted, disabled ones count, and others’ do not', async () => {
    const [of, other] = [await organization(), await organization()]
    await fillTo(of, 'webhooks', () => of.ask('POST', '/v1/webhooks', WEBHOOK), 0)
    expect((await other.ask('POST', '/v1/webhooks', WEBHOOK)).status).toBe(201)
    const { webhook_id } = (await of.ask('GET', '/v1/webhooks')).body.data[0]
    await of.ask('PATCH', `/v1/webhooks/${webhook_id}`, { is_enabled: false })
    expect((await of.ask('POST', '/v1/webhooks', WEBHOOK)).status).toBe(409)
    await of.ask('DELETE', `/v1/webhooks/${webhook_id}`)
    expect(await usedOf(of, 'webhooks')).toBe(19)
    expect((await of.ask('POST', '/v1/webhooks', WEBHOOK)).status).toBe(201)
    expect(await usedOf(other, 'webhooks')).toBe(1)
  })

  it('that were refused under an Idempotency-Key can be made with it once there is room', async () => {
    const of = await organization()
    await fillTo(of, 'webhooks', () => of.ask('POST', '/v1/webhooks', WEBHOOK), 0)
    const send = () =>
      request('POST', '/v1/webhooks', {
        headers: { authorization: basic(of.owner), 'content-type': 'application/json', 'idempotency-key': 'one' },
        body: JSON.stringify(WEBHOOK),
      })
    expect((await send()).status).toBe(409)
    await of.ask('DELETE', `/v1/webhooks/${(await of.ask('GET', '/v1/webhooks')).body.data[0].webhook_id}`)
    expect((await send()).status).toBe(201)
    expect(await usedOf(of, 'webhooks')).toBe(20)
  })
})

describe('drafts', () => {
  it('count while they are paused, and not once they are unlinked or active', async () => {
    losingMessages()
    const of = await organization('diagnostic')
    const connect = (rfc = freshRfc(), more = {}) => of.ask('POST', '/v1/fiscal-entities', { rfc, ...more })
    const first = freshRfc()
    const { fiscal_entity_id } = (await connect(first)).body
    await fillTo(of, 'drafts', () => connect(), 0)
    await of.ask('PATCH', `/v1/billing/rfcs/${fiscal_entity_id}`, { active: false })
    expect(await usedOf(of, 'drafts')).toBe(25)
    expect((await connect()).body.code).toBe('fiscal_entity.plan_limit')
    await of.ask('PATCH', `/v1/billing/rfcs/${fiscal_entity_id}`, { active: true })
    // The RFC that is known is told first.
    expect((await connect(first)).body.code).toBe('fiscal_entity.already_linked')
    expect((await of.ask('PATCH', `/v1/fiscal-entities/${fiscal_entity_id}`, { ciec: 'empty1' })).status).toBe(200)
    expect(await usedOf(of, 'drafts')).toBe(24)
    const { fiscal_entity_id: second } = (await connect()).body
    expect((await connect()).status).toBe(409)
    await of.ask('DELETE', `/v1/fiscal-entities/${second}`)
    expect(await usedOf(of, 'drafts')).toBe(24)
    vi.restoreAllMocks()
  })

  it('take a place again when an unlinked RFC comes back as one, and an RFC with a CIEC takes none', async () => {
    losingMessages()
    const of = await organization('diagnostic')
    const rfc = freshRfc()
    const { fiscal_entity_id } = (await of.ask('POST', '/v1/fiscal-entities', { rfc })).body
    await of.ask('DELETE', `/v1/fiscal-entities/${fiscal_entity_id}`)
    await fillTo(of, 'drafts', () => of.ask('POST', '/v1/fiscal-entities', { rfc: freshRfc() }), 0)
    expect((await of.ask('POST', '/v1/fiscal-entities', { rfc })).body.code).toBe('fiscal_entity.plan_limit')
    expect((await of.ask('POST', '/v1/fiscal-entities', { rfc, ciec: 'empty1' })).body).toMatchObject({
      fiscal_entity_id,
      status: 'active',
    })
    vi.restoreAllMocks()
  })

  it('are 10,000 in every plan but the trial', async () => {
    for (const plan of ['starter', 'api', 'enterprise_bronze', 'enterprise_silver', 'enterprise_gold'])
      expect(limitsOf(plan, '2026-11-22').drafts).toBe(10_000)
    expect(limitsOf('diagnostic', '2026-11-22').drafts).toBe(25)
  })
})

describe('credentials and invitations', () => {
  it('an accepted invitation takes a credential’s place, and waits while there is none', async () => {
    const of = await organization('diagnostic')
    const { token } = (await of.ask('POST', '/v1/team/members/invite', { email: 'late@example.com', role: 'member' })).body
    await fillTo(of, 'credentials', () => of.ask('POST', '/v1/credentials', { name: 'CI', role: 'member' }), 0)
    const accept = () =>
      request('POST', '/v1/auth/invitations/accept', {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ token, name: 'Bea' }),
      })
    expect(await accept()).toMatchObject({ status: 409, body: { code: 'credential.plan_limit' } })
    expect(await usedOf(of, 'invitations')).toBe(1)
    const last = (await of.ask('GET', '/v1/credentials?limit=100')).body.data.findLast(({ name }: { name: string }) => name === 'CI')
    await of.ask('DELETE', `/v1/credentials/${last.api_key}`)
    expect((await accept()).status).toBe(201)
    expect([await usedOf(of, 'credentials'), await usedOf(of, 'invitations')]).toEqual([20, 0])
  })

  it('an invitation replaces one of the same address at the limit, and those that expired leave their places', async () => {
    at('2026-11-18T18:00:00Z')
    const of = await organization('diagnostic')
    const invite = (email = `quota${++mails}@example.com`) => of.ask('POST', '/v1/team/members/invite', { email, role: 'member' })
    await invite('again@example.com')
    await fillTo(of, 'invitations', invite, 0)
    expect((await invite()).status).toBe(409)
    expect((await invite('again@example.com')).status).toBe(201)
    expect(await usedOf(of, 'invitations')).toBe(25)
    at('2026-11-25T18:00:01Z')
    expect(await usedOf(of, 'invitations')).toBe(0)
    await fillTo(of, 'invitations', invite, 0)
    expect((await invite()).status).toBe(409)
    // What has expired is not read over and over.
    const pending = "select count(*) as n from invitations where organization_id = ? and status = 'pending'"
    expect(await env.DB.prepare(pending).bind(of.id).first('n')).toBe(25)
  })

  it('a member that joins counts as one credential', async () => {
    const of = await organization()
    const before = await usedOf(of, 'credentials')
    await joined(of.owner)
    expect(await usedOf(of, 'credentials')).toBe(before + 1)
  })
})

it('usage names every quota of the plan, to members too, and the day on which a daily one begins anew', async () => {
  at('2027-04-01T05:59:59Z')
  const of = await organization('starter')
  await created(of, draft)
  const item = (used: number, limit: number | null) => ({ used, limit, unit: 'items', resets_at: null })
  const { body } = await of.ask('GET', '/v1/billing/usage', undefined, 'member')
  expect(body.rule_ref).toBe('limits/2026-01-01')
  expect(body.quotas).toEqual({
    extractors: item(1, 2),
    webhooks: item(0, 20),
    storage_connectors: item(0, 2),
    exports: item(0, 20),
    blacklists: item(0, 5),
    blacklist_entries: item(0, 20_000),
    drafts: item(0, 10_000),
    credentials: item(2, 100),
    invitations: item(0, 50),
    import_bytes_per_day: { used: 0, limit: 2 * 1024 ** 3, unit: 'bytes', resets_at: '2027-04-01T06:00:00.000Z' },
    import_bytes: { used: 0, limit: 10 * 1024 ** 3, unit: 'bytes', resets_at: null },
    import_documents_per_day: { used: 0, limit: 500_000, unit: 'documents', resets_at: '2027-04-01T06:00:00.000Z' },
    import_documents: { used: 0, limit: 1_000_000, unit: 'documents', resets_at: null },
  })
  await of.ask('POST', '/v1/test-helpers/organization', { plan: 'enterprise_gold' })
  expect((await api(of.owner, 'GET', '/v1/billing/usage')).body.quotas.extractors).toEqual(item(1, null))
})

it('allow every plan five of the largest uploads a day', () => {
  for (const plan of ['diagnostic', 'starter', 'api', 'enterprise_bronze', 'enterprise_silver', 'enterprise_gold'])
    expect(limitsOf(plan, '2026-11-01').import_bytes_per_day).toBeGreaterThanOrEqual(5 * MOST_BODY_BYTES)
})
