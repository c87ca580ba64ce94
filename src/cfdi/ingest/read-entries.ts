import { crc32 } from 'node:zlib'
import type { SQL } from 'drizzle-orm'
import { type Bytes, detach, free } from '../../platform/bytes/bytes.ts'
import { commit } from '../../platform/db/commit.ts'
import { letOthersGoOn, stepByStep } from '../../platform/work/pause.ts'
import { isCalledCancelled } from '../checks/checks.ts'
import { type ChunkLocation, chunksOf, withoutDocuments } from '../chunks/chunks.ts'
import { contentText } from '../chunks/content.ts'
import { EntryRejected } from '../package/central-record.ts'
import type { ZipEntry } from '../package/entries.ts'
import { inflate, isXml, kindOf, type ListedRow, type MetadataRow, shownName, uuidOfName } from '../package/package.ts'
import type { StatusLookup } from '../package/rejections.ts'
import type { CfdiDocument } from '../xml/document.ts'
import { MAX_XML_BYTES, parsingCfdi } from '../xml/parse.ts'
import { CfdiRejected } from '../xml/xml.ts'
import { readXml } from '../xml/xml-store.ts'
import { advancesOf, applicationsOf, Lines, NO_RELATIONS, relatedOf, substitutesOf } from './applications.ts'
import { applyChanges, type Incoming } from './apply-changes.ts'
import {
  type IngestTarget,
  RELATED_CUT,
  type ReadEntry,
  readAffectedBy,
  retryFenced,
  type Slice,
  type SliceImportSource,
  type XmlContent,
} from './commit-slice.ts'
import { type KnownCfdi, readChunks, readKnown, type StoredRow } from './reads.ts'
import {
  CANCELLED,
  type Combined,
  combine,
  hasNews,
  type ImportSource,
  RowRejected,
  refuseLongTexts,
  rowOf,
  rowOfMetadata,
  type StatusColumns,
  type StoredXml,
  statusOf,
} from './row.ts'
import { type SliceWrites, writeStatements } from './writes.ts'

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
  /** The month of the documents to take; null for any. A document of another month is passed over, and a file that is none. */
  month: string | null
  /** Gives its content to `read`, for as long as that takes. Throws EntryRejected. */
  open<T>(read: (content: Uint8Array) => Promise<T>): Promise<T>
  /** Frees its compressed bytes. */
  release(): void
}

/** The limit of the compressed bytes of a document: the least compressible one is hardly larger than itself. */
const MAX_PACKED_BYTES = MAX_XML_BYTES + 64 * 1024

/** An entry of a ZIP as a file. Its bytes are not copied when the ZIP is in memory. Those of an entry that is too large are not read. */
export async function fileOfEntry(file: Bytes, entry: ZipEntry, month: string | null = null): Promise<UnopenedFile> {
  const isUnopened = entry.rejected !== null || entry.size > MAX_XML_BYTES || entry.compressed_size > MAX_PACKED_BYTES
  const packed = isUnopened ? new Uint8Array() : await file.read(entry.offset, entry.compressed_size)
  return {
    n: entry.n,
    name: shownName(entry.name),
    isXml: isXml(entry.name),
    uuid: uuidOfName(entry.name),
    crc: entry.crc32,
    size: entry.size,
    method: entry.method,
    packed,
    weight: isUnopened ? 0 : Math.max(entry.size, entry.compressed_size),
    month,
    async open(read) {
      const content = inflate(packed, entry, MAX_XML_BYTES)
      try {
        return await read(content)
      } finally {
        if (content !== packed) free(content)
      }
    },
    release: () => file.release(packed),
  }
}

