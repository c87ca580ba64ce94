import { createHash } from 'node:crypto'
import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { AwsV4Signer } from 'aws4fetch'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Customer } from '../../scripts/customer.ts'
import { zipOf } from '../support/zip.ts'
import { rfcOf } from './support/books.ts'
import { FINISHED_WITHIN, killAndReturn, Runners, victimOf } from './support/kills.ts'
import { AZURE, HAS_MOTO, Providers, S3, sasOf } from './support/providers.ts'
import { discard, freePort, freshState, until } from './support/runner.ts'
import { invoiceOf } from './support/uploads.ts'

const isFull = process.env['CRASH_ROUNDS'] === 'full'
const [DOCUMENTS, KILLS] = isFull ? [5_000, 10] : [400, 1]
/** The lease of a worker that was killed, and the sweep after it. */
const LEASE = 150_000

interface Connector {
  connector_id: string
  copied_count: number
  connector_status: string
  backfill: { status: string; total: number | null; copied: number } | null
}

const providers = new Providers()
let runners: Runners
const state = freshState()
beforeAll(async () => {
  await providers.start()
  runners = new Runners({ STORAGE_SINK: providers.sink })
})
afterAll(async () => {
  await discard(state, runners.all)
  providers.stop()
})

/** Reads an object past the service. */
const read = (host: string, path: string, headers: Record<string, string> = {}): Promise<Buffer | null> =>
  new Promise((done, failed) => {
    const sent = request(`${providers.sink}${path}`, { headers: { ...headers, host } }, async (answer) => {
      const bytes = Buffer.concat(await Array.fromAsync(answer as AsyncIterable<Buffer>))
      done(answer.statusCode === 200 ? bytes : null)
    })
    sent.on('error', failed).end()
  })

interface Kind {
  config: object
  credentials: object
  host: string
  read(path: string): Promise<Buffer | null>
}
const KINDS: Record<'azure_blob' | 's3', Kind> = {
  azure_blob: {
    config: { account: AZURE.account, container: AZURE.container },
    credentials: { account_key: AZURE.key },
    host: `${AZURE.account}.blob.core.windows.net`,
    read: (path: string) => read(KINDS.azure_blob.host, `/${AZURE.container}/${path}?${sasOf('r')}`),
  },
  s3: {
    config: { bucket: S3.bucket, region: S3.region },
    credentials: { access_key_id: S3.keyId, secret_access_key: S3.secret },
    host: `${S3.bucket}.s3.${S3.region}.amazonaws.com`,
    read: async (path: string) => {
      const keys = { accessKeyId: S3.keyId, secretAccessKey: S3.secret, service: 's3', region: S3.region }
      const headers = { 'x-amz-content-sha256': createHash('sha256').update('').digest('hex') }
      const signer = new AwsV4Signer({ method: 'GET', url: `https://${KINDS.s3.host}/${path}`, headers, ...keys })
      return read(KINDS.s3.host, `/${path}`, Object.fromEntries((await signer.sign()).headers))
    },
  },
}

const DESTINATIONS = ['azure_blob', ...(isFull && HAS_MOTO ? (['s3'] as const) : [])] as const

describe(`a backfill of ${DOCUMENTS} documents, whose service is killed ${KILLS} times`, () => {
  it.each(DESTINATIONS)(
    'to %s: every object is there, byte for byte, none is lost or counted twice, and the manifest is right',
    async (kind) => {
      const { config, credentials, host } = KINDS[kind]
      const rfc = rfcOf(kind === 's3' ? 21 : 20)
      let service = await runners.start(state, await freePort())
      const customer = await Customer.signUp(service.url, 'Despacho que respalda')
      await customer.ask('POST', '/v1/test-helpers/organization', { plan: 'enterprise_gold' })
      const { fiscal_entity_id } = await customer.ask<{ fiscal_entity_id: string }>('POST', '/v1/fiscal-entities', { rfc, ciec: 'empty' })
      const invoices = Array.from({ length: DOCUMENTS }, () => invoiceOf(rfc, 1))
      const imports = `/v1/fiscal-entities/${fiscal_entity_id}/cfdi/imports`
      const { api_key, api_secret } = customer.credential
      const sent = await fetch(`${service.url}${imports}`, {
        method: 'POST',
        headers: { authorization: `Basic ${btoa(`${api_key}:${api_secret}`)}`, 'content-type': 'application/zip' },
        body: zipOf(invoices) as Uint8Array<ArrayBuffer>,
      })
      const { import_id } = (await sent.json()) as { import_id: string }
      const isImported = async () => (await customer.ask<{ status: string }>('GET', `${imports}/${import_id}`)).status === 'completed'
      await until('the import is completed', FINISHED_WITHIN, isImported, 500)
      const draft = { name: 'Respaldo', provider: kind, config, credentials }
      const { connector_id } = await customer.ask<Connector>('POST', '/v1/storage-connectors', draft)
      const path = `/v1/storage-connectors/${connector_id}`
      const connector = () => customer.ask<Connector>('GET', path)
      await customer.ask('POST', `${path}/backfill`)
      const puts = () => providers.arrived.filter((line) => line.startsWith(`PUT ${host}`) && line.endsWith('.xml')).length
      for (let round = 0; round < KILLS; round++) {
        const before = puts()
        // In the middle of a batch: some of its objects are stored, and it is not committed.
        await until('something more is put', LEASE, () => puts() > before + 20, 20)
        await sleep(Math.random() * 300)
        const { port } = service
        service = await killAndReturn(service, victimOf(round), () => runners.start(state, port), `round ${round}`)
      }
      await until('the backfill is completed', LEASE + 60_000, async () => (await connector()).backfill?.status === 'completed', 1_000)
      const { copied_count, connector_status, backfill } = await connector()
      expect({ copied_count, connector_status, backfill }).toMatchObject({
        ...{ copied_count: DOCUMENTS, connector_status: 'active' },
        backfill: { total: DOCUMENTS, copied: DOCUMENTS },
      })
      // A kill repeats at most a batch.
      expect(puts()).toBeLessThanOrEqual(DOCUMENTS + KILLS * 100)
      const paths = new Set(
        providers.arrived
          .filter((line) => line.startsWith(`PUT ${host}`) && line.endsWith('.xml'))
          .map((line) => line.slice(line.indexOf('/'))),
      )
      expect(paths.size).toBe(DOCUMENTS)
      const placeOf = (name: string) => `${rfc}/2025/03/issued/${name}`
      const hashes = new Map<string, string>()
      for (const { name, bytes } of invoices) {
        expect(await KINDS[kind].read(placeOf(name)), name).toEqual(Buffer.from(bytes))
        hashes.set(placeOf(name), createHash('sha256').update(bytes).digest('hex'))
      }
      const listed: { path: string; sha256: string }[] = []
      for (const [day, n] of [0, 1].flatMap((ago) => [1, 2, 3].map((n) => [new Date(Date.now() - ago * 86_400_000), n] as const))) {
        const file = `manifests/${connector_id}/${day.toISOString().slice(0, 10)}/manifest${n === 1 ? '' : `-${n}`}.jsonl`
        const manifest = await KINDS[kind].read(file)
        if (manifest)
          listed.push(
            ...manifest
              .toString()
              .trimEnd()
              .split('\n')
              .map((line) => JSON.parse(line)),
          )
      }
      expect(listed).toHaveLength(DOCUMENTS)
      expect(new Map(listed.map(({ path: at, sha256 }) => [at, sha256]))).toEqual(hashes)
    },
    KILLS * (LEASE + 60_000) + 4 * FINISHED_WITHIN,
  )
})
