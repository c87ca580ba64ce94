import { crc32, deflateRawSync } from 'node:zlib'
import { EntryRejected, type ZipEntry } from '../package/directory.ts'
import type { MetadataRow } from '../package/metadata.ts'
import { inflate, isXml, kindOf, shownName, uuidOfName } from '../package/package.ts'
import type { CfdiDocument } from '../xml/document.ts'
import { MAX_XML_BYTES, parseCfdi } from '../xml/parse.ts'
import { CfdiRejected } from '../xml/rejected.ts'
import { applicationsOf, relatedOf } from './applications.ts'
import type { Incoming } from './apply-changes.ts'
import type { IngestTarget, Slice, SliceHolding } from './commit-slice.ts'
import type { HeldXml } from './holdings.ts'
import type { ReadEntry } from './outcome.ts'
import { fitToLimits, linesOf, rowOf, rowOfMetadata, type StatusColumns, statusOf } from './row.ts'
import { RowRejected } from './row-rejected.ts'

/** A file that may be a CFDI and has not been opened. */
export interface UnopenedFile {
  n: number
  /** Safe to be shown. */
  name: string
  /** Whether its name claims that it is a CFDI. */
  isXml: boolean
  /** The UUID in its name; null when there is none. */
  uuid: string | null
  /** CRC-32 of the inflated bytes, as declared; it is checked when the file is opened. */
  crc: number
  size: number
  method: number
  packed: Uint8Array
  /** How many bytes opening it takes: the declared size, where `inflate` stops; 0 when it is rejected unopened. */
  weight: number
  /** Throws EntryRejected. */
  content(): Uint8Array
}

/** An entry of a ZIP as a file. Its bytes are not copied. */
export const fileOfEntry = (bytes: Uint8Array, entry: ZipEntry, n: number): UnopenedFile => ({
  n,
  name: shownName(entry.name),
  isXml: isXml(entry.name),
  uuid: uuidOfName(entry.name),
  crc: entry.crc32,
  size: entry.size,
  method: entry.method,
  packed: bytes.subarray(entry.offset, entry.offset + entry.compressed_size),
  weight: entry.rejected !== null || entry.size > MAX_XML_BYTES ? 0 : entry.size,
  content: () => inflate(bytes, entry, MAX_XML_BYTES),
})

/** A file that was uploaded without a ZIP. */
export const singleFile = (name: string, bytes: Uint8Array): UnopenedFile => ({
  n: 0,
  name: shownName(name),
  isXml: isXml(name),
  uuid: uuidOfName(name),
  crc: crc32(bytes),
  size: bytes.length,
  method: 8,
  packed: new Uint8Array(deflateRawSync(bytes)),
  weight: bytes.length,
  content: () => bytes,
})

/** In a file up to this size, nothing can be too long to be stored. */
const LARGE_BYTES = 100_000

type ReadFile = { document: Incoming; entry: ReadEntry } | { document: null; entry: ReadEntry | null }

/** A slice of XML files. `reported` is the metadata of the same download by UUID: it gives new documents their status. */
export function xmlSlice(target: IngestTarget, files: readonly UnopenedFile[], reported: ReadonlyMap<string, MetadataRow>): Slice {
  const opened = new Map<UnopenedFile, ReadFile>()
  return {
    uuids: [...new Set(files.flatMap(({ uuid }) => uuid ?? []))],
    read(known) {
      const documents = new Map<string, Incoming>()
      const holdings = new Map<string, SliceHolding>()
      const entries: ReadEntry[] = []
      const hold = (uuid: string, file: UnopenedFile) => {
        if (target.import_id !== undefined) holdings.set(uuid, holdingOf(uuid, file))
      }
      for (const file of files) {
        const stored = file.uuid === null ? undefined : known.get(file.uuid)
        if (!opened.has(file) && stored?.xml_crc === file.crc && stored.xml_size === file.size) {
          entries.push({ n: file.n, name: file.name, uuid: stored.uuid })
          hold(stored.uuid, file)
          continue
        }
        const read = opened.get(file) ?? readFile(target, file, reported)
        opened.set(file, read)
        if (read.entry !== null) entries.push(read.entry)
        if (read.document === null) continue
        documents.delete(read.document.row.uuid)
        documents.set(read.document.row.uuid, read.document)
        hold(read.document.row.uuid, file)
      }
      return { documents, cancelled: [], entries, holdings }
    },
  }
}

