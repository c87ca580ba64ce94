import { membersOf } from '../../../src/copies/drivers/drives.ts'
import type { SpecOf } from '../../../src/copies/provider-contract.ts'
import { quickXorHash } from '../../../src/platform/hash.ts'
import { type Arrived, json, require, ScriptedProvider, text } from './scripted.ts'
import type { Knowledge } from './wire.ts'

interface Item {
  id: string
  name: string
  parent: string
  bytes: Uint8Array | null
  content_type: string
}

interface Session {
  parent: Item
  name: string
  total: number | null
  received: Uint8Array
}

const KIB_320 = 327_680
const RESERVED = /["*:<>?/\\|]|^\s|\s$|\.$|^~|^\.lock$|^(?:CON|PRN|AUX|NUL|COM\d|LPT\d|desktop\.ini)$|_vti_/i
const SESSIONS = 'sn3302.up.1drv.com'
const DOWNLOADS = 'b0mpua-by3301.files.1drv.com'

const error = (status: number, code: string, inner?: string): Response =>
  json(status, { error: { code, message: `Secret text about ${code}.`, ...(inner && { innererror: { code: inner } }) } })

/**
 * OneDrive as the reference of Microsoft Graph 1.0 describes it (learn.microsoft.com/graph/api, driveItem): content by path, upload
 * sessions, children, deletion, and the token endpoint, which replaces the refresh token whenever it is used and revokes none.
 */
export class OneDriveStandIn extends ScriptedProvider {
  readonly hosts = ['graph.microsoft.com', 'login.microsoftonline.com', SESSIONS, DOWNLOADS]
  readonly config = { tenant: 'contoso.example', drive_id: 'b!drive-1' as string | null, folder_id: 'folder-1' as string | null }
  readonly credentials = {
    client_id: `client-${crypto.randomUUID()}`,
    client_secret: 'client-secret-2',
    refresh_token: 'M.refresh-token-0',
  }
  /** All that were ever issued. */
  readonly refreshTokens = ['M.refresh-token-0']
  readonly tokens = new Map<string, number>()
  readonly items = new Map<string, Item>([['folder-1', { id: 'folder-1', name: 'Facturas', parent: '', bytes: null, content_type: '' }]])
  readonly sessions = new Map<string, Session>()
  /** Whether uploads create the folders above a file. */
  createsFolders = true
  lifeSeconds = 3_599
  /** The drive of the account whose tokens are used. Other accounts have no access to it. */
  accountDrive = 'b!account-1'

  get secrets(): string[] {
    return [this.credentials.client_secret, ...this.refreshTokens, 'Secret text', ...this.tokens.keys()]
  }

  spec(knowledge: Knowledge): { provider: 'onedrive' } & SpecOf<'onedrive'> {
    return {
      provider: 'onedrive',
      config: { ...this.config, ...(knowledge === 'missing place' && { folder_id: 'none' }) },
      // Every opening has its own token, so that asking for one is a step of each operation.
      credentials: {
        ...this.credentials,
        refresh_token: `${this.credentials.refresh_token}.${this.requests.length}`,
        ...(knowledge === 'wrong secret' && { client_secret: 'another' }),
      },
    }
  }

  objects(): { path: string; bytes: Uint8Array; content_type: string }[] {
    const pathOf = ({ parent, name }: Item): string => (parent === 'folder-1' ? name : `${pathOf(this.items.get(parent)!)}/${name}`)
    return [...this.items.values()].flatMap((item) =>
      item.bytes === null ? [] : [{ path: pathOf(item), bytes: item.bytes, content_type: item.content_type }],
    )
  }

  protected override refusal(): Response {
    return error(400, 'invalidRequest')
  }

  protected override answerTo(request: Arrived): Response {
    const { url, headers } = request
    if (url.host === 'login.microsoftonline.com') return this.#grant(request)
    if (url.host === SESSIONS) return this.#session(request)
    if (url.host === DOWNLOADS) {
      require(request.method === 'GET' && !headers.has('authorization'), 'A download needs no token.')
      return new Response(this.items.get(url.pathname.slice(1))!.bytes)
    }
    require(url.host === 'graph.microsoft.com', 'There is no such host.')
    const [, token = ''] = /^Bearer (\S+)$/.exec(headers.get('authorization') ?? '') ?? []
    if (!(Date.now() < (this.tokens.get(token) ?? 0))) return error(401, 'InvalidAuthenticationToken')
    if (url.pathname === '/v1.0/me/drive') {
      require(request.method === 'GET' && url.search === '?$select=id', 'The id of the drive.')
      return json(200, { id: this.accountDrive })
    }
    const drive = `/drives/${encodeURIComponent(this.config.drive_id ?? this.accountDrive)}`
    const root = `/v1.0${drive}${this.config.folder_id === null ? '/root' : `/items/${this.config.folder_id}`}`
    if (!new RegExp(`^${RegExp.escape(root)}(?:$|/|:/)`).test(url.pathname)) return error(404, 'itemNotFound')
    const [, path = '', action = ''] =
      /^(?::\/(.+):)?(?:\/(content|children|createUploadSession))?$/.exec(url.pathname.slice(root.length)) ?? []
    const names = path === '' ? [] : path.split('/').map(decodeURIComponent)
    for (const name of names) require(!RESERVED.test(name) && name.length <= 255, `The name ${name}.`)
    require(names.join('/').length <= 400, 'A path has at most 400 characters.')
    return this.#act(request, action, names)
  }

  #act(request: Arrived, action: string, names: string[]): Response {
    const { method, url, body, headers } = request
    const query = url.search
    switch (`${method} ${action}`) {
      case 'PUT content': {
        require(query === '?@microsoft.graph.conflictBehavior=replace', 'A file of the same name is replaced.')
        require(body.length <= 4 * 1_048_576, 'At most 4 MiB.')
        require(headers.has('content-type'), 'Content-Type is required.')
        const parent = this.#parentOf(names, this.createsFolders)
        return parent === null ? error(404, 'itemNotFound') : this.#store(parent, names.at(-1)!, body, headers.get('content-type')!)
      }
      case 'POST createUploadSession': {
        require(query === '' && headers.get('content-type') === 'application/json', 'The session is described in JSON.')
        const { item, ...others } = membersOf(JSON.parse(text(body)))
        const { name, '@microsoft.graph.conflictBehavior': behavior, ...more } = membersOf(item)
        require(name === names.at(-1) && behavior === 'replace', 'The name and the conflict behavior.')
        require(Object.keys({ ...others, ...more }).length === 0, 'Nothing else.')
        // Sessions never create folders.
        const parent = this.#parentOf(names, false)
        if (parent === null) return error(404, 'itemNotFound')
        const id = crypto.randomUUID()
        this.sessions.set(id, { parent, name: String(name), total: null, received: new Uint8Array() })
        return json(200, { uploadUrl: `https://${SESSIONS}/up/${id}`, expirationDateTime: '2026-12-01T00:00:00Z' })
      }
      case 'POST children': {
        const { name, folder, '@microsoft.graph.conflictBehavior': behavior } = membersOf(JSON.parse(text(body)))
        require(typeof name === 'string' && JSON.stringify(folder) === '{}' && behavior === 'fail', 'A folder, unless there is one.')
        const parent = this.#find(names)
        if (!parent) return error(404, 'itemNotFound')
        if (this.#child(parent, name)) return error(409, 'nameAlreadyExists')
        const { id } = this.#add(parent, name, null)
        return json(201, { id, name, folder: { childCount: 0 } })
      }
      case 'GET ': {
        const item = this.#find(names)
        if (!item) return error(404, 'itemNotFound')
        const { id, name, bytes } = item
        if (bytes === null) return json(200, { id, name, folder: {} })
        return json(200, { ...itemOf(item), '@microsoft.graph.downloadUrl': `https://${DOWNLOADS}/${id}?tempauth=1` })
      }
      case 'DELETE ': {
        const item = this.#find(names)
        require(names.length > 0, 'The root cannot be deleted.')
        if (!item) return error(404, 'itemNotFound')
        this.items.delete(item.id)
        return new Response(null, { status: 204 })
      }
      default:
        require(false, 'There is no such operation.')
    }
  }

  #grant({ method, url, headers, body }: Arrived): Response {
    require(method === 'POST' && url.pathname === `/${this.config.tenant}/oauth2/v2.0/token` && url.search === '', 'The token endpoint.')
    require(headers.get('content-type') === 'application/x-www-form-urlencoded', 'Its body is a form.')
    const { grant_type, client_id, client_secret, refresh_token, ...others } = Object.fromEntries(new URLSearchParams(text(body)))
    require(grant_type === 'refresh_token' && Object.keys(others).length === 0, 'A refresh.')
    if (client_id !== this.credentials.client_id || client_secret !== this.credentials.client_secret)
      return json(401, { error: 'invalid_client', error_description: 'AADSTS7000215: Secret text.', error_codes: [7_000_215] })
    if (!this.refreshTokens.some((token) => refresh_token!.startsWith(token)))
      return json(400, { error: 'invalid_grant', error_description: 'AADSTS70008: Secret text.', error_codes: [70_008] })
    this.refreshTokens.push(`M.refresh-token-${this.refreshTokens.length}`)
    const access_token = `eyJ0.${crypto.randomUUID()}`
    this.tokens.set(access_token, Date.now() + this.lifeSeconds * 1_000)
    return json(200, {
      token_type: 'Bearer',
      scope: 'Files.ReadWrite',
      expires_in: this.lifeSeconds,
      access_token,
      refresh_token: this.refreshTokens.at(-1),
    })
  }

  #session({ method, url, headers, body }: Arrived): Response {
    const id = url.pathname.replace('/up/', '')
    const session = this.sessions.get(id)
    if (headers.has('authorization')) return error(401, 'unauthenticated')
    if (!session) return error(404, 'itemNotFound', 'uploadSessionNotFound')
    if (method === 'DELETE') {
      this.sessions.delete(id)
      return new Response(null, { status: 204 })
    }
    const state = () => ({ expirationDateTime: '2026-12-01T00:00:00Z', nextExpectedRanges: [`${session.received.length}-`] })
    if (method === 'GET') return json(200, state())
    require(method === 'PUT', 'A session takes PUT.')
    const [, from, to, total] = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(headers.get('content-range') ?? '')?.map(Number) ?? []
    require(to! - from! + 1 === body.length && body.length < 60 * 1_048_576, 'The range is that of the bytes.')
    require(session.total === null || session.total === total, 'The total does not change.')
    require(to! + 1 === total || body.length % KIB_320 === 0, 'Fragments are multiples of 320 KiB.')
    session.total = total!
    if (from !== session.received.length)
      return error(416, 'invalidRange', from! < session.received.length ? 'fragmentOverlap' : 'fragmentOutOfOrder')
    session.received = new Uint8Array(Buffer.concat([session.received, body]))
    if (session.received.length < total!) return json(202, state())
    this.sessions.delete(id)
    return this.#store(session.parent, session.name, session.received)
  }

  /** Names are told apart without regard to capitals. */
  #child(parent: Item, name: string): Item | undefined {
    return [...this.items.values()].find((item) => item.parent === parent.id && item.name.toLowerCase() === name.toLowerCase())
  }

  #find(names: string[]): Item | undefined {
    return names.reduce<Item | undefined>((at, name) => at && this.#child(at, name), this.items.get('folder-1'))
  }

  #parentOf(names: string[], mayCreate: boolean): Item | null {
    let at = this.items.get('folder-1')!
    for (const name of names.slice(0, -1)) {
      const child = this.#child(at, name)
      if (!child && !mayCreate) return null
      at = child ?? this.#add(at, name, null)
    }
    return at
  }

  #add(parent: Item, name: string, bytes: Uint8Array | null): Item {
    const item = { id: `item-${crypto.randomUUID()}`, name, parent: parent.id, bytes, content_type: '' }
    this.items.set(item.id, item)
    return item
  }

  #store(parent: Item, name: string, bytes: Uint8Array, content_type = ''): Response {
    const known = this.#child(parent, name)
    const item = known ?? this.#add(parent, name, bytes)
    Object.assign(item, { bytes, content_type })
    return json(known ? 200 : 201, itemOf(item))
  }
}

const itemOf = ({ id, name, bytes }: Item) => ({
  ...{ id, name, size: bytes!.length },
  file: { hashes: { quickXorHash: Buffer.from(quickXorHash(bytes!)).toString('base64') } },
})
