import { Buffer } from 'node:buffer'
import { inflateRawSync } from 'node:zlib'
import { MAX_XML_BYTES } from './parse.ts'

/** Where the compressed bytes of an XML are: columns of `cfdi` in a row that has its XML. */
export interface XmlLocation {
  xml_object: string
  xml_offset: number
  xml_length: number
  /** ZIP method: 0 stored, 8 deflate. */
  xml_method: number
}

/** workerd grows its buffer in steps and fails when a step exceeds the limit, although the document does not. */
const INFLATE = { maxOutputLength: 2 * MAX_XML_BYTES, chunkSize: 256 * 1024 }

/** Reads an XML byte for byte as it was delivered, with one ranged get. Throws when the object of the row is missing. */
export const readXml = async (files: R2Bucket, location: XmlLocation): Promise<Uint8Array> =>
  inflated(new Uint8Array(await (await bodyOf(files, rangeOf(location))).arrayBuffer()), location.xml_method)

/** The same as a stream of so many bytes, of which only a part is in memory at a time. */
export async function streamXml(files: R2Bucket, location: XmlLocation, size: number): Promise<ReadableStream> {
  const { body } = await bodyOf(files, rangeOf(location))
  const plain = location.xml_method === 0 ? body : body.pipeThrough(new DecompressionStream('deflate-raw'))
  return plain.pipeThrough(new FixedLengthStream(size))
}

const rangeOf = ({ xml_object: object, xml_offset: from, xml_length }: XmlLocation) => ({ object, from, to: from + xml_length })

/** The bytes of an XML out of the compressed ones. */
export const inflated = (packed: Uint8Array, method: number): Uint8Array => {
  if (method === 0) return packed
  const { buffer, byteOffset, length } = inflateRawSync(packed, INFLATE)
  return new Uint8Array(buffer, byteOffset, length)
}

/** A range of an object that holds several XMLs is read at once when it has at most so many bytes. */
const MOST_SPAN_BYTES = 4 * 1024 * 1024
const READS_AT_ONCE = 4

interface Span<Location extends XmlLocation> {
  object: string
  from: number
  to: number
  locations: Location[]
}

/** The ranges of objects in which XMLs lie near each other. */
function spansOf<Location extends XmlLocation>(locations: readonly Location[]): Span<Location>[] {
  const spans: Span<Location>[] = []
  for (const location of locations.toSorted((a, b) =>
    a.xml_object < b.xml_object ? -1 : a.xml_object > b.xml_object ? 1 : a.xml_offset - b.xml_offset,
  )) {
    const { xml_object: object, xml_offset: from, xml_length } = location
    const last = spans.at(-1)
    const to = from + xml_length
    if (last?.object === object && to - last.from <= MOST_SPAN_BYTES) {
      last.to = Math.max(last.to, to)
      last.locations.push(location)
    } else spans.push({ object, from, to, locations: [location] })
  }
  return spans
}

async function bodyOf(files: R2Bucket, { object, from, to }: Omit<Span<XmlLocation>, 'locations'>): Promise<R2ObjectBody> {
  const found = await files.get(object, { range: { offset: from, length: to - from } })
  if (found === null) throw new Error(`There is no object ${object}.`)
  return found
}

/** Reads the compressed bytes of XMLs, those that lie near each other with one ranged get. Throws when the object of a row is missing. */
export async function readPacked(files: R2Bucket, locations: readonly XmlLocation[]): Promise<Map<XmlLocation, Uint8Array>> {
  const read = new Map<XmlLocation, Uint8Array>()
  const spans = spansOf(locations)
  const readNext = async (): Promise<void> => {
    for (let span = spans.shift(); span; span = spans.shift()) {
      const { from } = span
      const bytes = new Uint8Array(await (await bodyOf(files, span)).arrayBuffer())
      // A copy of each, so that no document keeps the whole span in memory.
      for (const location of span.locations)
        read.set(location, bytes.slice(location.xml_offset - from, location.xml_offset - from + location.xml_length))
    }
  }
  await Promise.all(Array.from({ length: READS_AT_ONCE }, readNext))
  return read
}

/** A buffer that nobody reads into at the moment. It is used again because the engine collects buffers late. */
let spare: ArrayBuffer | null = null

/**
 * Reads XMLs like `readPacked`, one range after another into one buffer. `each` gets them in the order in which they lie, as bytes that change
 * after it returns. It takes little memory however much is read.
 */
export async function eachPacked<Location extends XmlLocation>(
  files: R2Bucket,
  locations: readonly Location[],
  each: (location: Location, bytes: Uint8Array) => void,
): Promise<void> {
  let buffer = spare ?? new ArrayBuffer(MOST_SPAN_BYTES)
  spare = null
  for (const span of spansOf(locations)) {
    const { object, from, to } = span
    const length = to - from
    if (buffer.byteLength < length) buffer = new ArrayBuffer(length)
    const reader = (await bodyOf(files, span)).body.getReader({ mode: 'byob' })
    const { value } = await reader.readAtLeast(length, new Uint8Array(buffer, 0, length))
    if (value?.byteLength !== length) throw new Error(`The object ${object} ends before ${to}.`)
    for (const location of span.locations)
      each(location, value.subarray(location.xml_offset - from, location.xml_offset - from + location.xml_length))
    buffer = value.buffer as ArrayBuffer
    await reader.cancel()
  }
  if (buffer.byteLength === MOST_SPAN_BYTES) spare = buffer
}

/** The compressed bytes of several documents as one object. */
export interface XmlObject {
  /** A hash of the bytes, 128 bits in 22 characters. Keys end with it, so that a late writer cannot change bytes behind committed rows. */
  hash: string
  bytes: Uint8Array<ArrayBuffer>
  offsets: number[]
}

/** Concatenates compressed documents. */
export async function packXml(parts: readonly Uint8Array[]): Promise<XmlObject> {
  const bytes = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  const offsets: number[] = []
  let at = 0
  for (const part of parts) {
    offsets.push(at)
    bytes.set(part, at)
    at += part.length
  }
  const hash = Buffer.from(await crypto.subtle.digest('SHA-256', bytes), 0, 16)
  return { hash: hash.toString('base64url'), bytes, offsets }
}
