import { joined } from '../../platform/bytes/bytes.ts'
import { quickXorHash } from '../../platform/hash.ts'
import { targetFault } from '../../platform/target.ts'
import type { OneDriveCredentials, SpecOf } from '../provider-contract.ts'
import { type Destination, DestinationError, type DestinationFault, type StoredObject } from './port.ts'

/** Does work with the same key one after the other, within one invocation: it must not wait for a promise of another invocation. */
export class OneByOne {
  readonly #last = new Map<string, Promise<unknown>>()

  /** Does the work when all earlier work under its key has ended, well or not. */
  async do<T>(key: string, work: () => Promise<T>): Promise<T> {
    const next = () => work()
    const mine = Promise.resolve(this.#last.get(key)).then(next, next)
    this.#last.set(key, mine)
    try {
      return await mine
    } finally {
      if (this.#last.get(key) === mine) this.#last.delete(key)
    }
  }
}

/** For one request, from its first byte to the last one of its answer. */
const TIMEOUT_MS = 15_000
/**
 * The most bytes of an object that is read, and of any other answer. A destination must not use up the memory of the service, and one
 * Worker passes less than 32 MiB to another.
 */
const [LARGEST_OBJECT, LARGEST_ANSWER] = [31 * 1_048_576, 1_048_576]

/** The way by which drivers reach their providers. */
export interface Network {
  /** The service's own host names, which no destination may have. */
  publicHosts: readonly string[]
  fetch(url: string, init: RequestInit): Promise<Response>
}

export interface ProviderRequest {
  method: string
  url: string
  headers?: Record<string, string> | Headers
  body?: Uint8Array | string
}

export interface ProviderAnswer {
  status: number
  headers: Headers
  body: Uint8Array
}

/**
 * Sends one request to a provider and returns its whole answer, whatever its status. Redirects are not followed. The URL may contain a
 * secret: no error repeats it. Throws DestinationError address_refused, timeout, connection_failed or refused.
 */
export async function call(network: Network, { url, ...request }: ProviderRequest): Promise<ProviderAnswer> {
  // The rest of the URL cannot change the host, and may be longer than a customer's URL.
  const fault = targetFault(/^[^:/?#]*:\/\/[^/?#]*/.exec(url)?.[0] ?? url, network.publicHosts)
  if (fault !== null) throw new DestinationError('address_refused', `The address of the destination may not be called. ${fault}`)
  const { signal, abort, expired, end } = timer()
  try {
    const answer = await Promise.race([network.fetch(url, { ...request, redirect: 'manual', signal }), expired])
    return {
      status: answer.status,
      headers: answer.headers,
      body: await bodyOf(answer, request.method === 'GET' ? LARGEST_OBJECT : LARGEST_ANSWER, expired),
    }
  } catch (error) {
    abort()
    if (error instanceof DestinationError) throw error
    // The error of the network is not passed on: it could name hosts, or the URL.
    throw new DestinationError('connection_failed', 'The connection to the destination could not be made, or it broke.')
  } finally {
    end()
  }
}

function timer() {
  const controller = new AbortController()
  const { promise: expired, reject } = Promise.withResolvers<never>()
  expired.catch(() => null)
  const abort = () => controller.abort()
  const clock = setTimeout(() => {
    reject(new DestinationError('timeout', `The destination did not answer within ${TIMEOUT_MS / 1_000} seconds.`))
    abort()
  }, TIMEOUT_MS)
  return { signal: controller.signal, abort, expired, end: () => clearTimeout(clock) }
}

async function bodyOf({ body }: Response, most: number, expired: Promise<never>): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  let length = 0
  const reader = body?.getReader()
  for (;;) {
    const piece = await Promise.race([reader?.read(), expired])
    if (!piece || piece.done) break
    pieces.push(piece.value)
    length += piece.value.length
    if (length > most) throw new DestinationError('refused', `The destination answered with more than ${most} bytes.`)
  }
  return joined(pieces)
}

/** The members of an answer that is a JSON object; none of any other answer. */
export function jsonOf({ body }: ProviderAnswer): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(body))
    return membersOf(value)
  } catch {
    return {}
  }
}

export const membersOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}

