import { createExecutionContext } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { fetcherClient, Refused } from '../../../scripts/fetcher/client.ts'
import { fetchOnce } from '../../../scripts/fetcher/portal.ts'
import { app } from '../../../src/app/app.ts'
import { later, losingMessages } from '../../downloads/support/downloads.ts'
import { audited, freshRfc, organization } from '../../support/tenants.ts'
import { askOf, FETCHER_KEY, withFetcher } from './support/deployment.ts'
import { listed } from './support/documents.ts'

const PATH = '/v1/fiscal-entities'
const client = fetcherClient('https://api.test', `1:${FETCHER_KEY.toBase64()}`, async (request) =>
  app.fetch(request, withFetcher, createExecutionContext()),
)

beforeEach(async () => {
  later(0)
  losingMessages()
  vi.spyOn(console, 'error').mockImplementation(() => {})
  await env.DB.prepare('update connections set ciec_verify_at = null where ciec_verify_at is not null').run()
})

async function draft(ciec = 'deAna1', rfc = freshRfc(), plan = 'enterprise_gold') {
  const of = await organization(plan)
  const ask = (method: string, path: string, json?: unknown) => askOf(withFetcher, of.owner, method, path, json)
  const made = await ask('POST', PATH, { rfc, ciec })
  expect([made.status, made.body.status, made.body.warnings.map(({ code }: { code: string }) => code)]).toEqual([
    201,
    'draft',
    ['ciec.not_verified'],
  ])
  const path = `${PATH}/${made.body.fiscal_entity_id}`
  return {
    ...of,
    rfc,
    path,
    ask,
    entity: async () => (await ask('GET', path)).body,
    give: (value: string | null) => ask('PATCH', path, { ciec: value }),
  }
}
const code = (asked: Promise<unknown>) =>
  asked.then(
    () => null,
    (error: unknown) => (error instanceof Refused ? error.code : error),
  )

describe('a CIEC in a deployment with a fetcher', () => {
  it('waits for its first login by the fetcher, and then activates its connection', async () => {
    const one = await draft()
    expect(await fetchOnce(client)).toBe(true)
    expect(await one.entity()).toMatchObject({ status: 'active', ciec_set: true, warnings: [] })
    expect((await audited(one, 'fiscal_entity.updated')).map(({ changed }) => changed)).toEqual([['status']])
    expect(await client.lease()).toBeNull()
  })

  it('is erased when the portal refuses it at its first login: the draft stays one, and an alert tells', async () => {
    const one = await draft('rejected1')
    expect(await fetchOnce(client)).toBe(true)
    expect(await one.entity()).toMatchObject({ status: 'draft', ciec_set: false, warnings: [] })
    expect((await one.ask('GET', '/v1/alerts')).body.data.map(({ kind }: { kind: string }) => kind)).toEqual(['connection.login_refused'])
    expect(await client.lease()).toBeNull()
  })

  it('is no other task: it is completed with nothing, and a lease that never was, or has run out, is lost', async () => {
    const one = await draft()
    const lease = (await client.lease())!
    for (const other of [{ xml: 1 }, { is_whole: false }, { documents: [listed(one.rfc, 0, 'a'.repeat(64))] }])
      expect(await code(client.complete(lease, other))).toBe('fetcher.task')
    expect(await one.entity()).toMatchObject({ status: 'draft' })
    expect(await client.renew(lease)).toBe(lease.until)
    const [, connection] = lease.lease_id.split('-')
    for (const lease_id of ['login-1-1-1', `login-${connection}-1-${Date.parse(lease.until) + 1}`])
      expect(await code(client.renew({ ...lease, lease_id }))).toBe('fetcher.lease_lost')
    later(600)
    expect(await code(client.renew(lease))).toBe('fetcher.lease_lost')
  })

  it('is asked about again later when the portal says nothing, and by one fetcher at a time', async () => {
    await draft()
    const lease = (await client.lease())!
    expect(lease).toMatchObject({ task: 'login', ciec: 'deAna1', source: null, month: null })
    expect(await client.lease()).toBeNull()
    await client.fail(lease, 'sat_unavailable')
    later(59)
    expect(await client.lease()).toBeNull()
    later(61)
    const again = (await client.lease())!
    expect(await code(client.complete(lease, { metadata: 0, xml: 0 }))).toBe('fetcher.lease_lost')
    later(700)
    expect((await client.lease())?.lease_id).not.toBe(again.lease_id)
  })

  it('says nothing about another CIEC that was given meanwhile, nor about one that was withdrawn', async () => {
    const one = await draft()
    const lease = (await client.lease())!
    later(1)
    await one.give('deAna2')
    expect(await code(client.complete(lease, { metadata: 0, xml: 0 }))).toBe('fetcher.lease_lost')
    const next = (await client.lease())!
    expect([next.ciec, (await one.entity()).status]).toEqual(['deAna2', 'draft'])
    await one.give(null)
    expect(await code(client.fail(next, 'login_rejected'))).toBe('fetcher.lease_lost')
    expect(await one.entity()).toMatchObject({ status: 'draft', ciec_set: false })
  })

  it('cannot be guessed: three for an RFC within 15 minutes, and then none', async () => {
    const one = await draft()
    expect([(await one.give('deAna2')).status, (await one.give('deAna3')).status]).toEqual([200, 200])
    expect(await one.give('deAna4')).toMatchObject({ status: 429, body: { code: 'fiscal_entity.ciec_attempts' } })
  })

  it('has every other one of the RFC verified when it is accepted, each once', async () => {
    const rfc = freshRfc()
    const ana = await draft('deAna1', rfc)
    while (await fetchOnce(client));
    const beto = await draft('deBeto1', rfc)
    await client.complete((await client.lease())!, { metadata: 0, xml: 0 })
    const asked = (await client.lease())!
    expect(asked.ciec).toBe('deAna1')
    await client.fail(asked, 'login_rejected')
    expect([(await ana.entity()).status, (await beto.entity()).status]).toEqual(['invalid_ciec', 'active'])
    // A refusal has the others verified, and an acceptance of what was accepted before nobody.
    await client.complete((await client.lease())!, { metadata: 0, xml: 0 })
    expect(await client.lease()).toBeNull()
  })
})