/** Packs bytes a part at a time, so that others go on. */
async function deflated(bytes: Uint8Array): Promise<Uint8Array> {
  const packing = new CompressionStream('deflate-raw')
  const writer = packing.writable.getWriter()
  const write = async () => {
    for (let at = 0; at < bytes.length; at += READ_AT_ONCE) {
      await writer.write(bytes.subarray(at, at + READ_AT_ONCE))
      await letOthersGoOn()
    }
    await writer.close()
  }
  const [packed] = await Promise.all([new Response(packing.readable).bytes(), write()])
  return packed
}

/** A file that was uploaded without a ZIP. */
export const singleFile = async (name: string, bytes: Uint8Array): Promise<UnopenedFile> => ({
  n: 0,
  name: shownName(name),
  isXml: isXml(name),
  uuid: uuidOfName(name),
  crc: crc32(bytes),
  size: bytes.length,
  method: 8,
  packed: await deflated(bytes),
  weight: bytes.length,
  month: null,
  open: (read) => read(bytes),
  release: () => {},
})

/** How many bytes of XML are read before others go on. */
const READ_AT_ONCE = 256 * 1024

/** A document, or why there is none; nothing for a file that need not be one. */
type ReadFile = { document: Incoming; detail: string | null } | { document: null; entry: ReadEntry | null }

/** Why a document is not kept whose UUID another content has. */
export const CONFLICT = { code: 'cfdi.conflict', detail: 'A document with this UUID and another content is kept already.' }

/**
 * The limit of a slice in bytes of the rows that it writes. 1,000 usual documents have a quarter of it. The document that exceeds it is the
 * last one of its slice.
 */
const SLICE_ROWS_BYTES = 3 * 1024 * 1024
/** An application is a row, and brings a row of its invoice. So does a substitution. */
const APPLICATION_BYTES = 1_000

const rowBytesOf = ({ content, applications, substitutes, advances }: Incoming): number =>
  (content?.length ?? 0) + (applications.length + substitutes.length + advances.length) * APPLICATION_BYTES

interface XmlSlice extends Slice {
  isDivided(): boolean
}

/**
 * A slice of as many of these XML files as fit, and at least one. `reported` is the metadata of the same download by UUID: it gives new
 * documents their status.
 */
export function xmlSlice(target: IngestTarget, files: readonly UnopenedFile[], reported: StatusLookup): XmlSlice {
  const opened = new Map<UnopenedFile, ReadFile>()
  let taken: number | null = null
  let isDivided = false
  return {
    uuids: [...new Set(files.flatMap(({ uuid }) => uuid ?? []))],
    taken: () => taken ?? files.length,
    divide: () => {
      taken = half(taken ?? files.length)
      isDivided = true
    },
    isDivided: () => isDivided,
    forget: () => opened.clear(),
    async read(known, visible) {
      const documents = new Map<string, Incoming>()
      const importSources = new Map<string, SliceImportSource>()
      const entries: ReadEntry[] = []
      let bytes = 0
      let unpaused = 0
      const first = new Map<string, XmlContent>()
      const keep = (entry: { n: number; name: string; uuid: string; detail?: string | null }, file: UnopenedFile, document?: Incoming) => {
        const { uuid } = entry
        const content: XmlContent = { xml_crc: file.crc, xml_size: file.size }
        // The authority's document comes before an imported one, and that before this slice's.
        const kept = [visible.get(uuid), known.get(uuid), first.get(uuid)].find((one) => one?.xml_crc != null) ?? content
        const isKept = kept.xml_crc === content.xml_crc && kept.xml_size === content.xml_size
        entries.push(isKept ? entry : { ...entry, ...CONFLICT })
        if (visible.has(uuid)) return
        // An import also holds what another one keeps out, because that one may be deleted.
        if (target.import_id !== undefined && document !== undefined && !importSources.has(uuid))
          importSources.set(uuid, importSourceOf(uuid, file, document))
        if (!isKept || first.has(uuid)) return
        first.set(uuid, content)
        if (document !== undefined) documents.set(uuid, document)
      }
      for (const [i, file] of files.entries()) {
        if (taken === null ? bytes > SLICE_ROWS_BYTES : i === taken) {
          taken = i
          break
        }
        const stored = file.uuid === null ? undefined : known.get(file.uuid)
        // An import opens all files: what is stored of a document counts for each import that holds it, since it may be the last one.
        const isOpened = opened.has(file) || target.import_id !== undefined
        if (!isOpened && file.month === null && stored?.xml_crc === file.crc && stored.xml_size === file.size) {
          keep({ n: file.n, name: file.name, uuid: stored.uuid }, file)
          continue
        }
        if (!opened.has(file)) unpaused += file.weight
        if (unpaused > READ_AT_ONCE) {
          await letOthersGoOn()
          unpaused = 0
        }
        const read = opened.get(file) ?? ofMonth(file, await readFile(target, file, reported))
        opened.set(file, read)
        if (read.document === null) {
          if (read.entry !== null) entries.push(read.entry)
          continue
        }
        bytes += rowBytesOf(read.document)
        keep({ n: file.n, name: file.name, uuid: read.document.row.uuid, detail: read.detail }, file, read.document)
      }
      taken ??= files.length
      return { documents, cancelled: [], entries, importSources }
    },
  }
}

