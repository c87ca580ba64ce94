import { membersOf } from '../../../src/copies/drivers/drives.ts'
import type { SpecOf } from '../../../src/copies/provider-contract.ts'
import { type Arrived, json, require, ScriptedProvider, sha256, text, utf8 } from './scripted.ts'
import type { Knowledge } from './wire.ts'

interface DriveFile {
  id: string
  name: string
  mimeType: string
  parents: string[]
  appProperties: Record<string, string>
  createdTime: string
  trashed: boolean
  bytes: Uint8Array | null
}

interface Session {
  target: { method: string; id: string | null; metadata: Record<string, unknown> }
  type: string
  length: number
  received: Uint8Array
  /** The answer to the last byte, which is repeated. */
  done: Response | null
}

export const FOLDER = 'application/vnd.google-apps.folder'
const KNOWN_QUERY =
  /^(?:fields|supportsAllDrives|q|orderBy|pageSize|spaces|includeItemsFromAllDrives|corpora|driveId|count|space|type|alt|uploadType|upload_id)$/
const QUERY = /^'(?<parent>[\w-]+)' in parents and trashed = false(?: and name = '(?<name>(?:[^\\']|\\['\\])*)')?$/

const error = (status: number, reason: string): Response =>
  json(status, {
    error: { code: status, message: `Secret text about ${reason}.`, errors: [{ domain: 'global', reason, message: 'Secret text.' }] },
  })

/**
 * Google Drive as its reference and guides describe it (developers.google.com/workspace/drive/api): files.get, list, create, update and
 * generateIds, the three kinds of uploads, and the token endpoint for refresh tokens and for service accounts.
 */
export class GoogleDriveStandIn extends ScriptedProvider {
  readonly hosts = ['www.googleapis.com', 'oauth2.googleapis.com']
  readonly root = 'root-of-the-customer_1'
  readonly files = new Map<string, DriveFile>()
  readonly tokens = new Map<string, number>()
  readonly account = { client_email: 'mirror@customer.iam.gserviceaccount.com', private_key: '' }
  readonly refreshing = {
    client_id: `client-${crypto.randomUUID()}`,
    client_secret: 'client-secret-1',
    refresh_token: '1//refresh-token-1',
  }
  /** The shared drive in which the root lies; null for a folder of My Drive. */
  driveId: string | null = null
  /** Whether the account is a member of the shared drive. Otherwise only the folder is shared with it. */
  isMember = true
  /** How many children the server puts on a page, whatever is asked for. */
  largestPage = 1_000
  /** New files are found by files.list only after so many further requests. */
  listingLag = 0
  lifeSeconds = 3_599
  #opened = 0
  #publicKey: CryptoKey | null = null
  #ids = new Set<string>()
  #sessions = new Map<string, Session>()
  #bornAt = new Map<string, number>()

  constructor() {
    super()
    this.add({ id: this.root, name: 'Contabilidad', mimeType: FOLDER, parents: ['somewhere'] })
  }

