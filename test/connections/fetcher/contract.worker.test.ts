import { createExecutionContext, createMessageBatch } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { fetcherClient, type Leased, Refused } from '../../../scripts/fetcher/client.ts'
import { fetchOnce } from '../../../scripts/fetcher/portal.ts'
import { app } from '../../../src/app/app.ts'
import { consume } from '../../../src/app/work.ts'
import { bookOf, callOf, cfdiOf, jobsOf, later, ledgerOf, losingMessages, subscriber } from '../../downloads/support/downloads.ts'
import { freshRfc } from '../../support/tenants.ts'
import { zipOf } from '../../support/zip.ts'
import { FETCHER_KEY, onlyMonths, withFetcher } from './support/deployment.ts'

const send = async (request: Request): Promise<Response> => app.fetch(request, withFetcher, createExecutionContext())
const client = fetcherClient('https://api.test', `1:${FETCHER_KEY.toBase64()}`, send)

beforeEach(async () => {
  later(0)
  losingMessages()
  await env.LEDGER_0.prepare('delete from fetches').run()
  for (const key of await uploads()) await env.FILES.delete(key)
})

/** What the fetcher uploaded and the bucket has. */
const uploads = async (): Promise<string[]> => (await env.FILES.list({ prefix: 'fetcher/' })).objects.map(({ key }) => key)

/** Delivers a message to the consumer of the deployment. */
async function deliver(body: unknown, purpose = 'downloads'): Promise<void> {
  await consume(createMessageBatch(`fiscal-local-${purpose}`, [{ id: 'm', timestamp: new Date(), attempts: 1, body }]), withFetcher)
}
const drain = async (rfc: string) => deliver(await callOf(rfc))
const sweep = () => deliver({ task: 'sweepFetches', at: Date.now(), cursor: '' }, 'tasks')

/** An organization with an accepted CIEC whose run asked for two jobs, which wait for the fetcher. */
async function waiting(ciec = 'deAna1', rfc = freshRfc()) {
  const one = await subscriber(rfc, cfdiOf(1, { data_source_keys: ['sat_cfdi_issued'] }), ciec)
  await one.run()
  await onlyMonths(rfc)
  await drain(rfc)
  return { ...one, rfc }
}
const states = async (rfc: string) => (await jobsOf(rfc)).filter(({ month }) => month !== '').map(({ status }) => status)
const fetchesOf = async (rfc: string) => (await bookOf(rfc, ['fetches']))['fetches'] as Record<string, unknown>[]
const refusal = (asked: Promise<unknown>) =>
  asked.then(
    () => null,
    (error: unknown) => (error instanceof Refused ? [error.status, error.code] : error),
  )

describe('a month whose login is a CIEC', () => {
  it('waits, is leased with the CIEC, and runs with the packages that the reference fetcher uploads', async () => {
    const { rfc, jobs } = await waiting()
    expect(new Set(await states(rfc))).toEqual(new Set(['queued']))
    while (await fetchOnce(client)) await drain(rfc)
    expect(new Set(await states(rfc))).toEqual(new Set(['succeeded']))
    expect((await jobs()).filter(({ period }) => period !== null).every(({ created_count }) => created_count > 0)).toBe(true)
    const rows = (await bookOf(rfc, ['cfdi']))['cfdi'] as { xml_crc: number | null }[]
    expect(rows.length).toBeGreaterThan(10)
    expect(rows.every(({ xml_crc }) => xml_crc !== null)).toBe(true)
    // What was brought is forgotten with the job.
    await sweep()
    expect(await fetchesOf(rfc)).toEqual([])
    expect(await uploads()).toEqual([])
  })

  it('is leased once at a time for an RFC, and offered again when the lease has run out', async () => {
    const { rfc } = await waiting()
    const first = (await client.lease())!
    expect(first).toMatchObject({ task: 'month', rfc, ciec: 'deAna1', source: 'sat_cfdi_issued' })
    expect(await client.lease()).toBeNull()
    later(599)
    await client.renew(first)
    later(601)
    expect(await client.lease()).toBeNull()
    later(1_200)
    const second = (await client.lease())!
    expect([second.month?.length, second.lease_id === first.lease_id]).toEqual([7, false])
    const zip = zipOf([])
    const late =
      second.month === first.month ? [client.renew(first), client.upload(first, 'xml', 0, zip), client.complete(first, NONE)] : []
    expect(await Promise.all(late.map(refusal))).toEqual(late.map(() => [409, 'fetcher.lease_lost']))
  })

  it('survives a fetcher that repeats everything: a package counts once, and completing twice is completing', async () => {
    const { rfc } = await waiting('empty1')
    const lease = (await client.lease())!
    const zip = zipOf([])
    for (let n = 0; n < 3; n++) await client.upload(lease, 'metadata', 0, zip)
    expect(await uploads()).toHaveLength(1)
    expect(await refusal(client.complete(lease, { metadata: 2, xml: 0 }))).toEqual([409, 'fetcher.incomplete'])
    await client.complete(lease, { metadata: 1, xml: 0 })
    await client.complete(lease, { metadata: 1, xml: 0 })
    expect((await fetchesOf(rfc)).filter(({ state }) => state === 'complete')).toHaveLength(1)
    expect(await refusal(client.upload(lease, 'xml', 0, zip))).toEqual([409, 'fetcher.lease_lost'])
  })

  it('is woken by the sweep when its job fell asleep while the fetcher was done', async () => {
    const { rfc } = await waiting('empty1')
    const lease = (await client.lease())!
    await client.complete(lease, NONE)
    const ledger = await ledgerOf(rfc)
    await ledger
      .prepare('update sync_jobs set not_before = ? where month = ? and open = 1')
      .bind(Date.now() + 86_400_000, lease.month)
      .run()
    await sweep()
    await drain(rfc)
    expect((await jobsOf(rfc)).find(({ month }) => month === lease.month)).toMatchObject({ status: 'succeeded' })
  })

  it('ends its connection when the portal refuses the CIEC, which nobody tries again', async () => {
    const one = await waiting()
    const lease = (await client.lease())!
    await client.fail(lease, 'login_rejected')
    expect((await one.entity()).status).toBe('invalid_ciec')
    expect(await client.lease()).toBeNull()
    // A repetition comes too late to change anything.
    expect(await refusal(client.fail(lease, 'login_rejected'))).toEqual([409, 'fetcher.lease_lost'])
    await drain(one.rfc)
    expect(await client.lease()).toBeNull()
  })

  it('does not end it when another CIEC was accepted since: the job is offered again with that one', async () => {
    const one = await waiting()
    const lease = (await client.lease())!
    expect((await one.give('deAna2')).status).toBe(200)
    await client.fail(lease, 'login_rejected')
    expect((await one.entity()).status).toBe('active')
    await drain(one.rfc)
    expect(await client.lease()).toMatchObject({ ciec: 'deAna2' })
  })

  it.each(['sat_unavailable', 'rate_limited', 'account_locked'])(
    'is offered again after a wait when the fetcher says %s',
    async (error_class) => {
      const { rfc } = await waiting()
      const lease = (await client.lease())!
      await client.fail(lease, error_class)
      await drain(rfc)
      expect(await fetchesOf(rfc)).not.toContainEqual(expect.objectContaining({ month: lease.month }))
      later(60)
      await drain(rfc)
      expect(await fetchesOf(rfc)).toContainEqual(expect.objectContaining({ month: lease.month, state: 'offered' }))
    },
  )

  it('fails when the portal will never deliver it', async () => {
    const { rfc } = await waiting()
    const lease = (await client.lease())!
    await client.fail(lease, 'not_delivered')
    await drain(rfc)
    expect((await jobsOf(rfc)).find(({ month }) => month === lease.month)).toMatchObject({
      status: 'failed',
      error_class: 'sat_unavailable',
    })
  })
})

