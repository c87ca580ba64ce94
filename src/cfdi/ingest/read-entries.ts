import { crc32, deflateRawSync } from 'node:zlib'
import { EntryRejected, type ZipEntry } from '../package/directory.ts'
import type { MetadataRow } from '../package/metadata.ts'
import { inflate, isXml, kindOf, shownName, uuidOfName } from '../package/package.ts'
import { MAX_XML_BYTES, parseCfdi } from '../xml/parse.ts'
import { CfdiRejected } from '../xml/rejected.ts'
import { applicationsOf, relatedOf } from './applications.ts'
import type { Incoming } from './apply-changes.ts'
import type { IngestTarget, Slice } from './commit-slice.ts'
import type { ReadEntry } from './outcome.ts'
import { fitToLimits, linesOf, rowOf, rowOfMetadata, statusOf } from './row.ts'
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
      const entries: ReadEntry[] = []
      for (const file of files) {
        const stored = file.uuid === null ? undefined : known.get(file.uuid)
        if (!opened.has(file) && stored?.xml_crc === file.crc && stored.xml_size === file.size) {
          entries.push({ n: file.n, name: file.name, uuid: stored.uuid })
          continue
        }
        const read = opened.get(file) ?? readFile(target, file, reported)
        opened.set(file, read)
        if (read.entry !== null) entries.push(read.entry)
        if (read.document === null) continue
        documents.delete(read.document.row.uuid)
        documents.set(read.document.row.uuid, read.document)
      }
      return { documents, cancelled: [], entries }
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
    const document = parseCfdi(content)
    uuid = document.uuid
    const row = rowOf(document, rfc, statusOf(reported.get(uuid ?? '')), now.getTime())
    const applications = applicationsOf(document, row)
    Object.assign(row, {
      related: relatedOf(applications),
      xml_length: file.packed.length,
      xml_method: file.method,
      xml_size: file.size,
      xml_crc: file.crc,
    })
    const lines = linesOf(document, row.uuid)
    if (file.size > LARGE_BYTES) fitToLimits(row, lines)
    return { document: { row, lines, applications, packed: file.packed }, entry: { n, name, uuid: row.uuid } }
  } catch (error) {
    if (!(error instanceof CfdiRejected || error instanceof EntryRejected || error instanceof RowRejected)) throw error
    return { document: null, entry: { n, name, uuid, code: error.code, detail: error.message } }
  }
}

/** A slice of metadata rows. It inserts unknown documents and cancels known ones. A cancelled document never becomes valid again. */
export function metadataSlice({ rfc, now }: IngestTarget, rows: readonly MetadataRow[], from: number): Slice {
  return {
    uuids: [...new Set(rows.map(({ uuid }) => uuid))],
    read(known) {
      const documents = new Map<string, Incoming>()
      const cancelled = new Map<string, MetadataRow>()
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
        } catch (error) {
          if (!(error instanceof RowRejected)) throw error
          entries.push({ ...entry, code: error.code, detail: error.message })
        }
      })
      return { documents, cancelled: [...cancelled.values()], entries }
    },
  }
}
