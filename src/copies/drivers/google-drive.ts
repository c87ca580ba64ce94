import { OneByOne } from '../../platform/one-by-one.ts'
import type { SpecOf } from '../provider-contract.ts'
import { jsonOf, type Network, type ProviderAnswer, sendPart, unexpected } from './drives.ts'
import { GoogleDriveApi, GoogleDriveFolders, JSON_TYPE, markOf, splitPath } from './google-drive-api.ts'
import { type Destination, DestinationError, type StoredObject } from './port.ts'

/** The most bytes that one request sends. */
const LARGEST_SINGLE = 5_000_000
/** How often the bytes of one object are sent, the first time included. */
const MOST_SENDS = 3
const UPLOADS = '/upload/drive/v3/files'
const FIELDS = { fields: 'id,size,sha256Checksum' }

/** A file that is created with these members, or one that gets another content. */
export type UploadTarget = { created: { id: string; name: string } & Record<string, unknown> } | { replaced: string }

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
