import { crc32, deflateRawSync } from 'node:zlib'
import { type Entry, EntryRejected } from '../package/directory.ts'
import type { MetadataRow } from '../package/metadata.ts'
import { inflate, isXml, kindOf, shownName, uuidOfName } from '../package/package.ts'
import { MAX_XML_BYTES, parseCfdi } from '../xml/parse.ts'
import { CfdiRejected } from '../xml/rejected.ts'
import { applicationsOf, relatedOf } from './applications.ts'
import type { Incoming } from './apply-changes.ts'
import type { Looked, Slice, Target } from './commit-slice.ts'
import { keepWithinLimits, linesOf, rowOf, rowOfMetadata, statusOf } from './row.ts'
import { RowRejected } from './row-rejected.ts'

/** A file that may be a CFDI, not yet opened. */
export interface Sealed {
  n: number
  /** Fit to be shown. */
  name: string
  /** Whether its name claims that it is one. */
  isXml: boolean
  /** As its name says it. */
  uuid: string | null
  /** Over the inflated bytes: as declared, and checked when it is opened. */
  crc: number
  size: number
  method: number
  packed: Uint8Array
  /** Bytes that opening it takes: as declared, for `inflate` stops there; none when it is refused unopened. */
  weight: number
  /** Throws EntryRejected. */
  content(): Uint8Array
}

/** An entry of a ZIP, its bytes left where they are. */
export const sealedEntry = (bytes: Uint8Array, entry: Entry, n: number): Sealed => ({
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

/** A file that came by itself. */
export const sealedFile = (name: string, bytes: Uint8Array): Sealed => ({
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

/** Bytes up to which nothing in a document can be too long to be kept. */
const LARGE = 100_000

type Opened = { document: Incoming; looked: Looked } | { document: null; looked: Looked | null }

/** A slice of XML files; `reported` is what the metadata of the same download says, for documents that are first seen cancelled. */
export function xmlSlice(target: Target, files: readonly Sealed[], reported: ReadonlyMap<string, MetadataRow>): Slice {
  const opened = new Map<Sealed, Opened>()
  return {
    uuids: [...new Set(files.flatMap(({ uuid }) => uuid ?? []))],
    open(known) {
      const documents = new Map<string, Incoming>()
      const looked: Looked[] = []
      for (const file of files) {
        const it = opened.get(file)
        const stored = file.uuid === null ? undefined : known.get(file.uuid)
        if (it === undefined && stored?.xml_crc === file.crc && stored.xml_size === file.size) {
          looked.push({ n: file.n, name: file.name, uuid: stored.uuid })
          continue
        }
        const now = it ?? openXml(target, file, reported)
        opened.set(file, now)
        if (now.looked !== null) looked.push(now.looked)
        if (now.document === null) continue
        documents.delete(now.document.row.uuid)
        documents.set(now.document.row.uuid, now.document)
      }
      return { documents, cancelled: [], looked }
    },
  }
}

function openXml({ rfc, now, provenance }: Target, file: Sealed, reported: ReadonlyMap<string, MetadataRow>): Opened {
  const { n, name } = file
  let uuid = file.uuid
  try {
    const content = file.content()
    const kind = file.isXml ? 'xml' : kindOf(name, content)
    if (kind !== 'xml') {
      // The authority packs other things with the CFDIs; who uploads something should know that it was none. Metadata never comes here
      // from an upload, but where it was made unrecognisable.
      const code = 'cfdi.not_a_cfdi'
      return {
        document: null,
        looked: kind !== 'terceros' && provenance === 'import' ? { n, name, uuid: null, code, detail: 'The file is not a CFDI.' } : null,
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
    if (file.size > LARGE) keepWithinLimits(row, lines)
    return { document: { row, lines, applications, packed: file.packed }, looked: { n, name, uuid: row.uuid } }
  } catch (error) {
    if (!(error instanceof CfdiRejected || error instanceof EntryRejected || error instanceof RowRejected)) throw error
    return { document: null, looked: { n, name, uuid, code: error.code, detail: error.message } }
  }
}

/** A slice of metadata rows: inserts what is not known, and cancels what is known as valid. A cancelled document never comes back. */
export function metadataSlice({ rfc, now }: Target, rows: readonly MetadataRow[], from: number): Slice {
  return {
    uuids: [...new Set(rows.map(({ uuid }) => uuid))],
    open(known) {
      const documents = new Map<string, Incoming>()
      const cancelled = new Map<string, MetadataRow>()
      const looked: Looked[] = []
      rows.forEach((row, i) => {
        const at = { n: from + i, name: row.uuid }
        const stored = known.get(row.uuid)
        try {
          if (stored === undefined) {
            const document = { row: rowOfMetadata(row, rfc, now.getTime()), lines: [], applications: [], packed: null }
            keepWithinLimits(document.row, document.lines)
            documents.set(row.uuid, document)
          } else if (row.cancelled && stored.cancelled === 0) cancelled.set(row.uuid, row)
          looked.push({ ...at, uuid: row.uuid })
        } catch (error) {
          if (!(error instanceof RowRejected)) throw error
          looked.push({ ...at, uuid: row.uuid, code: error.code, detail: error.message })
        }
      })
      return { documents, cancelled: [...cancelled.values()], looked }
    },
  }
}
