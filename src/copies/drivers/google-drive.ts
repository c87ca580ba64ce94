import type { GoogleDriveCredentials, SpecOf } from '../provider-contract.ts'
import {
  errorOf,
  type FaultTable,
  type Grant,
  jsonOf,
  membersOf,
  type Network,
  OneByOne,
  type ProviderAnswer,
  type ProviderRequest,
  requestGrant,
  sendPart,
  unexpected,
  withAccessToken,
} from './drives.ts'
import { type Destination, DestinationError, type StoredObject } from './port.ts'

const API = 'https://www.googleapis.com'
const TOKENS = 'https://oauth2.googleapis.com/token'
/** A service account must write to a folder that it did not create, which `drive.file` does not allow. */
const SCOPE = 'https://www.googleapis.com/auth/drive'
const LIFE_SECONDS = 3_600
/** How many ids of new files are asked for at a time. */
const IDS = 100

const DISPUTED = ['access_denied', 'The account of the credentials may not do this: share the folder with it as a content manager'] as const
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
  insufficientFilePermissions: DISPUTED,
  insufficientParentPermissions: DISPUTED,
  insufficientPermissions: DISPUTED,
  appNotAuthorizedToFile: DISPUTED,
  domainPolicy: ['access_denied', 'The administrator of the domain does not allow this'],
  accessNotConfigured: ['access_denied', 'The Google Drive API is not enabled in the project of the credentials'],
  authError: 'access_denied',
  notFound: ['not_found', 'The folder does not exist, or it is not shared with the account of the credentials'],
  backendError: 'unavailable',
  internalError: 'unavailable',
}

/** The Google Drive API, version 3, with the account of some credentials. */
class GoogleDriveApi {
  /** Sends a request, and returns its answer whatever its status. */
  readonly callUrl: (request: ProviderRequest) => Promise<ProviderAnswer>
  readonly #secrets: string[]
  readonly #oneByOne = new OneByOne()
  #ids: string[] = []

  constructor(network: Network, credentials: GoogleDriveCredentials) {
    this.callUrl = withAccessToken(network, credentials, async () => [await grantOf(network, credentials), credentials])
    this.#secrets = Object.values({ ...credentials, ...credentials.service_account }).filter((value) => typeof value === 'string')
  }

  /** The same for a path of the API. Shared drives are always included. */
  call(method: string, path: string, query: Record<string, string>, rest: Omit<ProviderRequest, 'method' | 'url'> = {}) {
    const url = `${API}${path}?${new URLSearchParams({ supportsAllDrives: 'true', ...query })}`
    return this.callUrl({ method, url, ...rest })
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

const JSON_TYPE = { 'content-type': 'application/json; charset=UTF-8' }

async function grantOf(network: Network, credentials: GoogleDriveCredentials): Promise<Grant> {
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

/**
 * A folder as it was read: ids of what lies in it, by name. In Drive a name may occur several times in a folder; the oldest file, and the
 * oldest folder, of a name is the one that counts.
 */
interface DriveFolder {
  id: string
  /** Its path below the connector's folder, which itself has the empty path. */
  path: string
  folders: Map<string, string>
  files: Map<string, string>
  /** Whether nothing else lies in it. */
  isWhole: boolean
}

interface Item {
  id: string
  name: string
  mimeType: string
  createdTime: string
  mark: unknown
}

const FOLDER = 'application/vnd.google-apps.folder'
/** Documents, shortcuts and folders of Google have no bytes. */
const GOOGLE = 'application/vnd.google-apps.'
const PAGE = '1000'

/** The property of a file that we created: the hash of its path (124 bytes are allowed for both). */
const markOf = async (path: string): Promise<{ path_sha256: string }> => ({
  path_sha256: new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(path))).toHex(),
})

/** The folders below a connector's folder. Each is read once, and remembered. */
class GoogleDriveFolders {
  readonly #api: GoogleDriveApi
  readonly #root: string
  #corpus: Record<string, string> = {}
  readonly #opened = new Map<string, DriveFolder>()
  readonly #oneByOne = new OneByOne()
  /** Ids of folders whose creation was not confirmed. */
  readonly #unconfirmed = new Map<string, string>()

  constructor(api: GoogleDriveApi, folder_id: string) {
    this.#api = api
    this.#root = folder_id
  }

  /** Returns a folder, or null. */
  find(path: string): Promise<DriveFolder | null> {
    return this.#oneByOne.do(
      path,
      async () => this.#opened.get(path) ?? this.#remember(path === '' ? await this.#openRoot() : await this.#openChild(path)),
    )
  }

  /** Returns a folder. It and those above it are created if they must be. */
  async create(path: string): Promise<DriveFolder> {
    const found = await this.find(path)
    if (found !== null) return found
    const [parentPath, name] = splitPath(path)
    const parent = await this.create(parentPath)
    return this.#oneByOne.do(path, async () => this.#opened.get(path) ?? this.#remember(await this.#createIn(parent, path, name)))
  }

