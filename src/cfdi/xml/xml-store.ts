import { Buffer } from 'node:buffer'
import { inflateRawSync } from 'node:zlib'
import { MAX_XML_BYTES } from './parse.ts'

/** Where the compressed bytes of an XML are: columns of `cfdi` in a row that has its XML. */
export interface XmlPlace {
  xml_object: string
  xml_offset: number
  xml_length: number
  /** ZIP method: 0 stored, 8 deflate. */
  xml_method: number
}

/** workerd grows its buffer in steps and fails when a step exceeds the limit, although the document does not. */
const INFLATE = { maxOutputLength: 2 * MAX_XML_BYTES, chunkSize: 256 * 1024 }

/** Reads an XML byte for byte as it was delivered, with one ranged get. Throws when the object of the row is missing. */
export async function readXml(files: R2Bucket, { xml_object, xml_offset, xml_length, xml_method }: XmlPlace): Promise<Uint8Array> {
  const found = await files.get(xml_object, { range: { offset: xml_offset, length: xml_length } })
  if (found === null) throw new Error(`There is no object ${xml_object}.`)
  const packed = new Uint8Array(await found.arrayBuffer())
  return xml_method === 0 ? packed : new Uint8Array(inflateRawSync(packed, INFLATE))
}

/** The compressed bytes of several documents as one object. */
export interface XmlObject {
  /** Of the bytes, 128 bits in 22 characters. Keys end with it, so that a late writer cannot change bytes that committed rows point to. */
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