async function readFile(target: IngestTarget, file: UnopenedFile, reported: StatusLookup): Promise<ReadFile> {
  const { n, name } = file
  const known = { uuid: file.uuid }
  try {
    return await file.open((content) => readContent(target, file, content, reported, known))
  } catch (error) {
    if (!(error instanceof CfdiRejected || error instanceof EntryRejected || error instanceof RowRejected)) throw error
    return { document: null, entry: { n, name, uuid: known.uuid, code: error.code, detail: error.message } }
  }
}

/** Reads a file's content. Sets the UUID in `known` as soon as the content reveals it. */
async function readContent(
  { rfc, now, provenance }: IngestTarget,
  file: UnopenedFile,
  content: Uint8Array,
  reported: StatusLookup,
  known: { uuid: string | null },
): Promise<ReadFile> {
  const { n, name } = file
  // An empty file is listed as one, whatever its name: something is missing in it.
  const kind = file.isXml || content.length === 0 ? 'xml' : kindOf(name, content)
  if (kind !== 'xml') {
    // The authority packs other files with the CFDIs, but no metadata; an upload reports each file that is not one. There a metadata file
    // gets here only when it could not be recognised.
    const isReported = provenance === 'import' ? kind !== 'terceros' : kind === 'metadata'
    return {
      document: null,
      entry: isReported ? { n, name, uuid: null, code: 'cfdi.not_a_cfdi', detail: 'The file is not a CFDI.' } : null,
    }
  }
  const lines = new Lines()
  const parsed = await stepByStep(parsingCfdi(content, lines))
  known.uuid = parsed.uuid
  const { packed } = file
  const bytes = { xml_length: packed.length, xml_method: file.method, xml_size: file.size, xml_crc: file.crc }
  return {
    document: { ...documentOf(parsed, lines, rfc, statusOf(reported.get(parsed.uuid ?? '')), now.getTime(), bytes), packed },
    detail: parsed.repairs.includes('related_cut') ? RELATED_CUT : null,
  }
}

/** What cannot be read is missed where its document is announced. */
const ofMonth = ({ month }: UnopenedFile, read: ReadFile): ReadFile =>
  month === null || read.document?.row.fecha.startsWith(month) ? read : { document: null, entry: null }

/** The bytes of an XML as its row describes them. */
type XmlBytes = Pick<StoredXml, 'xml_length' | 'xml_method' | 'xml_size' | 'xml_crc'>

