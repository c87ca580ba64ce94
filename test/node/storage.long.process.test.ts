import { createHash } from 'node:crypto'
import { request } from 'node:http'
import { AwsV4Signer } from 'aws4fetch'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTestHarness, type TestHarness } from 'wrangler'
import { ROOT } from '../../scripts/wrangler.ts'
import { type Destination, DestinationError } from '../../src/copies/drivers/port.ts'
import type { DestinationSpec } from '../../src/copies/provider-contract.ts'
import { destinationSuite } from '../copies/drivers/suite.ts'
import { GoogleDriveStandIn } from '../copies/support/google-drive-stand-in.ts'
import { OneDriveStandIn } from '../copies/support/onedrive-stand-in.ts'
import type { ScriptedProvider } from '../copies/support/scripted.ts'
import type { Knowledge } from '../copies/support/wire.ts'
import { AZURE, HAS_MOTO, Providers, S3, sasOf } from './support/providers.ts'
import type { StorageCall } from './workers/storage.ts'

const providers = new Providers()
let harness: TestHarness

/** A Worker that uses destinations by the way out of a local service, whose STORAGE_SINK are the real servers. */
beforeAll(async () => {
  await providers.start()
  const services = [{ binding: 'STORAGE_EGRESS', service: 'caller', entrypoint: 'StorageEgress' }]
  const vars = { ENVIRONMENT: 'test', PUBLIC_HOSTS: '', STORAGE_SINK: providers.sink }
  const config = { name: 'caller', main: 'test/node/workers/storage.ts', compatibility_date: '2026-10-01', services, vars }
  process.env['CLOUDFLARE_CF_FETCH_ENABLED'] = 'false'
  harness = createTestHarness({ root: ROOT, workers: [{ config }] })
  await harness.listen()
})
afterAll(async () => {
  await harness?.close()
  providers.stop()
})

async function ask(call: StorageCall, body?: Uint8Array): Promise<Uint8Array | null> {
  const headers = { 'x-call': encodeURIComponent(JSON.stringify(call)) }
  const response = await harness.fetch('/', { method: 'POST', headers, ...(body && { body }) })
  const bytes = new Uint8Array(await response.arrayBuffer())
  if (response.ok) return response.headers.get('x-absent') ? null : bytes
  const { code, message, retry_after_seconds } = JSON.parse(new TextDecoder().decode(bytes)) as DestinationError
  throw new DestinationError(code, message, retry_after_seconds)
}

const through = (spec: DestinationSpec): Destination => ({
  put: async (path, { bytes, ...rest }) => void (await ask({ spec, operation: 'put', path, ...rest }, bytes)),
  read: (path) => ask({ spec, operation: 'read', path }),
  remove: async (path) => void (await ask({ spec, operation: 'remove', path })),
})

const s3Spec = (knowledge: Knowledge = 'right', endpoint: string | null = null): DestinationSpec => ({
  provider: 's3',
  config: { bucket: knowledge === 'missing place' ? 'none-of-this-name' : S3.bucket, region: S3.region, endpoint, path_style: null },
  credentials: { access_key_id: S3.keyId, secret_access_key: knowledge === 'wrong secret' ? 'another' : S3.secret },
})

const azureSpec = (knowledge: Knowledge = 'right', sas?: string, endpoint: string | null = null): DestinationSpec => ({
  provider: 'azure_blob',
  config: { account: AZURE.account, container: knowledge === 'missing place' ? 'none-of-this-name' : AZURE.container, endpoint },
  credentials:
    sas === undefined
      ? { account_key: knowledge === 'wrong secret' ? Buffer.from('another').toString('base64') : AZURE.key }
      : { sas_token: knowledge === 'wrong secret' ? sas.replace(/sig=.{4}/, 'sig=AAAA') : sas },
})

const s3Type = (path: string) => providers.typeOf('s3', path)
const azureType = (path: string) => providers.typeOf('azure', path)

describe.skipIf(!HAS_MOTO)('S3', () => {
  destinationSuite('Amazon S3 (moto)', () => ({ open: (knowledge) => through(s3Spec(knowledge)), typeOf: s3Type }))
  destinationSuite('an S3-compatible endpoint (moto)', () => ({
    open: (knowledge) => through(s3Spec(knowledge, 'https://objects.provider.example:8443')),
    typeOf: s3Type,
  }))
})
destinationSuite('Azure Blob (Azurite), with the account key', () => ({
  open: (knowledge) => through(azureSpec(knowledge)),
  typeOf: azureType,
}))
destinationSuite('Azure Blob (Azurite) at an endpoint, with the account key', () => ({
  open: (knowledge) => through(azureSpec(knowledge, undefined, `https://${AZURE.host}/${AZURE.account}`)),
  typeOf: azureType,
}))
destinationSuite('Azure Blob (Azurite), with a SAS token', () => ({
  open: (knowledge) => through(azureSpec(knowledge, sasOf('rcwd'))),
  typeOf: azureType,
  // A token holds for one container: another one is refused, whether it exists or not.
  refusals: { 'missing place': 'access_denied' },
}))