const NONE = { metadata: 0, xml: 0 }

describe('a request of the fetcher', () => {
  const signed = async (change: (headers: Headers) => void, body?: string) => {
    let seen: Request | undefined
    const spy = fetcherClient('https://api.test', `1:${FETCHER_KEY.toBase64()}`, async (request) => {
      seen = request
      return new Response('{"lease":null}')
    })
    await spy.lease()
    const headers = new Headers(seen!.headers)
    change(headers)
    const answer = await send(new Request(seen!.url, { method: 'POST', headers, body: body ?? (await seen!.text()) }))
    return [answer.status, ((await answer.json()) as { code?: string }).code]
  }

  it('is refused without a right signature, with an old or future one, and with another body', async () => {
    const refused = [401, 'fetcher.signature']
    expect(await signed(() => {})).toEqual([200, undefined])
    expect(await signed((headers) => headers.delete('fetcher-signature'))).toEqual(refused)
    expect(await signed((headers) => headers.set('fetcher-signature', `1:${btoa('x'.repeat(32))}`))).toEqual(refused)
    expect(await signed((headers) => headers.set('fetcher-digest', '0'.repeat(64)))).toEqual(refused)
    expect(await signed(() => later(301))).toEqual(refused)
    later(0)
    expect(await signed(() => later(-301))).toEqual(refused)
    later(0)
    expect(await signed(() => {}, '{ }')).toEqual([400, 'fetcher.digest'])
  })

  it.each<[string, number, string, string]>([
    ['that is no JSON', 400, '{', 'application/json'],
    ['of another content type', 415, '{}', 'text/plain'],
    ['with a member that nobody knows', 422, '{"surprise":1}', 'application/json'],
    ['over 1 MiB', 413, `{"a":"${'x'.repeat(1024 * 1024)}"}`, 'application/json'],
  ])('with a signed body %s is refused with %i', async (_, status, text, type) => {
    const sending = fetcherClient('https://api.test', `1:${FETCHER_KEY.toBase64()}`, send)
    expect(await refusal(sending.ask('POST', '/fetcher/v1/leases', new TextEncoder().encode(text), type))).toContain(status)
  })

  it('with another body leaves no object, and one where there is no fetcher meets no path', async () => {
    await waiting('empty1')
    const lease = (await client.lease())!
    const altering = fetcherClient('https://api.test', `1:${FETCHER_KEY.toBase64()}`, (request) =>
      send(new Request(request.url, { method: request.method, headers: request.headers, body: 'other' })),
    )
    expect(await refusal(altering.upload(lease, 'xml', 0, new Uint8Array([1, 2])))).toEqual([400, 'fetcher.digest'])
    expect(await uploads()).toEqual([])
    const nobody = { ...withFetcher, FETCHER_KEYS: '' } as unknown as Env
    const asking = fetcherClient('https://api.test', `1:${FETCHER_KEY.toBase64()}`, async (request) =>
      app.fetch(request, nobody, createExecutionContext()),
    )
    expect(await refusal(asking.lease())).toEqual([404, 'request.unknown_path'])
  })

  it('writes no CIEC into a log', async () => {
    const [log, error] = [vi.spyOn(console, 'log'), vi.spyOn(console, 'error').mockImplementation(() => {})]
    await waiting('deCanario1')
    const lease: Leased = (await client.lease())!
    expect(lease.ciec).toBe('deCanario1')
    await client.fail(lease, 'sat_unavailable')
    expect(JSON.stringify([log.mock.calls, error.mock.calls])).not.toContain('Canario')
    expect(JSON.stringify(await bookOf(lease.rfc, ['fetches']))).not.toContain('Canario')
  })
})