/** A parsed document, whose lines `lines` has taken, with everything that is stored of it. Throws RowRejected. */
export function documentOf(
  parsed: CfdiDocument,
  lines: Lines,
  rfc: string,
  status: StatusColumns,
  now: number,
  bytes: XmlBytes,
): Omit<Incoming, 'packed'> {
  const row = rowOf(detach(parsed), lines.taxes, rfc, status, now)
  const applications = applicationsOf(parsed, row).map(detach)
  const beyond_limits = lines.isCut ? 'lines' : null
  Object.assign(row, { related: relatedOf(applications), products: lines.products.textOf(row), beyond_limits, ...bytes })
  refuseLongTexts(row)
  const relations = { substitutes: detach(substitutesOf(parsed)), advances: detach(advancesOf(parsed)) }
  return { row, content: contentText(parsed, lines.texts), applications, ...relations }
}

/** About what is stored of an import source, of a row with the entries of its indexes, of an application or substitution, in bytes. */
const IMPORT_SOURCE_BYTES = 100
const ROW_BYTES = 800
const METADATA_ROW_BYTES = 500
const RELATION_BYTES = 200
/** How much smaller the contents of documents are when they are packed. */
const PACKED = 4

/** What is stored of a document besides its XML, in bytes. */
const storedBytesOf = ({ row, content, applications, substitutes, advances }: Incoming): number =>
  IMPORT_SOURCE_BYTES +
  ROW_BYTES +
  Math.ceil((content?.length ?? 0) / PACKED) +
  (row.products?.length ?? 0) +
  (applications.length + substitutes.length + advances.length) * RELATION_BYTES

const importSourceOf = (uuid: string, { packed, method, size, crc }: UnopenedFile, document: Incoming): SliceImportSource => ({
  uuid,
  packed,
  bytes: packed.length + storedBytesOf(document),
  xml: { xml_object: '', xml_offset: 0, xml_length: packed.length, xml_method: method, xml_size: size, xml_crc: crc },
  metadata: null,
})

const half = (n: number): number => Math.ceil(n / 2)

/** A slice of metadata rows, or of the first of them. It inserts unknown documents and cancels known ones. A cancelled document never becomes valid again. */
export function metadataSlice({ rfc, now, import_id }: IngestTarget, rows: readonly ListedRow[]): Slice {
  let taken = rows.length
  return {
    uuids: [...new Set(rows.map(({ uuid }) => uuid))],
    taken: () => taken,
    divide: () => {
      taken = half(taken)
    },
    async read(known, visible) {
      const documents = new Map<string, Incoming>()
      const cancelled = new Map<string, MetadataRow>()
      const importSources = new Map<string, SliceImportSource>()
      const entries: ReadEntry[] = []
      for (const row of rows.slice(0, taken)) {
        const { uuid, file: name, line } = row
        const entry = { n: line, name, line, uuid }
        const stored = known.get(uuid)
        const isImportSource = import_id !== undefined && !visible.has(uuid)
        // Of several rows of a document, a cancelled one counts.
        if (documents.get(uuid)?.row.cancelled === 1 && !row.cancelled) {
          entries.push(entry)
          continue
        }
        try {
          refuseLongTexts(row)
          if (stored === undefined && !visible.has(uuid)) {
            const document = { row: rowOfMetadata(row, rfc, now.getTime()), content: null, applications: [], ...NO_RELATIONS, packed: null }
            documents.set(uuid, document)
          } else if (stored !== undefined && hasNews(row, stored)) cancelled.set(uuid, row)
          entries.push(entry)
          if (isImportSource)
            importSources.set(uuid, { uuid, packed: null, bytes: IMPORT_SOURCE_BYTES + METADATA_ROW_BYTES, xml: null, metadata: row })
        } catch (error) {
          if (!(error instanceof RowRejected)) throw error
          entries.push({ ...entry, code: error.code, detail: error.message })
        }
      }
      return { documents, cancelled: [...cancelled.values()], entries, importSources }
    },
  }
}

/** The import sources that remain of documents, and their `stored` column. */
interface StillStored {
  importSources: ReadonlyMap<string, readonly ImportSource[]>
  stored: ReadonlyMap<string, string>
}

