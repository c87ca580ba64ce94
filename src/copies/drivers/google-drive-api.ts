import { signedJwt } from '../../platform/crypto/jwt.ts'
import { OneByOne } from '../../platform/one-by-one.ts'
import { jsonOf, membersOf, type Network, type ProviderAnswer, type ProviderRequest } from './call.ts'
import { errorOf, type FaultTable, unexpected } from './faults.ts'
import { AccessToken, type Grant, requestGrant } from './oauth.ts'
import { DestinationError } from './port.ts'

export interface GoogleDriveSpec {
  /** The folder under which paths begin, in My Drive or in a shared drive. */
  config: { folder_id: string }
  /** A service account, or an application with the refresh token of a user. */
  credentials: {
    /** `private_key` is PKCS #8 in PEM. */
    service_account?: { client_email: string; private_key: string } | undefined
    client_id?: string | undefined
    client_secret?: string | undefined
    refresh_token?: string | undefined
  }
}
type Credentials = GoogleDriveSpec['credentials']

const API = 'https://www.googleapis.com'
const TOKENS = 'https://oauth2.googleapis.com/token'
/** A service account must write to a folder that it did not create, which `drive.file` does not allow. */
const SCOPE = 'https://www.googleapis.com/auth/drive'
const LIFE_SECONDS = 3_600
/** How many ids of new files are asked for at a time. */
const IDS = 100

const DENIED = ['access_denied', 'The account of the credentials may not do this: share the folder with it as a content manager'] as const
const FULL = ['storage_full', 'The folder or its drive may hold no more'] as const
/** Reasons of errors of the Drive API. */
const FAULTS: FaultTable = {
  rateLimitExceeded: 'rate_limited',
  userRateLimitExceeded: 'rate_limited',
  sharingRateLimitExceeded: 'rate_limited',
  dailyLimitExceeded: 'rate_limited',
  quotaExceeded: 'rate_limited',
  storageQuotaExceeded: [
    'storage_full',
    'The storage of the account is full. A service account has none of its own: give it a folder of a shared drive',
  ],
  teamDriveFileLimitExceeded: FULL,
  numChildrenInNonRootLimitExceeded: FULL,
  activeItemCreationLimitExceeded: FULL,
  insufficientFilePermissions: DENIED,
  insufficientParentPermissions: DENIED,
  insufficientPermissions: DENIED,
  appNotAuthorizedToFile: DENIED,
  domainPolicy: ['access_denied', 'The administrator of the domain does not allow this'],
  accessNotConfigured: ['access_denied', 'The Google Drive API is not enabled in the project of the credentials'],
  authError: 'access_denied',
  notFound: ['not_found', 'The folder does not exist, or it is not shared with the account of the credentials'],
  backendError: 'unavailable',
  internalError: 'unavailable',
}

/** The Google Drive API, version 3, with the account of some credentials. */
export class GoogleDriveApi {
  readonly #network: Network
  readonly #token: AccessToken<Credentials>
  readonly #secrets: string[]
  readonly #oneByOne = new OneByOne()
  #ids: string[] = []

  constructor(network: Network, credentials: Credentials) {
    this.#network = network
    this.#token = new AccessToken(credentials, async () => [await grantOf(network, credentials), credentials])
    this.#secrets = Object.values({ ...credentials, ...credentials.service_account }).filter((value) => typeof value === 'string')
  }

  /** Sends a request, and returns its answer whatever its status. Shared drives are always included. */
  call(method: string, path: string, query: Record<string, string>, rest: Omit<ProviderRequest, 'method' | 'url'> = {}) {
    const url = `${API}${path}?${new URLSearchParams({ supportsAllDrives: 'true', ...query })}`
    return this.callUrl({ method, url, ...rest })
  }

  callUrl(request: ProviderRequest): Promise<ProviderAnswer> {
    return this.#token.call(this.#network, request)
  }

  /** Returns the members of the answer to a request for JSON. */
  async json(method: string, path: string, query: Record<string, string>, body?: object): Promise<Record<string, unknown>> {
    const answer = await this.call(method, path, query, body && { headers: JSON_TYPE, body: JSON.stringify(body) })
    if (answer.status !== 200) throw this.errorOf(answer)
    const members = jsonOf(answer)
    if (Object.keys(members).length === 0) throw unexpected(answer)
    return members
  }

  /** Throws unless the answer confirms a file. */
  confirm(answer: ProviderAnswer): void {
    if (answer.status !== 200 && answer.status !== 201) throw this.errorOf(answer)
    if (typeof jsonOf(answer)['id'] !== 'string') throw unexpected(answer)
  }

  errorOf(answer: ProviderAnswer): DestinationError {
    const error = membersOf(jsonOf(answer)['error'])
    const [first] = Array.isArray(error['errors']) ? error['errors'] : []
    return errorOf(answer, String(membersOf(first)['reason'] ?? ''), FAULTS, this.#secrets)
  }

  /** A file's id, made by Google before the file is created: creating it twice answers 409 the second time, and makes no second file. */
  newId(): Promise<string> {
    return this.#oneByOne.do('ids', async () => {
      const known = this.#ids.pop()
      if (known !== undefined) return known
      const { ids } = await this.json('GET', '/drive/v3/files/generateIds', { count: String(IDS), space: 'drive', type: 'files' })
      const [id, ...others] = Array.isArray(ids) ? ids.map(String) : []
      if (id === undefined) throw new DestinationError('refused', 'Google Drive made no ids for new files.')
      this.#ids = others
      return id
    })
  }
}

export const JSON_TYPE = { 'content-type': 'application/json; charset=UTF-8' }

async function grantOf(network: Network, credentials: Credentials): Promise<Grant> {
  const { service_account, client_id = '', client_secret = '', refresh_token = '' } = credentials
  if (service_account === undefined)
    return requestGrant(network, TOKENS, { grant_type: 'refresh_token', client_id, client_secret, refresh_token })
  const iat = Math.floor(Date.now() / 1_000)
  const claims = { iss: service_account.client_email, scope: SCOPE, aud: TOKENS, iat, exp: iat + LIFE_SECONDS }
  const assertion = await signedJwt(claims, service_account.private_key).catch(() => {
    throw new DestinationError('access_denied', 'The private_key of the service account is not an RSA key in PEM (BEGIN PRIVATE KEY).')
  })
  return requestGrant(network, TOKENS, { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion })
}