  #remember<T extends DriveFolder | null>(folder: T): T {
    if (folder !== null) this.#opened.set(folder.path, folder)
    return folder
  }

  /** Returns the id of a file of a folder, or null. */
  async fileOf(folder: DriveFolder, name: string): Promise<string | null> {
    const known = folder.files.get(name)
    if (known !== undefined || folder.isWhole) return known ?? null
    const { files } = await this.#read(folder.id, folder.path, name)
    const found = files.get(name) ?? null
    if (found !== null) folder.files.set(name, found)
    return found
  }

  /** Puts a file or folder into the trash. One that is gone is removed. */
  async trash(id: string): Promise<void> {
    const answer = await this.#api.call('PATCH', `/drive/v3/files/${id}`, { fields: 'id' }, trashed)
    if (answer.status !== 404) this.#api.confirm(answer)
  }

  /** Forgets what was read, because it has changed. */
  forget(): void {
    this.#opened.clear()
  }

  async #openRoot(): Promise<DriveFolder> {
    const root = await this.#api.json('GET', `/drive/v3/files/${encodeURIComponent(this.#root)}`, { fields: 'id,mimeType,driveId,trashed' })
    if (root['mimeType'] !== FOLDER || root['trashed'] === true)
      throw new DestinationError('not_found', 'The folder_id names no folder, or one that is in the trash.')
    this.#corpus = { corpora: 'user' }
    if (typeof root['driveId'] !== 'string') return this.#read(this.#root, '')
    // All of a shared drive can be searched by its members only. Others have the folder shared with them.
    this.#corpus = { corpora: 'drive', driveId: root['driveId'] }
    return this.#read(this.#root, '').catch((error) => {
      if (!(error instanceof DestinationError && (error.code === 'not_found' || error.code === 'access_denied'))) throw error
      this.#corpus = { corpora: 'user' }
      return this.#read(this.#root, '')
    })
  }

  async #openChild(path: string): Promise<DriveFolder | null> {
    const [parentPath, name] = splitPath(path)
    const parent = await this.find(parentPath)
    if (parent === null) return null
    const found =
      parent.folders.get(name) ?? (parent.isWhole ? undefined : (await this.#read(parent.id, parentPath, name)).folders.get(name))
    return found === undefined ? null : this.#read(found, path)
  }

  async #createIn(parent: DriveFolder, path: string, name: string): Promise<DriveFolder> {
    const id = this.#unconfirmed.get(path) ?? (await this.#api.newId())
    this.#unconfirmed.set(path, id)
    const metadata = { id, name, mimeType: FOLDER, parents: [parent.id] }
    const body = { headers: JSON_TYPE, body: JSON.stringify(metadata) }
    const answer = await this.#api.call('POST', '/drive/v3/files', { fields: 'id' }, body)
    if (answer.status !== 409) this.#api.confirm(answer)
    // Another process may have created the same folder in the meantime. Everybody who creates one looks again, and keeps the oldest.
    const oldest = (await this.#read(parent.id, parent.path, name)).folders.get(name) ?? id
    this.#unconfirmed.delete(path)
    parent.folders.set(name, oldest)
    if (oldest === id && answer.status === 200) return { id, path, folders: new Map(), files: new Map(), isWhole: true }
    if (oldest !== id) await this.trash(id)
    return this.#read(oldest, path)
  }

  /**
   * Reads a folder: its oldest children, or all those of a name, in capitals or not. Removes the younger copy of a file that we created
   * twice.
   */
  async #read(id: string, path: string, name?: string): Promise<DriveFolder> {
    const ofName = name === undefined ? '' : ` and name = '${name.replace(/[\\']/g, '\\$&')}'`
    const list = await this.#api.json('GET', '/drive/v3/files', {
      q: `'${id}' in parents and trashed = false${ofName}`,
      fields: 'nextPageToken,incompleteSearch,files(id,name,mimeType,createdTime,appProperties)',
      ...{ orderBy: 'createdTime', pageSize: PAGE, spaces: 'drive', includeItemsFromAllDrives: 'true', ...this.#corpus },
    })
    const isWhole = name === undefined && list['nextPageToken'] === undefined && list['incompleteSearch'] !== true
    const folder: DriveFolder = { id, path, folders: new Map(), files: new Map(), isWhole }
    for (const item of itemsOf(list['files'])) {
      const isFolder = item.mimeType === FOLDER
      if (!isFolder && item.mimeType.startsWith(GOOGLE)) continue
      const known = isFolder ? folder.folders : folder.files
      if (!known.has(item.name)) known.set(item.name, item.id)
      else if (!isFolder && item.mark === (await markOf(joinPath(path, item.name))).path_sha256) await this.trash(item.id)
    }
    return folder
  }
}