  /** A key of the service account, as Google's JSON has it. */
  async makeKey(): Promise<void> {
    const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256', modulusLength: 2_048, publicExponent: new Uint8Array([1, 0, 1]) }
    const { privateKey, publicKey } = (await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])) as CryptoKeyPair
    const der = new Uint8Array((await crypto.subtle.exportKey('pkcs8', privateKey)) as ArrayBuffer)
    this.#publicKey = publicKey
    this.account.private_key = `-----BEGIN PRIVATE KEY-----\n${Buffer.from(der).toString('base64').replace(/.{64}/g, '$&\n')}\n-----END PRIVATE KEY-----\n`
  }

  /** Puts a file there as somebody else would, and returns its id. */
  add(given: Partial<DriveFile>): string {
    const id = given.id ?? `foreign-${this.files.size}`
    const createdTime = new Date(Date.UTC(2026, 0, 1) + this.files.size).toISOString()
    const blank = { name: '', mimeType: 'application/xml', parents: [this.root], appProperties: {}, trashed: false, bytes: null }
    this.files.set(id, { ...blank, createdTime, ...given, id })
    return id
  }

  get secrets(): string[] {
    return [
      this.refreshing.client_secret,
      this.refreshing.refresh_token,
      this.account.private_key,
      'Secret text',
      ...this.tokens.keys(),
    ].filter((secret) => secret !== '')
  }

  spec(knowledge: Knowledge): { provider: 'google_drive' } & SpecOf<'google_drive'> {
    const isWrong = knowledge === 'wrong secret'
    const { account } = this
    // Every opening has its own token, so that asking for one is a step of each operation.
    const refreshing = { ...this.refreshing, refresh_token: `${this.refreshing.refresh_token}.${this.#opened++}` }
    return {
      provider: 'google_drive',
      config: { folder_id: knowledge === 'missing place' ? 'none' : this.root },
      credentials:
        account.private_key === ''
          ? { ...refreshing, ...(isWrong && { client_secret: 'another' }) }
          : { service_account: isWrong ? { ...account, client_email: 'another@customer.iam.gserviceaccount.com' } : account },
    }
  }

  objects(): { path: string; bytes: Uint8Array; content_type: string }[] {
    const below = (parent: string, at: string): ReturnType<typeof this.objects> =>
      [...this.files.values()]
        .filter(({ trashed, parents }) => !trashed && parents.includes(parent))
        .flatMap(({ id, name, mimeType, bytes }) =>
          mimeType === FOLDER
            ? below(id, `${at}${name}/`)
            : [{ path: `${at}${name}`, bytes: bytes ?? utf8('(none)'), content_type: mimeType }],
        )
    return below(this.root, '')
  }

  protected override refusal(): Response {
    return error(400, 'badRequest')
  }

  protected override async answerTo(request: Arrived): Promise<Response> {
    const { url, method, headers } = request
    if (url.host === 'oauth2.googleapis.com') return this.#grant(request)
    require(url.host === 'www.googleapis.com', 'There is no such host.')
    const [, token = ''] = /^Bearer (\S+)$/.exec(headers.get('authorization') ?? '') ?? []
    if (!(Date.now() < (this.tokens.get(token) ?? 0))) return error(401, 'authError')
    const query = url.searchParams
    for (const name of query.keys()) require(KNOWN_QUERY.test(name) && query.getAll(name).length === 1, `The parameter ${name}.`)
    const [, upload, id] = /^(\/upload)?\/drive\/v3\/files(?:\/([\w-]+))?$/.exec(url.pathname) ?? []
    require(url.pathname.includes('/drive/v3/files'), 'There is no such path.')
    if (upload !== undefined) return this.#upload(request, id ?? null)
    if (id === 'generateIds') return this.#generateIds(request)
    if (id === undefined && method === 'GET') return this.#list(query)
    require(query.get('supportsAllDrives') === 'true', 'Files of shared drives need supportsAllDrives.')
    if (id === undefined) return this.#create(request)
    const file = this.files.get(id)
    if (!file) return error(404, 'notFound')
    if (method === 'PATCH') {
      require(headers.get('content-type')?.startsWith('application/json'), 'Metadata are JSON.')
      require(text(request.body) === '{"trashed":true}', 'Nothing but trashed is changed without an upload.')
      file.trashed = true
      return json(200, { id })
    }
    require(method === 'GET' && request.body.length === 0, 'files.get has no body.')
    if (query.get('alt') !== 'media') return this.#metadata(file, query)
    require(file.bytes !== null, 'Only files with bytes can be downloaded.')
    return new Response(file.bytes, { headers: { 'content-type': file.mimeType } })
  }

  async #grant({ method, url, headers, body }: Arrived): Promise<Response> {
    require(method === 'POST' && url.pathname === '/token' && url.search === '', 'The token endpoint is POST /token.')
    require(headers.get('content-type') === 'application/x-www-form-urlencoded', 'Its body is a form.')
    const form = Object.fromEntries(new URLSearchParams(text(body)))
    if (form['grant_type'] === 'refresh_token') {
      const { grant_type: _, ...rest } = form
      require(Object.keys(rest).sort().join() === 'client_id,client_secret,refresh_token', 'A refresh has three parameters.')
      if (rest['client_secret'] !== this.refreshing.client_secret) return json(401, { error: 'invalid_client' })
      if (!rest['refresh_token']!.startsWith(this.refreshing.refresh_token))
        return json(400, { error: 'invalid_grant', error_description: 'Bad.' })
    } else {
      require(form['grant_type'] === 'urn:ietf:params:oauth:grant-type:jwt-bearer', 'The grant_type.')
      const [head = '', claims = '', signature = ''] = form['assertion']?.split('.') ?? []
      const part = (encoded: string) => JSON.parse(Buffer.from(encoded, 'base64url').toString())
      const { iss, scope, aud, iat, exp } = part(claims)
      require(part(head).alg === 'RS256' && aud === 'https://oauth2.googleapis.com/token', 'The algorithm and the audience.')
      require(scope === 'https://www.googleapis.com/auth/drive', 'The scope.')
      require(Math.abs(iat - Date.now() / 1_000) < 60 && exp > iat && exp - iat <= 3_600, 'A life of at most an hour.')
      const signed = Buffer.from(signature, 'base64url')
      const isValid = await crypto.subtle.verify('RSASSA-PKCS1-v1_5', this.#publicKey!, signed, utf8(`${head}.${claims}`))
      if (!isValid || iss !== this.account.client_email) return json(400, { error: 'invalid_grant', error_description: 'Invalid JWT.' })
    }
    const access_token = `ya29.${crypto.randomUUID()}`
    this.tokens.set(access_token, Date.now() + this.lifeSeconds * 1_000)
    return json(200, { access_token, expires_in: this.lifeSeconds, token_type: 'Bearer' })
  }

  async #metadata(file: DriveFile, query: URLSearchParams): Promise<Response> {
    const { bytes, ...others } = { ...file, ...(this.driveId !== null && { driveId: this.driveId }) }
    const members = { ...others, ...(bytes && { size: String(bytes.length), sha256Checksum: await sha256(bytes) }) }
    const fields = query.get('fields')!.split(',')
    return json(200, Object.fromEntries(Object.entries(members).filter(([name]) => fields.includes(name))))
  }

  #generateIds({ method, url: { searchParams: query } }: Arrived): Response {
    const count = Number(query.get('count'))
    require(method === 'GET' && count >= 1 && count <= 1_000, 'At most 1,000 ids.')
    require(query.get('space') === 'drive' && query.get('type') === 'files', 'Ids for files of Drive.')
    const ids = Array.from({ length: count }, () => `1${crypto.randomUUID().replaceAll('-', '')}`)
    for (const id of ids) this.#ids.add(id)
    return json(200, { kind: 'drive#generatedIds', space: 'drive', ids })
  }

  #list(query: URLSearchParams): Response {
    const { parent = '', name } = QUERY.exec(query.get('q') ?? '')?.groups ?? {}
    require(parent !== '', 'The query is not one of the two that are known here.')
    require(query.get('supportsAllDrives') === 'true' && query.get('includeItemsFromAllDrives') === 'true', 'Items of shared drives.')
    require(query.get('spaces') === 'drive' && query.get('orderBy') === 'createdTime', 'The space and the order.')
    require(Number(query.get('pageSize')) <= 1_000, 'At most 1,000 on a page.')
    const isDrive = query.get('corpora') === 'drive'
    require(isDrive || (query.get('corpora') === 'user' && !query.has('driveId')), 'The corpus is a shared drive, or what the user has.')
    if (isDrive && (query.get('driveId') !== this.driveId || !this.isMember)) return error(404, 'notFound')
    require(isDrive || this.driveId === null || !this.isMember, 'Members search the whole drive.')
    const wanted = name?.replace(/\\(.)/g, '$1').toLowerCase()
    const isVisible = ({ id }: DriveFile) => (this.#bornAt.get(id) ?? 0) + this.listingLag < this.requests.length
    const found = [...this.files.values()]
      .filter((file) => !file.trashed && file.parents.includes(parent) && (wanted === undefined || file.name.toLowerCase() === wanted))
      .filter((file) => this.listingLag === 0 || isVisible(file))
    const page = found.slice(0, this.largestPage).map(({ bytes: _, ...file }) => file)
    return json(200, { files: page, incompleteSearch: false, ...(found.length > page.length && { nextPageToken: 'next' }) })
  }

  #create({ method, headers, body }: Arrived): Response {
    require(method === 'POST' && headers.get('content-type')?.startsWith('application/json'), 'Metadata are JSON.')
    const metadata = membersOf(JSON.parse(text(body)))
    require(metadata['mimeType'] === FOLDER, 'Only folders are created without an upload.')
    return this.#store(metadata, null, '')
  }

  #store(metadata: Record<string, unknown>, bytes: Uint8Array | null, type: string): Response {
    const { id, name, parents, appProperties = {}, mimeType = type, ...others } = metadata
    require(Object.keys(others).length === 0, `The members ${Object.keys(others)}.`)
    require(typeof id === 'string' && this.#ids.has(id), 'The id is not one that was generated.')
    require(typeof name === 'string' && name !== '', 'A file has a name.')
    require(Array.isArray(parents) && parents.length === 1, 'A file has one parent.')
    for (const [key, value] of Object.entries(appProperties as object))
      require(utf8(key + value).length <= 124, 'A property has 124 bytes.')
    if (this.files.get(parents[0])?.mimeType !== FOLDER) return error(404, 'notFound')
    if (this.files.has(id)) return error(409, 'fileIdInUse')
    this.#bornAt.set(id, this.requests.length)
    this.add({ id, name, mimeType: String(mimeType), parents, appProperties: appProperties as Record<string, string>, bytes })
    return json(200, { id })
  }

  async #upload(request: Arrived, id: string | null): Promise<Response> {
    const { method, headers, body, url } = request
    const query = url.searchParams
    const session = query.get('upload_id')
    if (session !== null) return this.#sendTo(session, request)
    require(query.get('supportsAllDrives') === 'true', 'Files of shared drives need supportsAllDrives.')
    require(method === (id === null ? 'POST' : 'PATCH'), 'Files are created by POST and changed by PATCH.')
    if (id !== null && !this.files.has(id)) return error(404, 'notFound')
    require(id === null || !this.files.get(id)!.mimeType.startsWith('application/vnd.google-apps.'), 'Only files with bytes are uploaded.')
    const type = headers.get('content-type') ?? ''
    switch (query.get('uploadType')) {
      case 'media':
        require(id !== null && body.length <= 5_000_000, 'A simple upload has no metadata and at most 5 MB.')
        return this.#finish({ method, id, metadata: {} }, body, type)
      case 'multipart': {
        const [, boundary = ''] = /^multipart\/related; boundary=([\w-]{1,70})$/.exec(type) ?? []
        require(boundary !== '' && body.length <= 5_000_000 + 1_000, 'multipart/related of at most 5 MB.')
        const raw = Buffer.from(body).toString('latin1')
        const head = `--${boundary}\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n`
        const [, metadata = '', media, content = ''] =
          new RegExp(`^${head}(.*?)\r\n--${boundary}\r\nContent-Type: ([^\r\n]+)\r\n\r\n(.*)\r\n--${boundary}--$`, 's').exec(raw) ?? []
        require(media !== undefined, 'The metadata come first, then the media.')
        return this.#finish(
          { method, id, metadata: JSON.parse(Buffer.from(metadata, 'latin1').toString()) },
          new Uint8Array(Buffer.from(content, 'latin1')),
          media,
        )
      }
      default: {
        require(query.get('uploadType') === 'resumable' && type === 'application/json; charset=UTF-8', 'The kind of upload.')
        const [of, length] = [headers.get('x-upload-content-type'), headers.get('x-upload-content-length')]
        require(of && /^\d+$/.test(length ?? ''), 'X-Upload-Content-Type and X-Upload-Content-Length.')
        const metadata = membersOf(JSON.parse(text(body)))
        if (this.files.has(String(metadata['id']))) return error(409, 'fileIdInUse')
        const upload_id = crypto.randomUUID()
        this.#sessions.set(upload_id, {
          target: { method, id, metadata },
          type: of,
          length: Number(length),
          received: new Uint8Array(),
          done: null,
        })
        const location = `https://www.googleapis.com/upload/drive/v3/files?uploadType=resumable&upload_id=${upload_id}`
        return new Response(null, { headers: { location } })
      }
    }
  }

  /** Takes over what arrived of a request that broke: the first so many bytes. */
  receivePart({ url, body }: Arrived, bytes: number): void {
    const session = this.#sessions.get(url.searchParams.get('upload_id') ?? '')!
    session.received = new Uint8Array(Buffer.concat([session.received, body.subarray(0, bytes)]))
  }

  async #sendTo(id: string, { method, headers, body }: Arrived): Promise<Response> {
    const session = this.#sessions.get(id)
    if (!session) return error(404, 'notFound')
    const range = headers.get('content-range') ?? ''
    require(method === 'PUT', 'A session takes PUT.')
    if (body.length > 0) {
      const [, from, to, of] = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(range)?.map(Number) ?? []
      require(of === session.length && to! - from! + 1 === body.length, 'The range is that of the bytes.')
      require(from === session.received.length, 'The bytes continue those that have arrived.')
      session.received = new Uint8Array(Buffer.concat([session.received, body]))
    } else require(range === `bytes */${session.length}`, 'The question how many bytes have arrived.')
    const arrived = session.received.length
    if (arrived < session.length)
      return new Response(null, { status: 308, headers: arrived > 0 ? { range: `bytes=0-${arrived - 1}` } : {} })
    session.done ??= await this.#finish(session.target, session.received, session.type)
    return session.done.clone()
  }

  async #finish({ id, metadata }: Session['target'], bytes: Uint8Array, type: string): Promise<Response> {
    const made = { size: String(bytes.length), sha256Checksum: await sha256(bytes) }
    if (id === null) {
      const answer = this.#store(metadata, bytes, type)
      return answer.status === 200 ? json(200, { id: metadata['id'], ...made }) : answer
    }
    this.files.get(id)!.bytes = bytes
    return json(200, { id, ...made })
  }
}