type ReplaceTarget = Pick<IngestTarget, 'ledger' | 'files' | 'entity' | 'rfc' | 'now'>

/**
 * Stores documents as if only their remaining import sources had ever been imported. One that nobody holds is taken out, with its content,
 * applications and totals; one that others hold as it is stored keeps its row and gets their copy of its XML; any other is replaced. One
 * commit, with the statements in `also`. Throws TooManyApplications when it has to be divided. `remainingOf` reads the import sources, in the order of their imports; it is called again in a
 * retry.
 */
export const replaceDocuments = <Remaining extends StillStored>(
  target: ReplaceTarget,
  uuids: readonly string[],
  remainingOf: (stored: readonly KnownCfdi[]) => Promise<Remaining>,
  also: (remaining: Remaining) => SQL[],
): Promise<void> =>
  retryFenced(async () => {
    const { ledger, entity, rfc, now } = target
    // The sequence is read first: import sources that are added later take it, and this commit is then refused.
    const { sequence, known } = await readKnown(ledger, entity, uuids)
    const remaining = await remainingOf(known)
    const created: Incoming[] = []
    const removed: string[] = []
    const moved: SliceWrites['moved'] = []
    for (const before of known) {
      const combined = combine(remaining.importSources.get(before.uuid) ?? [])
      const stored = remaining.stored.get(before.uuid)!
      if (combined !== null && isSame(before, combined)) moved.push({ uuid: before.uuid, stored, ...combined.xml })
      else {
        removed.push(before.uuid)
        if (combined === null) continue
        const document = await rebuilt(target, withAnswers(before, combined))
        created.push({ ...document, row: { ...document.row, stored, status_checks: before.status_checks } })
      }
    }
    const changes = { created, completed: [], cancelled: [], removed }
    const affected = await readAffectedBy(ledger, entity, changes, known.length < 2)
    const { writes } = applyChanges(changes, affected)
    const chunks = await chunksWithout(ledger, entity, affected.rows, new Set(removed))
    const statements = writeStatements({ entity, rfc, sequence }, { ...writes, moved, chunks }, now.getTime())
    await commit(ledger, [...statements, ...also(remaining)])
  })

/** The rest of the chunks that hold documents to be taken out. */
async function chunksWithout(ledger: D1Database, entity: number, rows: readonly StoredRow[], removed: ReadonlySet<string>) {
  const locations = rows.filter(({ uuid, chunk }) => removed.has(uuid) && chunk !== null) as (StoredRow & ChunkLocation)[]
  return withoutDocuments(await readChunks(ledger, entity, chunksOf(locations)), locations)
}

/** Whether the stored row says what the import sources say. A cancelled document is built again, because the reasons may differ. */
const isSame = (stored: KnownCfdi, combined: Combined): combined is Combined & { xml: NonNullable<Combined['xml']> } =>
  combined.xml !== null &&
  stored.xml_crc === combined.xml.xml_crc &&
  stored.xml_size === combined.xml.xml_size &&
  stored.cancelled === 0 &&
  combined.status.cancelled === 0

/** A document that the status service called cancelled stays so, whatever the remaining imports say. */
const withAnswers = ({ status_checks }: KnownCfdi, combined: Combined): Combined =>
  combined.status.cancelled === 0 && isCalledCancelled(status_checks) ? { ...combined, status: CANCELLED } : combined

async function rebuilt({ files, rfc, now }: ReplaceTarget, { xml, metadata, status }: Combined): Promise<Incoming> {
  if (xml === null)
    return {
      row: { ...rowOfMetadata(metadata!, rfc, now.getTime()), ...status },
      content: null,
      applications: [],
      ...NO_RELATIONS,
      packed: null,
    }
  const lines = new Lines()
  const parsed = await stepByStep(parsingCfdi(await readXml(files, xml), lines))
  const document = documentOf(parsed, lines, rfc, status, now.getTime(), xml)
  return { ...document, packed: null }
}
