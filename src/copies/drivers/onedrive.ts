import { quickXorHash } from '../../platform/hash.ts'
import { call, jsonOf, membersOf, type Network, type ProviderAnswer } from './call.ts'
import { errorOf, type FaultTable, unexpected } from './faults.ts'
import { AccessToken, type Grant, requestGrant } from './oauth.ts'
import { sendToSession } from './onedrive-upload.ts'
import { type Destination, DestinationError, type StoredObject } from './port.ts'

export interface OneDriveSpec {
  config: {
    /** The directory of the account, or `common`. */
    tenant: string
    /** The drive; null for that of the account. */
    drive_id: string | null
    /** The folder under which paths begin; null for the root of the drive. */
    folder_id: string | null
  }
  /** A public client has no secret. */
  credentials: { client_id: string; client_secret?: string | undefined; refresh_token: string }
}
type Credentials = OneDriveSpec['credentials']

const GRAPH = 'https://graph.microsoft.com/v1.0'
/** What is sent in one request at most, in bytes. Beyond it, an upload session is opened. */
const LARGEST_SINGLE = 4 * 1_048_576
const JSON_TYPE = { 'content-type': 'application/json' }
const REPLACE = '@microsoft.graph.conflictBehavior'

const FULL = ['storage_full', 'The drive may hold no more'] as const
const FAULTS: FaultTable = {
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
 * old one: `onLearned` stores the new credentials before anything is done with them, and a crash in between loses nothing. It stores the
 * account's drive, too, so that the credentials of another account lead to no other place.
 */
export function oneDrive(
  network: Network,
  { config, credentials }: OneDriveSpec,
  onLearned: (learned: { credentials: Credentials } | { drive_id: string }) => Promise<void>,
): Destination {
  const { tenant, drive_id, folder_id } = config
  const token = new AccessToken(credentials, async (old) => {
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
    token.call(network, { method, url, headers, ...(body !== undefined && { body }) })

  function failure(answer: ProviderAnswer): DestinationError {
    if (answer.status < 300) return unexpected(answer)
    const error = membersOf(jsonOf(answer)['error'])
    const { code: inner } = membersOf(error['innererror'] ?? error['innerError'])
    const known = [inner, error['code']].find((code) => typeof code === 'string' && Object.hasOwn(FAULTS, code))
    const secrets = Object.values(credentials).filter((value) => value !== undefined)
    return errorOf(answer, String(known ?? STATUSES[answer.status] ?? error['code'] ?? ''), FAULTS, secrets)
  }

  async function send(path: string, { bytes, content_type }: StoredObject): Promise<ProviderAnswer> {
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

  /** What is not there is absent, unless the folder or the drive is not there either. */
  async function absent(): Promise<null> {
    const answer = await request('GET', await root())
    if (answer.status !== 200) throw failure(answer)
    return null
  }

  return {
    async put(path, object) {
      let answer = await send(path, object)
      if ((answer.status === 404 || answer.status === 409) && path.includes('/')) {
        await createFolders(path)
        answer = await send(path, object)
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

/** Whether an answer describes a file with these bytes. Some accounts tell no hash. */
function isContent(answer: ProviderAnswer, bytes: Uint8Array): boolean {
  const { id, size, file } = jsonOf(answer)
  if (typeof id !== 'string') throw unexpected(answer)
  const { quickXorHash: hash } = membersOf(membersOf(file)['hashes'])
  return Number(size) === bytes.length && (typeof hash !== 'string' || hash === quickXorHash(bytes).toBase64())
}

function grantOf(network: Network, tenant: string, { client_id, client_secret, refresh_token }: Credentials): Promise<Grant> {
  return requestGrant(network, `https://login.microsoftonline.com/${encodeURIComponent(tenant)}/oauth2/v2.0/token`, {
    ...{ grant_type: 'refresh_token', client_id, refresh_token },
    ...(client_secret !== undefined && { client_secret }),
  })
}