const trashed = { headers: JSON_TYPE, body: JSON.stringify({ trashed: true }) }

function itemsOf(files: unknown): Item[] {
  if (!Array.isArray(files)) throw new DestinationError('refused', 'Google Drive did not answer with a list of files.')
  const items = files.map(membersOf).map(({ id, name, mimeType, createdTime, appProperties }) => ({
    ...{ id: String(id), name: String(name), mimeType: String(mimeType), createdTime: String(createdTime) },
    mark: membersOf(appProperties)['path_sha256'],
  }))
  return items.sort((one, other) => compare(one.createdTime, other.createdTime) || compare(one.id, other.id))
}

const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)

const joinPath = (folder: string, name: string): string => (folder === '' ? name : `${folder}/${name}`)

/** The folder of a path, and its last part. */
function splitPath(path: string): [folder: string, name: string] {
  const at = path.lastIndexOf('/')
  return [path.slice(0, Math.max(at, 0)), path.slice(at + 1)]
}

const utf8 = new TextEncoder()
const base64url = (bytes: Uint8Array): string => bytes.toBase64({ alphabet: 'base64url', omitPadding: true })

/** Signs claims with an RSA key: a JSON Web Token with RS256 (RFC 7515). `pem` is a private key in PKCS #8. Throws unless it is one. */
async function signedJwt(claims: object, pem: string): Promise<string> {
  const signed = [{ alg: 'RS256', typ: 'JWT' }, claims].map((part) => base64url(utf8.encode(JSON.stringify(part)))).join('.')
  const [, body] = /^-----BEGIN PRIVATE KEY-----([A-Za-z0-9+/=\s]+)-----END PRIVATE KEY-----$/.exec(pem.trim()) ?? []
  if (body === undefined) throw new Error('The private key is not in PEM.')
  const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }
  const key = await crypto.subtle.importKey('pkcs8', Uint8Array.fromBase64(body), algorithm, false, ['sign'])
  const signature = await crypto.subtle.sign(algorithm.name, key, utf8.encode(signed))
  return `${signed}.${base64url(new Uint8Array(signature))}`
}

/** The most bytes that one request sends. */
const LARGEST_SINGLE = 5_000_000
/** How often the bytes of one object are sent, the first time included. */
const MOST_SENDS = 3
const UPLOADS = '/upload/drive/v3/files'
const FIELDS = { fields: 'id,size,sha256Checksum' }

/** A file that is created with these members, or one that gets another content. */
type UploadTarget = { created: { id: string; name: string } & Record<string, unknown> } | { replaced: string }

/** Uploads the content of a file. Returns the answer whatever its status; a good one confirms that the bytes sent were stored. */
async function uploadFile(api: GoogleDriveApi, target: UploadTarget, object: StoredObject): Promise<ProviderAnswer> {
  const answer = await (object.bytes.length > LARGEST_SINGLE ? sendResumably : sendAtOnce)(api, target, object)
  if (answer.status !== 200 && answer.status !== 201) return answer
  api.confirm(answer)
  const { sha256Checksum, size } = jsonOf(answer)
  if (typeof sha256Checksum === 'string' ? sha256Checksum !== object.sha256 : Number(size) !== object.bytes.length)
    throw new DestinationError('refused', 'Google Drive stored other bytes than those that were sent (sha256Checksum).')
  return answer
}

function sendAtOnce(api: GoogleDriveApi, target: UploadTarget, { bytes, content_type }: StoredObject): Promise<ProviderAnswer> {
  if ('replaced' in target)
    return api.call(
      'PATCH',
      `${UPLOADS}/${target.replaced}`,
      { uploadType: 'media', ...FIELDS },
      { headers: { 'content-type': content_type }, body: bytes },
    )
  const boundary = `part-${crypto.randomUUID()}`
  const head = `--${boundary}\r\nContent-Type: ${JSON_TYPE['content-type']}\r\n\r\n${JSON.stringify(target.created)}\r\n`
  const parts = [`${head}--${boundary}\r\nContent-Type: ${content_type}\r\n\r\n`, bytes, `\r\n--${boundary}--`]
  const body = Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)))
  const headers = { 'content-type': `multipart/related; boundary=${boundary}` }
  return api.call('POST', UPLOADS, { uploadType: 'multipart', ...FIELDS }, { headers, body })
}

