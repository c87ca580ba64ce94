import { AwsV4Signer } from 'aws4fetch'
import type { SpecOf } from '../provider-contract.ts'
import { call, errorOf, type FaultTable, type Network, type ProviderAnswer, unexpected } from './drives.ts'
import { type Destination, DestinationError } from './port.ts'

/** The value of the header Content-MD5, with which providers refuse bytes that did not arrive as they were sent. */
async function contentMd5(bytes: Uint8Array): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest('MD5', bytes)).toBase64()
}

/** Codes that say more than the status of an answer. */
const FAULTS: FaultTable = {
  AccessDenied: ['access_denied', 'The credentials lack a permission for the bucket'],
  ExpiredToken: ['access_denied', 'The session token has expired'],
  AuthorizationHeaderMalformed: ['access_denied', 'The provider cannot read the signature: the access key or the region is wrong'],
  InvalidAccessKeyId: ['access_denied', 'The provider does not know the access key'],
  InvalidToken: ['access_denied', 'The session token is not valid'],
  SignatureDoesNotMatch: ['access_denied', 'The secret access key does not belong to the access key'],
  NoSuchBucket: ['not_found', 'There is no bucket of this name at the provider'],
  InvalidBucketName: ['not_found', 'There is no bucket of this name at the provider'],
  QuotaExceeded: 'storage_full',
  XMinioAdminBucketQuotaExceeded: 'storage_full',
  RequestLimitExceeded: 'rate_limited',
  SlowDown: 'rate_limited',
  SlowDownRead: 'rate_limited',
  SlowDownWrite: 'rate_limited',
  Throttling: 'rate_limited',
  ThrottlingException: 'rate_limited',
  OperationAborted: 'unavailable',
  RequestTimeTooSkewed: ['unavailable', 'The clock of the provider differs from ours'],
  RequestTimeout: 'timeout',
  BadDigest: ['connection_failed', 'The object did not arrive as it was sent'],
  IncompleteBody: ['connection_failed', 'The object did not arrive as it was sent'],
  XAmzContentSHA256Mismatch: ['connection_failed', 'The object did not arrive as it was sent'],
  KeyTooLongError: ['refused', 'The path of the object is too long for the provider'],
}

/** SHA-256 of nothing. */
const EMPTY = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'

/** Any storage that speaks the protocol of Amazon S3. Objects are sent in one request that is signed together with the hash of its body. */
export function s3(network: Network, { config, credentials }: SpecOf<'s3'>): Destination {
  const { region } = config
  const { access_key_id: accessKeyId, secret_access_key: secretAccessKey, session_token: sessionToken } = credentials
  const secrets = [secretAccessKey, accessKeyId, ...(sessionToken ? [sessionToken] : [])]
  const base = baseOf(config)
  const key = { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }), service: 's3', region, cache: new Map() }

  async function request(method: string, path: string, body?: Uint8Array, more: Record<string, string> = {}): Promise<ProviderAnswer> {
    const url = `${base}/${path.split('/').map(encoded).join('/')}`
    const headers = { 'x-amz-content-sha256': EMPTY, ...more }
    if (!URL.canParse(url)) throw new DestinationError('address_refused', 'The endpoint and the bucket make no address.')
    const signed = await new AwsV4Signer({ ...key, method, url, headers }).sign()
    return call(network, { method, url, headers: signed.headers, ...(body && { body }) })
  }

  function failure(answer: ProviderAnswer): DestinationError {
    const code = codeOf(answer)
    const isRedirect = answer.status >= 300 && answer.status < 400
    const other = isRedirect || code === 'AuthorizationHeaderMalformed' ? regionIn(answer) : null
    const isNamed = other !== null && other !== region && !secrets.some((secret) => secret.includes(other))
    if (!isRedirect && !isNamed) return errorOf(answer, code, FAULTS, secrets)
    const where = isNamed ? `in the region ${other}: set it in the connector` : 'in another region, or at another endpoint'
    return new DestinationError('refused', `The bucket is not in the region ${region} but ${where} (status ${answer.status}).`)
  }

  return {
    async put(path, { bytes, content_type, sha256 }) {
      const more = { 'x-amz-content-sha256': sha256, 'content-type': content_type, 'content-md5': await contentMd5(bytes) }
      const answer = await request('PUT', path, bytes, more)
      if (answer.status !== 200) throw failure(answer)
      if (!answer.headers.has('etag')) throw unexpected(answer)
    },
    async read(path) {
      const answer = await request('GET', path)
      if (answer.status === 404 && codeOf(answer) === 'NoSuchKey') return null
      if (answer.status !== 200) throw failure(answer)
      if (!answer.headers.has('etag')) throw unexpected(answer)
      return answer.body
    },
    async remove(path) {
      const answer = await request('DELETE', path)
      if (answer.status === 204 || (answer.status === 404 && codeOf(answer) === 'NoSuchKey')) return
      throw answer.status < 300 ? unexpected(answer) : failure(answer)
    },
  }
}

