import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Customer, randomRfc } from '../../scripts/customer.ts'
import { all, wantFewMonths } from './support/books.ts'
import { Runners } from './support/kills.ts'
import { AZURE, HAS_MOTO, Providers, S3 } from './support/providers.ts'
import { discard, freePort, freshState, type Started, until } from './support/runner.ts'

interface Connector {
  connector_id: string
  pending_count: number
  backfill: { status: string } | null
}

const providers = new Providers()
const state = freshState()
let runners: Runners
let service: Started
let customer: Customer
let fiscal_entity_id: string

/** A service with the documents of one RFC, whose way to storage ends at real servers. */
beforeAll(async () => {
  await providers.start()
  runners = new Runners({ STORAGE_SINK: providers.sink })
  service = await runners.start(state, await freePort())
  customer = await Customer.signUp(service.url, 'Despacho con archivo')
  await wantFewMonths(customer)
  fiscal_entity_id = await customer.connect(randomRfc())
  await until('everything is downloaded', 240_000, async () => {
    const { status, jobs } = await customer.sync(fiscal_entity_id)
    return status === 'idle' && jobs.total > 0 && jobs.succeeded === jobs.total
  })
})
afterAll(async () => {
  await discard(state, runners?.all ?? [])
  providers.stop()
})

const drafts = {
  s3: {
    ...{ name: 'Archivo S3', provider: 's3', config: { bucket: S3.bucket, prefix: 'fiscal' } },
    credentials: { access_key_id: S3.keyId, secret_access_key: S3.secret },
  },
  azure: {
    ...{ name: 'Archivo Azure', provider: 'azure_blob', config: { account: AZURE.account, container: AZURE.container, prefix: 'fiscal' } },
    credentials: { account_key: AZURE.key },
  },
}

/** Null when only the metadata of the CFDI is known. */
const xmlOf = async (uuid: string): Promise<Buffer | null> => {
  const { api_key, api_secret } = customer.credential
  const headers = { authorization: `Basic ${btoa(`${api_key}:${api_secret}`)}` }
  const response = await fetch(`${service.url}/v1/cfdi/${uuid}/xml?fiscal_entity_id=${fiscal_entity_id}`, { headers })
  return response.ok ? Buffer.from(await response.arrayBuffer()) : null
}

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

const PROVIDERS: ('s3' | 'azure')[] = HAS_MOTO ? ['azure', 's3'] : ['azure']

/** What lies at a provider is each document once, byte for byte, and what its manifests list. */
async function expectWhole(provider: 's3' | 'azure'): Promise<void> {
  const stored = await providers.objects(provider)
  const lines = [...stored]
    .filter(([path]) => path.startsWith('fiscal/manifests/'))
    .flatMap(([, bytes]) => bytes.toString().trim().split('\n'))
    .map((line) => JSON.parse(line) as { sha256: string; uuid: string })
  const xmls = [...stored].filter(([path]) => path.endsWith('.xml'))
  const cfdis = await all<{ uuid: string }>(customer, `/v1/cfdi?fiscal_entity_id=${fiscal_entity_id}&limit=100`)
  let copied = 0
  for (const { uuid } of cfdis) {
    const bytes = await xmlOf(uuid)
    if (bytes === null) continue
    copied++
    const [one, ...others] = xmls.filter(([path]) => path.endsWith(`/${uuid}.xml`))
    expect([uuid, one?.[1].equals(bytes), others]).toEqual([uuid, true, []])
    expect([uuid, lines.find((line) => line.uuid === uuid)?.sha256]).toEqual([uuid, sha256(bytes)])
  }
  expect([provider, xmls.length, copied > 20]).toEqual([provider, copied, true])
}

describe(`npm start with STORAGE_SINK, at ${PROVIDERS.join(' and ')}`, () => {
  it('tests connectors, and copies what was downloaded: each document is there once, byte for byte, and in a manifest', async () => {
    const paths: string[] = []
    for (const provider of PROVIDERS) {
      const { connector_id } = await customer.ask<Connector>('POST', '/v1/storage-connectors', drafts[provider])
      const path = `/v1/storage-connectors/${connector_id}`
      paths.push(path)
      expect(await customer.ask('POST', `${path}/test`)).toMatchObject({
        ok: true,
        steps: [{ ok: true }, { ok: true }, { ok: true }],
        error: null,
      })
      expect([...(await providers.objects(provider)).keys()]).toEqual([])
    }
    for (const path of paths) await customer.ask('POST', `${path}/backfill`)
    await until('the backfills are complete', 240_000, async () => {
      const connectors = await Promise.all(paths.map((path) => customer.ask<Connector>('GET', path)))
      return connectors.every(({ backfill, pending_count }) => backfill?.status === 'completed' && pending_count === 0)
    })
    for (const path of paths)
      expect(await customer.ask('GET', path)).toMatchObject({ connector_status: 'active', last_error: null, failed_count: 0 })
    for (const provider of PROVIDERS) await expectWhole(provider)
  }, 300_000)
})