/** Sends a part of a large object. Returns null when the connection broke or the provider failed, and the part may be sent again. */
export async function sendPart(sending: Promise<ProviderAnswer>, isLast: boolean): Promise<ProviderAnswer | null> {
  try {
    const answer = await sending
    return isLast || answer.status < 500 || answer.headers.has('retry-after') ? answer : null
  } catch (error) {
    if (!isLast && error instanceof DestinationError && error.code === 'connection_failed') return null
    throw error
  }
}

/** The faults by a provider's short error codes, with the beginning of a sentence where that of the fault says too little. */
export type FaultTable = Record<string, DestinationFault | readonly [DestinationFault, string]>

const SENTENCES: Record<DestinationFault, string> = {
  access_denied: 'The provider refuses the credentials, or they lack a permission',
  not_found: 'The destination does not exist at the provider',
  storage_full: 'The storage of the destination is full',
  rate_limited: 'The provider asks to send less',
  unavailable: 'The provider cannot serve the request at present',
  timeout: 'The provider gave up waiting',
  connection_failed: 'The connection to the destination could not be made, or it broke',
  address_refused: 'The address of the destination may not be called',
  refused: 'The provider refuses the request',
}

const BY_STATUS: Record<number, DestinationFault> = {
  401: 'access_denied',
  403: 'access_denied',
  404: 'not_found',
  408: 'timeout',
  429: 'rate_limited',
  507: 'storage_full',
}

/** Statuses with which the network in front of a provider says that it cannot reach it: 530 is an unknown host name. */
const isUnreachable = (status: number): boolean => status >= 520 && status <= 530

function faultOf({ status }: ProviderAnswer): DestinationFault {
  if (isUnreachable(status)) return 'connection_failed'
  return BY_STATUS[status] ?? (status >= 500 ? 'unavailable' : 'refused')
}

/**
 * The error for an answer that is not what was asked for. `code` is the provider's short error code; a code that is not in the table is
 * shown only when it is a word without any part of a credential.
 */
export function errorOf(answer: ProviderAnswer, code: string, table: FaultTable, secrets: readonly string[]): DestinationError {
  const known = Object.hasOwn(table, code) ? table[code]! : faultOf(answer)
  const [fault, sentence] = typeof known === 'string' ? [known, SENTENCES[known]] : known
  const isWord = Object.hasOwn(table, code) || (/^[A-Za-z]{3,40}$/.test(code) && !secrets.some((secret) => secret.includes(code)))
  return new DestinationError(fault, `${sentence} (${isWord ? `${code}, ` : ''}status ${answer.status}).`, retryAfterOf(answer))
}

/** The error for an answer of a good status that contradicts the provider's documentation. */
export const unexpected = ({ status }: ProviderAnswer): DestinationError =>
  new DestinationError('refused', `The answer of the destination is not what its kind of provider answers (status ${status}).`)

/** Reads Retry-After: seconds, or a date. Longer waits become 30 years. */
function retryAfterOf({ headers }: ProviderAnswer): number | null {
  const value = headers.get('retry-after')?.trim() ?? ''
  if (/^\d+$/.test(value)) return Math.min(Number(value), 1e9)
  const at = Date.parse(value)
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - Date.now()) / 1_000))
}

/** The grant of a token endpoint (RFC 6749, section 5.1). */
export interface Grant {
  access_token: string
  expires_in: number
  /** A new refresh token, for a provider that replaces them. */
  refresh_token?: string
}

const DISPUTED = 'The provider refuses the credentials. They may have expired or been revoked: replace them'
const FAULTS: FaultTable = {
  ...Object.fromEntries(
    ['invalid_grant', 'invalid_client', 'invalid_request', 'invalid_scope', 'unauthorized_client', 'access_denied'].map((code) => [
      code,
      ['access_denied', DISPUTED],
    ]),
  ),
  interaction_required: ['access_denied', 'The provider asks the user to sign in again: replace the credentials'],
  consent_required: ['access_denied', 'The user has not consented to the permissions of the application'],
  temporarily_unavailable: 'unavailable',
  server_error: 'unavailable',
  slow_down: 'rate_limited',
}