/** As signatures want it: every byte of UTF-8 but letters, digits and `-._~`. */
const encoded = (part: string): string =>
  encodeURIComponent(part).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)

function baseOf({ bucket, region, endpoint, path_style }: SpecOf<'s3'>['config']): string {
  const base = endpoint ?? `https://s3.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`
  // A certificate for any one label does not hold for a bucket with dots.
  const isPathStyle = path_style ?? (endpoint !== null || bucket.includes('.'))
  return isPathStyle ? `${base}/${encoded(bucket)}` : base.replace('://', `://${encoded(bucket)}.`)
}

const textIn = ({ body }: ProviderAnswer, element: string): string =>
  new RegExp(`<${element}>([^<]{1,100})</${element}>`).exec(new TextDecoder().decode(body.subarray(0, 16_384)))?.[1]?.trim() ?? ''

const codeOf = (answer: ProviderAnswer): string => textIn(answer, 'Code')

/** The region in which an answer says that the bucket is; null when it does not say. */
function regionIn(answer: ProviderAnswer): string | null {
  const endpoint = /s3[.-]([a-z]{2}-[a-z0-9-]+)\.amazonaws\.com/.exec(textIn(answer, 'Endpoint'))?.[1]
  const named = answer.headers.get('x-amz-bucket-region') || textIn(answer, 'Region') || endpoint || ''
  return /^[a-z][a-z0-9-]{1,30}$/.test(named) ? named : null
}

interface ToSign {
  method: string
  url: string
  headers: Record<string, string>
  /** The length of the body, in bytes. */
  length: number
}

/** Content-Encoding to Range, in the order of the string to sign; requests of this service carry only one of them beside the length. */
const stringToSign = ({ method, headers, length }: ToSign, resource: string): string =>
  [
    ...[method, '', '', length === 0 ? '' : length, headers['content-md5'] ?? '', headers['content-type'] ?? '', '', '', '', '', '', ''],
    ...Object.keys(headers)
      .filter((name) => name.startsWith('x-ms-'))
      .sort()
      .map((name) => `${name}:${headers[name]}`),
    resource,
  ].join('\n')

/**
 * The header Authorization of a request without a query to Azure Blob under an account key (Shared Key, version 2009-09-19 and later). Names of headers are
 * in lower case. Throws DestinationError access_denied when the key is not base64.
 */
async function authorizationOf(request: ToSign, account: string, account_key: string): Promise<string> {
  const text = stringToSign(request, `/${account}${new URL(request.url).pathname}`)
  const signature = new Uint8Array(await crypto.subtle.sign('HMAC', await keyOf(account_key), new TextEncoder().encode(text)))
  return `SharedKey ${account}:${btoa(String.fromCharCode(...signature))}`
}

