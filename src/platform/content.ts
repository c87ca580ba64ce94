import { Failure } from './failures.ts'

/** A file in the bucket, as it is answered. */
export interface Content {
  object: string
  name: string
  content_type: string
  /** In bytes. */
  size: number
  /** Without quotes: the SHA-256 of a document. */
  etag: string
}

/** A request for content (RFC 9110, 13 and 14). */
export interface AskedContent {
  /** Only the headers. */
  isHead: boolean
  /** Nobody may see the answer: the request asks only for headers, or a browser makes it in advance. It must not change anything. */
  isTentative: boolean
  /** Another site, or a part of a page such as an image, made a browser send it: perhaps nobody meant it. */
  isForeign: boolean
  range: string | null
  ifRange: string | null
  ifNoneMatch: string | null
}

/** Headers with which browsers and proxies mark a request that they make in advance. */
const PURPOSES = ['sec-purpose', 'purpose', 'x-purpose', 'x-moz']

/** The values that a browser sends with requests that its user, a page of the service itself, or a script of such a page makes. */
const [OWN_SITES, OWN_DESTINATIONS] = [
  ['same-origin', 'none'],
  ['document', 'empty'],
]

const isAmong = (header: string | null, own: readonly string[]): boolean => header === null || own.includes(header.trim().toLowerCase())

export const askedOf = ({ method, headers }: Pick<Request, 'method' | 'headers'>): AskedContent => ({
  isHead: method === 'HEAD',
  isTentative: method === 'HEAD' || PURPOSES.some((name) => /prefetch|prerender|preview/i.test(headers.get(name) ?? '')),
  isForeign: !isAmong(headers.get('sec-fetch-site'), OWN_SITES) || !isAmong(headers.get('sec-fetch-dest'), OWN_DESTINATIONS),
  range: headers.get('range'),
  ifRange: headers.get('if-range'),
  ifNoneMatch: headers.get('if-none-match'),
})

/**
 * Answers with content as it lies in the bucket, or the part of it that is asked for, or says that the caller has it already. Null when it is
 * not in the bucket. Throws Failure 416 document.range_not_satisfiable.
 */
export async function openContent(files: R2Bucket, content: Content, asked: AskedContent): Promise<Response | null> {
  const { object: key, name, content_type, size, etag } = content
  const ETag = `"${etag}"`
  if (isMatch(asked.ifNoneMatch, ETag)) return new Response(null, { status: 304, headers: { ETag } })
  const isMeant = !asked.isHead && (asked.ifRange === null || asked.ifRange === ETag)
  const range = isMeant ? rangeOf(asked.range, size) : null
  if (range === UNSATISFIABLE) throw new Failure('range', 'document.range_not_satisfiable', `The content has ${size} bytes.`, { size })
  const object = asked.isHead ? await files.head(key) : await files.get(key, range ? { range } : {})
  if (!object) return null
  const { offset, length } = range ?? { offset: 0, length: size }
  return new Response('body' in object ? (object as R2ObjectBody).body : null, {
    status: range ? 206 : 200,
    headers: {
      'Content-Type': content_type,
      'Content-Length': String(length),
      'Content-Disposition': `attachment; filename="${name.replace(/[^\w.-]/g, '_')}"`,
      'Accept-Ranges': 'bytes',
      ETag,
      ...(range && { 'Content-Range': `bytes ${offset}-${offset + length - 1}/${size}` }),
    },
  })
}

/** Whether a header If-None-Match names an ETag. */
export const isMatch = (header: string | null, etag: string): boolean =>
  header !== null && (header.trim() === '*' || header.split(',').some((one) => one.trim().replace(/^W\//, '') === etag))

/** A part of some bytes. */
interface ByteRange {
  offset: number
  length: number
}

const UNSATISFIABLE = 'unsatisfiable'

/**
 * Reads a header Range for content of `size` bytes (RFC 9110, 14). Null when all of it is to be sent: without a header, with one of another
 * unit, or with several ranges, which a server may ignore.
 */
export function rangeOf(header: string | null, size: number): ByteRange | typeof UNSATISFIABLE | null {
  const [, first, last] = /^bytes=\s*(\d{0,15})\s*-\s*(\d{0,15})\s*$/i.exec(header ?? '') ?? []
  if (first === undefined || last === undefined || (first === '' && last === '')) return null
  if (first === '') {
    const length = Math.min(Number(last), size)
    return length === 0 ? UNSATISFIABLE : { offset: size - length, length }
  }
  const offset = Number(first)
  if (last !== '' && Number(last) < offset) return null
  if (offset >= size) return UNSATISFIABLE
  return { offset, length: (last === '' ? size : Math.min(Number(last) + 1, size)) - offset }
}