/** Asks a token endpoint for an access token. Throws DestinationError. */
export async function requestGrant(network: Network, url: string, form: Record<string, string>): Promise<Grant> {
  const answer = await call(network, {
    method: 'POST',
    url,
    headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
    body: new URLSearchParams(form).toString(),
  })
  const { error, access_token, expires_in, refresh_token } = jsonOf(answer)
  if (answer.status !== 200) throw errorOf(answer, String(error ?? ''), FAULTS, Object.values(form))
  // The token goes into a header.
  if (typeof access_token !== 'string' || !/^[\x21-\x7e]+$/.test(access_token) || !(Number(expires_in) > 0)) throw unexpected(answer)
  return { access_token, expires_in: Number(expires_in), ...(typeof refresh_token === 'string' && { refresh_token }) }
}

/** The access tokens of this isolate, by a hash of the credentials that they were made with. They are never stored or logged. */
const tokens = new Map<string, { value: string; until: number }>()
const MOST_TOKENS = 1_000
/** A token is not used in the last minute of its life. */
const MARGIN_MS = 60_000

/**
 * Returns what sends requests with the access token of credentials: asked for when there is none, and otherwise taken from the isolate's
 * memory. A token that the provider refuses is replaced once. `ask` returns a grant and the credentials to use from then on.
 */
export function withAccessToken<Credentials extends object>(
  network: Network,
  first: Credentials,
  ask: (credentials: Credentials) => Promise<readonly [Grant, Credentials]>,
): (request: ProviderRequest) => Promise<ProviderAnswer> {
  const oneByOne = new OneByOne()
  let credentials = first
  const tokenExcept = (refused: string): Promise<string> =>
    oneByOne.do('token', async () => {
      const known = tokens.get(await keyOf(credentials))
      if (known && known.value !== refused && Date.now() < known.until) return known.value
      const asked = Date.now()
      const [{ access_token, expires_in }, renewed] = await ask(credentials)
      credentials = renewed
      if (tokens.size >= MOST_TOKENS) tokens.delete(tokens.keys().next().value!)
      tokens.set(await keyOf(renewed), { value: access_token, until: asked + expires_in * 1_000 - MARGIN_MS })
      return access_token
    })
  const send = (request: ProviderRequest, token: string): Promise<ProviderAnswer> => {
    const headers = new Headers(request.headers)
    headers.set('authorization', `Bearer ${token}`)
    return call(network, { ...request, headers })
  }
  return async (request) => {
    const token = await tokenExcept('')
    const answer = await send(request, token)
    return answer.status === 401 ? send(request, await tokenExcept(token)) : answer
  }
}

const keyOf = async (credentials: object): Promise<string> =>
  new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(JSON.stringify(credentials)))).toBase64()

/** The bytes of a fragment: 32 times 320 KiB, of which every fragment but the last one must be a multiple. */
const FRAGMENT = 32 * 327_680
/** How often fragments are sent again after a break. */
const MOST_REPETITIONS = 2

/**
 * Sends the bytes of an object to an upload session, and returns the last answer, whatever its status. The URL of a session serves as its
 * token: no other one is sent. After a break the session is asked what it still expects. A session that fails is cancelled.
 */
async function sendToSession(network: Network, session: ProviderAnswer, bytes: Uint8Array): Promise<ProviderAnswer> {
  const url = jsonOf(session)['uploadUrl']
  if (typeof url !== 'string') throw unexpected(session)
  try {
    const answer = await sendFragments(network, url, bytes)
    if (answer.status !== 200 && answer.status !== 201) await cancel(network, url)
    return answer
  } catch (error) {
    // A provider that hangs is not waited for a second time.
    if (!(error instanceof DestinationError && (error.code === 'timeout' || error.code === 'address_refused'))) await cancel(network, url)
    throw error
  }
}