async function keyOf(account_key: string): Promise<CryptoKey> {
  try {
    return await crypto.subtle.importKey('raw', Uint8Array.fromBase64(account_key), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
  } catch {
    throw new DestinationError('access_denied', 'The account key is not what Azure shows: it must be base64.')
  }
}

/** The version of the protocol, which fixes what is signed. */
const VERSION = '2021-12-02'

/** Codes that say more than the status of an answer. */
const AZURE_FAULTS: FaultTable = {
  AccountIsDisabled: ['access_denied', 'The storage account is disabled'],
  AuthenticationFailed: ['access_denied', 'The provider refuses the account key or the SAS token'],
  AuthorizationFailure: ['access_denied', 'The credentials lack a permission, or the firewall of the storage account refuses this service'],
  AuthorizationPermissionMismatch: ['access_denied', 'The credentials lack a permission for the container'],
  AuthorizationResourceTypeMismatch: ['access_denied', 'The SAS token does not allow objects'],
  AuthorizationServiceMismatch: ['access_denied', 'The SAS token does not allow the Blob service'],
  AuthorizationSourceIPMismatch: ['access_denied', 'The SAS token allows other addresses only'],
  InvalidAuthenticationInfo: ['access_denied', 'The account key or the SAS token is malformed'],
  KeyBasedAuthenticationNotPermitted: ['access_denied', 'The storage account does not allow account keys'],
  PublicAccessNotPermitted: 'access_denied',
  ContainerNotFound: ['not_found', 'There is no container of this name in the storage account'],
  ContainerBeingDeleted: ['not_found', 'The container is being deleted'],
  ContainerDisabled: ['not_found', 'The container is disabled'],
  InvalidResourceName: ['not_found', 'There is no container of this name in the storage account'],
  ServerBusy: 'rate_limited',
  AccountBeingCreated: 'unavailable',
  BlobBeingRehydrated: ['unavailable', 'The object is in the archive tier'],
  BlobArchived: ['refused', 'The object is in the archive tier'],
  BlobImmutableDueToPolicy: ['refused', 'The object may not be changed because of a policy of the container'],
  LeaseIdMissing: ['refused', 'Somebody holds a lease on the object'],
  Md5Mismatch: ['connection_failed', 'The object did not arrive as it was sent'],
}

/** Blobs of a container in a storage account of Azure. Objects are sent in one request, with the MD5 of their bytes. */
export function azureBlob(network: Network, { config, credentials }: SpecOf<'azure_blob'>): Destination {
  const { account, container, endpoint } = config
  const { account_key, sas_token } = credentials
  const base = `${endpoint ?? `https://${account}.blob.core.windows.net`}/${encodeURIComponent(container)}`
  const secrets = [account_key ?? '', sas_token ?? '']

  async function request(method: string, path: string, body?: Uint8Array, more: Record<string, string> = {}): Promise<ProviderAnswer> {
    const url = `${base}/${path.split('/').map(encodeURIComponent).join('/')}${sas_token === undefined ? '' : `?${sas_token}`}`
    if (!URL.canParse(url)) throw new DestinationError('address_refused', 'The endpoint and the container make no address.')
    const headers: Record<string, string> = { 'x-ms-version': VERSION, 'x-ms-date': new Date().toUTCString(), ...more }
    if (account_key !== undefined)
      headers['authorization'] = await authorizationOf({ method, url, headers, length: body?.length ?? 0 }, account, account_key)
    return call(network, { method, url, headers, ...(body && { body }) })
  }

  const codeOf = ({ headers, body }: ProviderAnswer): string =>
    headers.get('x-ms-error-code') ?? /<Code>(\w{1,64})<\/Code>/.exec(new TextDecoder().decode(body.subarray(0, 4_096)))?.[1] ?? ''
  const failure = (answer: ProviderAnswer): DestinationError =>
    answer.status < 300 ? unexpected(answer) : errorOf(answer, codeOf(answer), AZURE_FAULTS, secrets)
  const isAbsent = (answer: ProviderAnswer): boolean => answer.status === 404 && codeOf(answer) === 'BlobNotFound'

  return {
    async put(path, { bytes, content_type }) {
      const type = { 'x-ms-blob-type': 'BlockBlob', 'x-ms-blob-content-type': content_type }
      const answer = await request('PUT', path, bytes, { ...type, 'content-md5': await contentMd5(bytes) })
      if (answer.status !== 201) throw failure(answer)
    },
    async read(path) {
      const answer = await request('GET', path)
      if (isAbsent(answer)) return null
      if (answer.status !== 200) throw failure(answer)
      if (!answer.headers.has('x-ms-blob-type')) throw unexpected(answer)
      return answer.body
    },
    async remove(path) {
      const answer = await request('DELETE', path)
      if (answer.status !== 202 && !isAbsent(answer)) throw failure(answer)
    },
  }
}
