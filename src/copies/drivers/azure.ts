import { authorizationOf } from './azure-signature.ts'
import { call, type Network, type ProviderAnswer } from './call.ts'
import { errorOf, type FaultTable, unexpected } from './faults.ts'
import { contentMd5 } from './md5.ts'
import { type Destination, DestinationError } from './port.ts'

export interface AzureSpec {
  config: {
    account: string
    container: string
    /** `https://host[:port][/path]`; null for the account in Azure's public cloud. */
    endpoint: string | null
  }
  /** One of them. The account key is base64; the SAS token does not begin with `?`. */
  credentials: { account_key?: string | undefined; sas_token?: string | undefined }
}

/** The version of the protocol, which fixes what is signed. */
const VERSION = '2021-12-02'

/** What the status of an answer does not say. */
const FAULTS: FaultTable = {
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
export function azureBlob(network: Network, { config, credentials }: AzureSpec): Destination {
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
    answer.status < 300 ? unexpected(answer) : errorOf(answer, codeOf(answer), FAULTS, secrets)
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