async function sendFragments(network: Network, url: string, bytes: Uint8Array): Promise<ProviderAnswer> {
  for (let from = 0, repetitions = 0; ; ) {
    const end = Math.min(from + FRAGMENT, bytes.length)
    const headers = { 'content-range': `bytes ${from}-${end - 1}/${bytes.length}` }
    const sending = call(network, { method: 'PUT', url, headers, body: bytes.subarray(from, end) })
    const sent = await sendPart(sending, repetitions === MOST_REPETITIONS)
    if (sent !== null && sent.status !== 202) return sent
    if (sent === null) repetitions++
    const state = sent ?? (await call(network, { method: 'GET', url }))
    // A session that is gone may have been completed by the request whose answer was lost. A repetition replaces the file.
    if (sent === null && state.status === 404)
      throw new DestinationError('connection_failed', 'The connection broke before OneDrive confirmed the file.')
    if (state.status !== 200 && state.status !== 202) return state
    const { nextExpectedRanges } = jsonOf(state)
    const [, next] = /^(\d+)-/.exec(String(Array.isArray(nextExpectedRanges) ? nextExpectedRanges[0] : '')) ?? []
    // Without progress there would be no end.
    if (next === undefined || Number(next) >= bytes.length || (sent !== null && Number(next) <= from)) throw unexpected(state)
    from = Number(next)
  }
}

async function cancel(network: Network, url: string): Promise<void> {
  await call(network, { method: 'DELETE', url }).catch(() => null)
}

const GRAPH = 'https://graph.microsoft.com/v1.0'
/** The most bytes that one request sends. Larger objects get an upload session. */
const LARGEST_SINGLE = 4 * 1_048_576
const JSON_TYPE = { 'content-type': 'application/json' }
const REPLACE = '@microsoft.graph.conflictBehavior'

const FULL = ['storage_full', 'The drive may hold no more'] as const
const ONEDRIVE_FAULTS: FaultTable = {
  quotaLimitReached: FULL,
  insufficientStorage: FULL,
  maxItemCountExceeded: FULL,
  childItemCountExceeded: FULL,
  activityLimitReached: 'rate_limited',
  throttledRequest: 'rate_limited',
  accessDenied: 'access_denied',
  unauthenticated: 'access_denied',
  InvalidAuthenticationToken: 'access_denied',
  itemNotFound: ['not_found', 'The drive or the folder does not exist'],
  serviceNotAvailable: 'unavailable',
  resourceLocked: ['unavailable', 'The file is locked by another program'],
  locked: ['unavailable', 'The file is locked by another program'],
}
/** Statuses that Microsoft uses beside the usual ones: a locked file, and too much traffic. */
const STATUSES: Record<number, string> = { 423: 'locked', 509: 'throttledRequest' }

/**
 * A folder of OneDrive or of a SharePoint library (version 1.0 of Microsoft Graph). Names are unique in a folder and folders are created
 * with the files in them, so that one path is one file. Microsoft replaces the refresh token whenever it is used, and does not revoke the
 * old one: `onLearned` stores the new credentials before they are used, and a crash in between loses nothing. It stores the account's
 * drive, too, so that the credentials of another account lead to no other place.
 */
