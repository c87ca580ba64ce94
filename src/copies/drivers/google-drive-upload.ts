import { jsonOf, type ProviderAnswer, sendPart } from './call.ts'
import { unexpected } from './faults.ts'
import { type GoogleDriveApi, JSON_TYPE } from './google-drive-api.ts'
import { DestinationError, type StoredObject } from './port.ts'

/** What is sent in one request at most, in bytes. */
const LARGEST_SINGLE = 5_000_000
/** How often the bytes of one object are sent, the first time included. */
const MOST_SENDS = 3
const UPLOADS = '/upload/drive/v3/files'
const FIELDS = { fields: 'id,size,sha256Checksum' }

/** A file that is created with these members, or one that gets another content. */
export type UploadTarget = { created: { id: string; name: string } & Record<string, unknown> } | { replaced: string }

/** Uploads the content of a file. Returns the answer whatever its status; what a good one says was stored is what was sent. */
export async function uploadFile(api: GoogleDriveApi, target: UploadTarget, object: StoredObject): Promise<ProviderAnswer> {
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