function readFile({ rfc, now, provenance }: IngestTarget, file: UnopenedFile, reported: ReadonlyMap<string, MetadataRow>): ReadFile {
  const { n, name } = file
  let uuid = file.uuid
  try {
    const content = file.content()
    const kind = file.isXml ? 'xml' : kindOf(name, content)
    if (kind !== 'xml') {
      // The authority packs other files with the CFDIs, but an upload reports each file that is not one. A metadata file gets here only
      // when it could not be recognised.
      const isReported = kind !== 'terceros' && provenance === 'import'
      return {
        document: null,
        entry: isReported ? { n, name, uuid: null, code: 'cfdi.not_a_cfdi', detail: 'The file is not a CFDI.' } : null,
      }
    }
    const parsed = parseCfdi(content)
    uuid = parsed.uuid
    const { packed } = file
    const bytes = { xml_length: packed.length, xml_method: file.method, xml_size: file.size, xml_crc: file.crc }
    const document = { ...documentOf(parsed, rfc, statusOf(reported.get(uuid ?? '')), now.getTime(), bytes), packed }
    return { document, entry: { n, name, uuid: document.row.uuid } }
  } catch (error) {
    if (!(error instanceof CfdiRejected || error instanceof EntryRejected || error instanceof RowRejected)) throw error
    return { document: null, entry: { n, name, uuid, code: error.code, detail: error.message } }
  }
}

/** The bytes of an XML as its row describes them. */
type XmlBytes = Pick<HeldXml, 'xml_length' | 'xml_method' | 'xml_size' | 'xml_crc'>

/** A parsed document with everything that is stored of it. Throws RowRejected. */
export function documentOf(
  parsed: CfdiDocument,
  rfc: string,
  status: StatusColumns,
  now: number,
  bytes: XmlBytes,
): Omit<Incoming, 'packed'> {
  const row = rowOf(parsed, rfc, status, now)
  const applications = applicationsOf(parsed, row)
  Object.assign(row, { related: relatedOf(applications), ...bytes })
  const lines = linesOf(parsed, row.uuid)
  if (bytes.xml_size > LARGE_BYTES) fitToLimits(row, lines)
  return { row, lines, applications }
}

const holdingOf = (uuid: string, { packed, method, size, crc }: UnopenedFile): SliceHolding => ({
  uuid,
  packed,
  xml: { xml_object: '', xml_offset: 0, xml_length: packed.length, xml_method: method, xml_size: size, xml_crc: crc },
  metadata: null,
})

/** A slice of metadata rows. It inserts unknown documents and cancels known ones. A cancelled document never becomes valid again. */
export function metadataSlice({ rfc, now, import_id }: IngestTarget, rows: readonly MetadataRow[], from: number): Slice {
  return {
    uuids: [...new Set(rows.map(({ uuid }) => uuid))],
    read(known) {
      const documents = new Map<string, Incoming>()
      const cancelled = new Map<string, MetadataRow>()
      const holdings = new Map<string, SliceHolding>()
      const entries: ReadEntry[] = []
      rows.forEach((row, i) => {
        const entry = { n: from + i, name: row.uuid, uuid: row.uuid }
        const stored = known.get(row.uuid)
        try {
          if (stored === undefined) {
            const document = { row: rowOfMetadata(row, rfc, now.getTime()), lines: [], applications: [], packed: null }
            fitToLimits(document.row, document.lines)
            documents.set(row.uuid, document)
          } else if (row.cancelled && stored.cancelled === 0) cancelled.set(row.uuid, row)
          entries.push(entry)
          if (import_id !== undefined) holdings.set(row.uuid, { uuid: row.uuid, packed: null, xml: null, metadata: row })
        } catch (error) {
          if (!(error instanceof RowRejected)) throw error
          entries.push({ ...entry, code: error.code, detail: error.message })
        }
      })
      return { documents, cancelled: [...cancelled.values()], entries, holdings }
    },
  }
}