export function oneDrive(
  network: Network,
  { config, credentials }: SpecOf<'onedrive'>,
  onLearned: (learned: { credentials: OneDriveCredentials } | { drive_id: string }) => Promise<void>,
): Destination {
  const { tenant, drive_id, folder_id } = config
  const send = withAccessToken(network, credentials, async (old) => {
    const grant = await grantOf(network, tenant, old)
    if (grant.refresh_token === undefined || grant.refresh_token === old.refresh_token) return [grant, old]
    const renewed = { ...old, refresh_token: grant.refresh_token }
    await onLearned({ credentials: renewed })
    return [grant, renewed]
  })

  let known: Promise<string> | undefined
  /** The URL of the folder under which paths begin. It is asked for again after a failure. */
  const root = (): Promise<string> =>
    (known ??= findDrive().then(
      (drive) => `${GRAPH}/drives/${encodeURIComponent(drive)}${folder_id === null ? '/root' : `/items/${encodeURIComponent(folder_id)}`}`,
      (error) => {
        known = undefined
        throw error
      },
    ))

  async function findDrive(): Promise<string> {
    if (drive_id !== null) return drive_id
    const answer = await request('GET', `${GRAPH}/me/drive?$select=id`)
    if (answer.status !== 200) throw failure(answer)
    const { id } = jsonOf(answer)
    if (typeof id !== 'string' || !/[^.]/.test(id)) throw unexpected(answer)
    await onLearned({ drive_id: id })
    return id
  }

  const urlOf = async (path: string, segment: string): Promise<string> =>
    `${await root()}:/${path.split('/').map(encodeURIComponent).join('/')}:${segment}`
  const request = (method: string, url: string, headers: Record<string, string> = {}, body?: Uint8Array | string) =>
    send({ method, url, headers, ...(body !== undefined && { body }) })

  function failure(answer: ProviderAnswer): DestinationError {
    if (answer.status < 300) return unexpected(answer)
    const error = membersOf(jsonOf(answer)['error'])
    const { code: inner } = membersOf(error['innererror'] ?? error['innerError'])
    const known = [inner, error['code']].find((code) => typeof code === 'string' && Object.hasOwn(ONEDRIVE_FAULTS, code))
    const secrets = Object.values(credentials).filter((value) => value !== undefined)
    return errorOf(answer, String(known ?? STATUSES[answer.status] ?? error['code'] ?? ''), ONEDRIVE_FAULTS, secrets)
  }

  async function upload(path: string, { bytes, content_type }: StoredObject): Promise<ProviderAnswer> {
    if (bytes.length <= LARGEST_SINGLE)
      return request('PUT', `${await urlOf(path, '/content')}?${REPLACE}=replace`, { 'content-type': content_type }, bytes)
    const item = { [REPLACE]: 'replace', name: path.slice(path.lastIndexOf('/') + 1) }
    const session = await request('POST', await urlOf(path, '/createUploadSession'), JSON_TYPE, JSON.stringify({ item }))
    return session.status === 200 ? sendToSession(network, session, bytes) : session
  }

  /** Creates the folders above a path, where an upload did not do it itself. One that exists answers 409. */
  async function createFolders(path: string): Promise<void> {
    const names = path.split('/').slice(0, -1)
    for (const [depth, name] of names.entries()) {
      const url = depth === 0 ? `${await root()}/children` : await urlOf(names.slice(0, depth).join('/'), '/children')
      const answer = await request('POST', url, JSON_TYPE, JSON.stringify({ name, folder: {}, [REPLACE]: 'fail' }))
      if (answer.status !== 201 && answer.status !== 409) throw failure(answer)
    }
  }

  /** A missing file is absent, unless the folder or the drive is missing too. */
  async function absent(): Promise<null> {
    const answer = await request('GET', await root())
    if (answer.status !== 200) throw failure(answer)
    return null
  }

  return {
    async put(path, object) {
      let answer = await upload(path, object)
      if ((answer.status === 404 || answer.status === 409) && path.includes('/')) {
        await createFolders(path)
        answer = await upload(path, object)
      }
      if (answer.status !== 200 && answer.status !== 201) throw failure(answer)
      if (!isContent(answer, object.bytes))
        throw new DestinationError('refused', 'OneDrive stored other bytes than those that were sent (quickXorHash).')
    },
    async read(path) {
      const item = await request('GET', await urlOf(path, ''))
      if (item.status === 404) return absent()
      if (item.status !== 200) throw failure(item)
      // The address of the content needs no token, and must not be given one.
      const url = jsonOf(item)['@microsoft.graph.downloadUrl']
      if (typeof url !== 'string') throw unexpected(item)
      const answer = await call(network, { method: 'GET', url })
      if (answer.status !== 200) throw failure(answer)
      if (!isContent(item, answer.body)) throw unexpected(answer)
      return answer.body
    },
    async remove(path) {
      const answer = await request('DELETE', await urlOf(path, ''))
      if (answer.status === 404) await absent()
      else if (answer.status !== 204) throw failure(answer)
    },
  }
}

/** Whether an answer describes a file with these bytes. Some accounts report no hash. */
function isContent(answer: ProviderAnswer, bytes: Uint8Array): boolean {
  const { id, size, file } = jsonOf(answer)
  if (typeof id !== 'string') throw unexpected(answer)
  const { quickXorHash: hash } = membersOf(membersOf(file)['hashes'])
  return Number(size) === bytes.length && (typeof hash !== 'string' || hash === quickXorHash(bytes).toBase64())
}

function grantOf(network: Network, tenant: string, { client_id, client_secret, refresh_token }: OneDriveCredentials): Promise<Grant> {
  return requestGrant(network, `https://login.microsoftonline.com/${encodeURIComponent(tenant)}/oauth2/v2.0/token`, {
    ...{ grant_type: 'refresh_token', client_id, refresh_token },
    ...(client_secret !== undefined && { client_secret }),
  })
}
