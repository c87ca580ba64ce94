import { createExecutionContext } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Completion, Leased } from '../../../scripts/fetcher/client.ts'
import { fetchOnce } from '../../../scripts/fetcher/portal.ts'
import { app } from '../../../src/app/app.ts'
import { bookOf, callOf, cfdiOf, issuedBy, jobsOf, later, leasedOf, losingMessages, subscriber } from '../../downloads/support/downloads.ts'
import { freshRfc } from '../../support/tenants.ts'
import { type Zipped, zipOf } from '../../support/zip.ts'
import { onlyMonths, withFetcher } from './support/deployment.ts'
import { clientOf, deliver, refusal, uploads } from './support/documents.ts'

const client = clientOf(withFetcher)
const utf8 = new TextEncoder()

beforeEach(async () => {
  later(0)
  losingMessages()
  for (const key of await uploads()) await env.FILES.delete(key)
})

/** An organization whose run asked for two months, which wait for the fetcher, and the lease of one of them. */
async function leased() {
  await env.LEDGER_0.prepare('delete from fetches').run()
  const rfc = freshRfc()
  const one = await subscriber(rfc, cfdiOf(1, { data_source_keys: ['sat_cfdi_issued'] }), 'deAna1')
  const { run_id } = await one.run()
  await onlyMonths(rfc)
  const drain = async () => deliver(await callOf(rfc))
  await drain()
  const lease = (await client.lease())!
  return {
    ...{ ...one, rfc, run_id, drain, lease },
    job: async () => (await jobsOf(rfc)).find(({ month }) => month === lease.month)!,
    shown: async () => (await one.jobs()).find(({ period }) => period === lease.month)!,
    month: async () =>
      (await one.ask('GET', `${one.path}/coverage?limit=100`)).body.data.find(
        ({ source, month }: { source: string; month: string }) => source === 'sat_cfdi_issued' && month === lease.month,
      ),
    fetch: async () =>
      ((await bookOf(rfc, ['fetches']))['fetches'] as { month: string; state: string }[]).find(({ month }) => month === lease.month),
  }
}
const HEADER =
  'Uuid~RfcEmisor~NombreEmisor~RfcReceptor~NombreReceptor~RfcPac~FechaEmision~FechaCertificacionSat~Monto~EfectoComprobante~Estatus\r\n'
const TXT: Zipped = { name: 'lista_01.txt', bytes: utf8.encode(HEADER) }
const XML: Zipped = { name: '5A3C1B1E-0000-4000-8000-000000000001.xml', bytes: utf8.encode('<otro/>') }
const README: Zipped = { name: 'readme.md', bytes: utf8.encode('Nothing.') }

/** Uploads packages under a lease, and completes it with their number. */
async function bring(lease: Leased, packages: { metadata?: Zipped[][]; xml?: Zipped[][] }, more: Completion = {}): Promise<unknown> {
  for (const kind of ['metadata', 'xml'] as const)
    for (const [n, files] of (packages[kind] ?? []).entries()) await client.upload(lease, kind, n, zipOf(files))
  return client.complete(lease, { metadata: packages.metadata?.length ?? 0, xml: packages.xml?.length ?? 0, ...more })
}