/** Opens an upload session and sends the bytes to it. After a break it asks how many have arrived, and sends the others. */
async function sendResumably(api: GoogleDriveApi, target: UploadTarget, { bytes, content_type }: StoredObject): Promise<ProviderAnswer> {
  const [method, path, metadata] =
    'replaced' in target ? (['PATCH', `${UPLOADS}/${target.replaced}`, {}] as const) : (['POST', UPLOADS, target.created] as const)
  const headers = { ...JSON_TYPE, 'x-upload-content-type': content_type, 'x-upload-content-length': String(bytes.length) }
  const opened = await api.call(method, path, { uploadType: 'resumable', ...FIELDS }, { headers, body: JSON.stringify(metadata) })
  if (opened.status !== 200) return opened
  const url = opened.headers.get('location') ?? ''
  // The access token goes there too.
  if (!/^https:\/\/(?:[\w-]+\.)*googleapis\.com\//i.test(url)) throw unexpected(opened)

  for (let sends = 1, from = 0; ; sends++) {
    const range = { 'content-type': content_type, 'content-range': `bytes ${from}-${bytes.length - 1}/${bytes.length}` }
    const sent = await sendPart(api.callUrl({ method: 'PUT', url, headers: range, body: bytes.subarray(from) }), sends === MOST_SENDS)
    if (sent !== null && (sent.status !== 308 || sends === MOST_SENDS)) return sent
    const asked = await api.callUrl({ method: 'PUT', url, headers: { 'content-range': `bytes */${bytes.length}` }, body: new Uint8Array() })
    if (asked.status !== 308) return asked
    const [, last] = /^bytes=0-(\d+)$/.exec(asked.headers.get('range') ?? '') ?? []
    from = last === undefined ? 0 : Number(last) + 1
  }
}

/**
 * A folder of Google Drive (version 3 of its API). Drive knows ids and no paths, and a name may occur twice in a folder. Four rules
 * nevertheless make one path one file: a folder is read before anything is created in it; a file is created under an id that Google made
 * before, so that a repetition after a lost answer is refused (409) and becomes an update; operations on one path wait for each other; and
 * a file that was created twice all the same, by two processes at once, loses its younger copy when the folder is read again.
 */
export function googleDrive(network: Network, { config, credentials }: SpecOf<'google_drive'>): Destination {
  const api = new GoogleDriveApi(network, credentials)
  const folders = new GoogleDriveFolders(api, config.folder_id)
  const oneByOne = new OneByOne()
  /** Ids of files whose creation was not confirmed, by path. */
  const unconfirmed = new Map<string, string>()

  /** Runs after earlier operations on the same path. A file that was read and is gone is looked for once more. */
  const inTurn = <T>(path: string, run: () => Promise<T>): Promise<T> =>
    oneByOne.do(path, () =>
      run().catch((error) => {
        if (!(error instanceof DestinationError && error.code === 'not_found')) throw error
        folders.forget()
        unconfirmed.delete(path)
        return run()
      }),
    )

  async function replace(id: string, object: StoredObject): Promise<void> {
    api.confirm(await uploadFile(api, { replaced: id }, object))
  }

  async function putNow(path: string, object: StoredObject): Promise<void> {
    const [folderPath, name] = splitPath(path)
    const folder = await folders.create(folderPath)
    const known = await folders.fileOf(folder, name)
    if (known !== null) return replace(known, object)
    const id = unconfirmed.get(path) ?? (await api.newId())
    unconfirmed.set(path, id)
    const created = { id, name, parents: [folder.id], mimeType: object.content_type, appProperties: await markOf(path) }
    const answer = await uploadFile(api, { created }, object)
    if (answer.status === 409) await replace(id, object)
    else api.confirm(answer)
    unconfirmed.delete(path)
    folder.files.set(name, id)
  }

  async function readNow(path: string): Promise<Uint8Array | null> {
    const [folderPath, name] = splitPath(path)
    const folder = await folders.find(folderPath)
    const id = folder && (await folders.fileOf(folder, name))
    if (id === null) return null
    const { sha256Checksum } = await api.json('GET', `/drive/v3/files/${id}`, { fields: 'id,sha256Checksum' })
    const answer = await api.call('GET', `/drive/v3/files/${id}`, { alt: 'media' })
    if (answer.status !== 200) throw api.errorOf(answer)
    if (sha256Checksum !== new Uint8Array(await crypto.subtle.digest('SHA-256', answer.body)).toHex()) throw unexpected(answer)
    return answer.body
  }

  /** Into the trash, because deleting for good takes more rights in a shared drive. */
  async function removeNow(path: string): Promise<void> {
    const [folderPath, name] = splitPath(path)
    const folder = await folders.find(folderPath)
    const id = folder && (await folders.fileOf(folder, name))
    if (folder === null || id === null) return
    await folders.trash(id)
    folder.files.delete(name)
  }

  return {
    put: (path, object) => inTurn(path, () => putNow(path, object)),
    read: (path) => inTurn(path, () => readNow(path)),
    remove: (path) => inTurn(path, () => removeNow(path)),
  }
}