/** Their protocols over real connections: answers 308, requests without a body, upload sessions at other hosts. */
for (const [name, standIn] of [
  ['Google Drive', new GoogleDriveStandIn()],
  ['OneDrive', new OneDriveStandIn()],
] satisfies [string, ScriptedProvider][]) {
  providers.standIns.push(standIn)
  const typeOf = async (path: string) => standIn.objects().find((object) => object.path === path)?.content_type ?? null
  destinationSuite(`${name} (stand-in)`, () => ({ open: (knowledge) => through(standIn.spec(knowledge ?? 'right')), typeOf }))
  it(`every request to ${name} was one that its documentation allows`, () => {
    expect(standIn.requests.length).toBeGreaterThan(100)
    expect(standIn.undocumented).toEqual([])
  })
}

/** Sends a request to a provider without any driver. */
function send(method: string, url: string, headers: Record<string, string>, body: string): Promise<{ status: number; text: string }> {
  const { host, pathname, search } = new URL(url)
  return new Promise((done, failed) => {
    const sent = request(`${providers.sink}${pathname}${search}`, { method, headers: { ...headers, host } }, async (answer) => {
      const pieces = await Array.fromAsync(answer as AsyncIterable<Buffer>)
      done({ status: answer.statusCode ?? 0, text: Buffer.concat(pieces).toString() })
    })
    sent.on('error', failed).end(body)
  })
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

describe.skipIf(!HAS_MOTO)('the S3 server of the suite', () => {
  const url = `https://s3.us-east-1.amazonaws.com/${S3.bucket}/refused.xml`
  const put = async (given: { secret?: string; keyId?: string; hash?: string; region?: string }, body = 'hello') => {
    const headers = { 'x-amz-content-sha256': given.hash ?? sha256(body) }
    const keys = { accessKeyId: given.keyId ?? S3.keyId, secretAccessKey: given.secret ?? S3.secret }
    const signer = new AwsV4Signer({ method: 'PUT', url, headers, ...keys, service: 's3', region: given.region ?? S3.region })
    return send('PUT', url, Object.fromEntries((await signer.sign()).headers), body)
  }

  it.each([
    ['a wrong secret', () => put({ secret: 'another' }), 403, 'SignatureDoesNotMatch'],
    ['an unknown access key', () => put({ keyId: 'AKIDUNKNOWN' }), 403, 'InvalidAccessKeyId'],
    ['an unsigned request', () => send('PUT', url, { 'x-amz-content-sha256': sha256('hello') }, 'hello'), 403, 'AccessDenied'],
    ['a false hash of the body', () => put({ hash: sha256('another') }), 400, 'XAmzContentSHA256Mismatch'],
    ['a body without a hash', () => put({ hash: 'UNSIGNED-PAYLOAD' }), 400, 'XAmzContentSHA256Mismatch'],
    ['another region', () => put({ region: 'eu-west-1' }), 400, 'AuthorizationHeaderMalformed'],
  ])('refuses %s, and stores nothing', async (_, attempt, status, code) => {
    expect(await attempt()).toEqual({ status, text: expect.stringContaining(`<Code>${code}</Code>`) })
    expect(await through(s3Spec()).read('refused.xml')).toBeNull()
  })

  it('takes the same request when nothing is wrong with it', async () => {
    expect((await put({})).status).toBe(200)
    expect(await through(s3Spec()).read('refused.xml')).toEqual(new TextEncoder().encode('hello'))
  })
})

describe('Azurite', () => {
  const url = `https://${AZURE.account}.blob.core.windows.net/${AZURE.container}/refused.xml`
  const put = (sas: string, headers: Record<string, string> = {}) =>
    send('PUT', `${url}${sas && `?${sas}`}`, { 'x-ms-version': '2021-12-02', 'x-ms-blob-type': 'BlockBlob', ...headers }, 'hello')

  it.each([
    ['a wrong signature', () => put(sasOf('rcw').replace(/sig=.{4}/, 'sig=AAAA')), 403],
    ['an unsigned request', () => put(''), 403],
    ['a token that may only read', () => put(sasOf('r')), 403],
    ['a false MD5 of the body', () => put(sasOf('rcw'), { 'content-md5': 'AAAAAAAAAAAAAAAAAAAAAA==' }), 400],
  ])('refuses %s, and stores nothing', async (_, attempt, status) => {
    expect((await attempt()).status).toBe(status)
    expect(await through(azureSpec()).read('refused.xml')).toBeNull()
  })

  it('takes the same request when nothing is wrong with it', async () => {
    expect((await put(sasOf('rcw'))).status).toBe(201)
    expect(await through(azureSpec()).read('refused.xml')).toEqual(new TextEncoder().encode('hello'))
  })
})