describe('a package of the fetcher', () => {
  it.each<[string, { metadata: Zipped[][]; xml?: Zipped[][] }, string[], 'partial' | 'complete']>([
    ['metadata that is XML', { metadata: [[XML]] }, ['package.zip metadata.no_rows'], 'partial'],
    ['an empty ZIP as metadata', { metadata: [[]] }, ['package.zip metadata.no_rows'], 'partial'],
    ['metadata that is something else', { metadata: [[README]] }, ['readme.md metadata.no_rows'], 'partial'],
    [
      'metadata and XML swapped',
      { metadata: [[XML]], xml: [[TXT]] },
      ['lista_01.txt cfdi.not_a_cfdi', 'package.zip metadata.no_rows'],
      'partial',
    ],
    // All that is announced is held.
    ['metadata in the place of XML', { metadata: [[TXT]], xml: [[TXT]] }, ['lista_01.txt cfdi.not_a_cfdi'], 'complete'],
  ])('of %s is told, and what is no metadata announces nothing', async (_, packages, rejected, status) => {
    const one = await leased()
    await bring(one.lease, packages)
    await one.drain()
    expect(await one.job()).toMatchObject({ status: 'succeeded', created_count: 0, rejected_count: rejected.length })
    expect((await one.shown()).rejected_files.map(({ name, code }) => `${name} ${code}`).sort()).toEqual(rejected)
    expect(await one.month()).toMatchObject({ status })
  })

  it('is no whole month when it has XML and nothing announces that, and a month without any documents has neither', async () => {
    const one = await leased()
    expect(await refusal(bring(one.lease, { xml: [[TXT]] }))).toEqual([422, 'fetcher.metadata'])
    // The lease goes on.
    await bring(one.lease, { xml: [[XML]] }, { is_whole: false })
    await one.drain()
    expect(await one.month()).toMatchObject({ status: 'partial' })
    const none = await leased()
    await bring(none.lease, {})
    await none.drain()
    expect(await none.month()).toMatchObject({ status: 'complete' })
  })

  it('is counted from 0 on: a gap is no package', async () => {
    const { lease } = await leased()
    const zip = zipOf([TXT])
    for (const n of [0, 2]) await client.upload(lease, 'metadata', n, zip)
    expect(await refusal(client.complete(lease, { metadata: 2 }))).toEqual([409, 'fetcher.incomplete'])
    await client.upload(lease, 'metadata', 1, zip)
    expect(await refusal(client.complete(lease, { metadata: 2 }))).toEqual([409, 'fetcher.incomplete'])
    await client.complete(lease, { metadata: 3 })
  })

  it('is refused when it is no ZIP, or not all of one', async () => {
    const { lease } = await leased()
    const whole = zipOf([TXT, XML])
    for (const bytes of [utf8.encode('<html>no</html>'), whole.subarray(0, whole.length / 2), utf8.encode('PK')])
      for (const kind of ['metadata', 'xml'] as const)
        expect(await refusal(client.upload(lease, kind, 0, bytes))).toEqual([422, 'fetcher.package'])
    expect(await uploads()).toEqual([])
    expect(await refusal(client.complete(lease, { metadata: 1 }))).toEqual([409, 'fetcher.incomplete'])
    await client.upload(lease, 'metadata', 0, whole)
  })

  it('that cannot be read nevertheless is brought again, and the month is whole with the next one', async () => {
    const one = await leased()
    const zip = zipOf([{ ...TXT, level: 'stored' }])
    // A character of the header, behind the local header of 30 bytes and the name.
    zip[30 + TXT.name.length + HEADER.length - 3]! ^= 1
    await client.upload(one.lease, 'metadata', 0, zip)
    await client.complete(one.lease, { metadata: 1 })
    await one.drain()
    expect(await one.job()).toMatchObject({ status: 'queued', attempts: 1, error_class: 'internal_error' })
    expect([await one.fetch(), await uploads()]).toEqual([undefined, []])
    later(60)
    await one.drain()
    expect(await one.fetch()).toMatchObject({ state: 'offered' })
    while (await fetchOnce(client)) await one.drain()
    expect(await one.job()).toMatchObject({ status: 'succeeded', rejected_count: 0 })
    expect(await one.month()).toMatchObject({ status: 'complete' })
    expect(await leasedOf(one.rfc)).toEqual(issuedBy(one.rfc))
  })
})

describe('a run that is cancelled', () => {
  it('keeps what a fetcher has leased or brought, and withdraws the rest', async () => {
    const one = await leased()
    const cancel = async () => (await one.ask('POST', `/v1/runs/${one.run_id}/cancel`)).body
    expect(await cancel()).toMatchObject({ withdrawn_jobs: 1, jobs: { total: 1 } })
    await client.renew(one.lease)
    await client.upload(one.lease, 'metadata', 0, zipOf([TXT]))
    await client.complete(one.lease, { metadata: 1 })
    expect(await cancel()).toMatchObject({ withdrawn_jobs: 0 })
    await one.drain()
    expect(await one.job()).toMatchObject({ status: 'succeeded' })
    expect(await client.lease()).toBeNull()
  })

  it('withdraws what a lease that ran out was for: then the lease is lost', async () => {
    const { lease, run_id, ask } = await leased()
    await client.upload(lease, 'metadata', 0, zipOf([TXT]))
    later(601)
    expect((await ask('POST', `/v1/runs/${run_id}/cancel`)).body).toMatchObject({ withdrawn_jobs: 2 })
    const lost = [409, 'fetcher.lease_lost']
    expect(await refusal(client.renew(lease))).toEqual(lost)
    expect(await refusal(client.upload(lease, 'metadata', 0, zipOf([TXT])))).toEqual(lost)
    expect(await refusal(client.complete(lease, { metadata: 1 }))).toEqual(lost)
    expect(await client.lease()).toBeNull()
    expect(await uploads()).toEqual([])
  })
})

describe('a signature with which a lease was asked for', () => {
  it('gets none again as long as its timestamp is good: only the first one sees the CIEC', async () => {
    const recorded: Request[] = []
    const recording = clientOf(withFetcher, (request) => recorded.push(request.clone() as Request))
    const one = await leased()
    await client.complete(one.lease, {})
    const first = await recording.lease()
    expect(first?.ciec).toBe('deAna1')
    await client.fail(first!, 'sat_unavailable')
    for (const seconds of [0, 299, 300]) {
      later(seconds)
      const answer = await app.fetch(recorded[0]!.clone() as Request, withFetcher, createExecutionContext())
      expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([409, 'fetcher.repeated'])
    }
    // What nobody can repeat any more is forgotten with the next one.
    later(301)
    await client.lease()
    expect(await env.DB.prepare('select count(*) as n from fetcher_signatures where until < ?').bind(Date.now()).first('n')).toBe(0)
  })

  it('is another one with each nonce, and without a nonce with each second', async () => {
    const ask = (body: object) => refusal(client.ask('POST', '/fetcher/v1/leases', utf8.encode(JSON.stringify(body)), 'application/json'))
    expect(await ask({ nonce: 'a' })).toBeNull()
    expect(await ask({ nonce: 'b' })).toBeNull()
    expect(await ask({})).toBeNull()
    expect(await ask({})).toEqual([409, 'fetcher.repeated'])
    later(1)
    expect(await ask({})).toBeNull()
    expect(await ask({ nonce: '' })).toEqual([422, 'request.invalid'])
  })
})
