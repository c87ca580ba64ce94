import { type ConversationPorts, PackageUnreadable } from '../../authority/sat/conversation/ports.ts'
import { isWithin } from '../../authority/sat/conversation/rules/periods.ts'
import { type AuthorityRequest, type DayCounts, packageKey } from '../../authority/sat/conversation/rules/requests.ts'
import { type KnownCfdi, readStored } from '../../cfdi/ingest/ingest.ts'
import { PackageRejected } from '../../cfdi/package/central-record.ts'
import { readDirectory } from '../../cfdi/package/directory.ts'
import { type ListedRow, uuidOfName } from '../../cfdi/package/package.ts'
import { metadataIn, ReportedStatuses, rowsOf } from '../../cfdi/package/rejections.ts'
import { type Bytes, bytesOfObject, detach } from '../../platform/bytes/bytes.ts'

/** Where packages are read and compared. */
export interface PackageLocation {
  ledger: D1Database
  files: R2Bucket
  entity: number
}

/** Documents of one look-up. */
const LOOKED_UP = 5_000

const bytesOf = ({ files, entity }: PackageLocation, { n, packages }: AuthorityRequest, k: number): Bytes =>
  bytesOfObject(files, packageKey(entity, n, k), packages[k]!.size!)

/** Throws PackageUnreadable for a package that cannot be read. */
async function readable<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    throw error instanceof PackageRejected ? new PackageUnreadable(error.code) : error
  }
}

/** Adds up which documents are deliverable and missing, day by day. */
class DayCounter {
  readonly #days = new Map<string, [deliverable: number, missing: number, first: string, last: string]>()

  add(fecha: string, isMissing: boolean): void {
    const [day, time] = [fecha.slice(0, 10), fecha.slice(11)]
    const counts = this.#days.get(day) ?? [0, 0, '', '']
    counts[0]++
    if (isMissing) {
      if (counts[1]++ === 0 || time < counts[2]) counts[2] = time
      if (time > counts[3]) counts[3] = time
    }
    this.#days.set(day, counts)
  }

  get days(): DayCounts {
    return Object.fromEntries(this.#days)
  }
}

/** Whether the authority delivers the XML of a document: of received ones only when they are valid. */
const isDeliverable = ({ source }: AuthorityRequest, { cancelled, fecha }: ListedRow): boolean =>
  fecha !== null && (source === 'sat_cfdi_issued' || !cancelled)

/**
 * Counts the documents of a package of metadata whose XML is not stored, day by day. With the last package it reads the others again, and counts
 * the documents that all of them list: some are listed twice.
 */
export function readMetadata(
  location: PackageLocation,
  request: AuthorityRequest,
  k: number,
): ReturnType<ConversationPorts['readMetadata']> {
  return readable(async () => {
    const counts = new DayCounter()
    const isLast = k === request.packages.length - 1
    const listed = new ReportedStatuses()
    let [dated, unread] = [0, 0]
    const unreadRows = {
      add: (_: unknown, month: string | null) => {
        if (month === null) unread++
        else if (isWithin(month, request)) dated++
      },
    }
    const compare = comparing(location, request, counts)
    for (let i = isLast ? 0 : k; i <= k; i++) {
      const files = await metadataIn(bytesOf(location, request, i))
      if (files.length === 0) unread++
      for (const file of files)
        for await (const some of rowsOf(file, unreadRows)) {
          // Documents of another time are not those that were announced.
          if (isLast) for (const row of some) if (row.fecha === null || isWithin(row.fecha, request)) listed.add(row)
          if (i === k) await compare.add(some)
        }
    }
    await compare.end()
    return { ...(isLast ? { rows: listed.left + dated, unread } : { rows: 0, unread: 0 }), days: counts.days }
  })
}

/** Whether the XML of a document is to be asked for: it is not stored, and may be. */
const isMissing = (stored: KnownCfdi | undefined): boolean =>
  stored === undefined || (stored.xml_crc === null && stored.beyond_limits === null)

/** Compares rows with what is stored, some thousands at a time. */
function comparing({ ledger, entity }: PackageLocation, request: AuthorityRequest, counts: DayCounter) {
  // Rows as they are would keep thousands of texts in memory.
  let waiting: { uuid: string; fecha: string }[] = []
  const months = new Set(request.months)
  const isOwn = ({ fecha }: { fecha: string }): boolean => months.has(fecha.slice(0, 7))
  const end = async () => {
    const own = waiting.filter(isOwn)
    const stored = await readStored(
      ledger,
      entity,
      own.map(({ uuid }) => uuid),
    )
    for (const row of waiting) counts.add(row.fecha, isOwn(row) && isMissing(stored.get(row.uuid)))
    waiting = []
  }
  return {
    async add(rows: readonly ListedRow[]): Promise<void> {
      for (const row of rows) if (isDeliverable(request, row)) waiting.push(detach({ uuid: row.uuid, fecha: row.fecha! }))
      if (waiting.length >= LOOKED_UP) await end()
    },
    end,
  }
}

/**
 * Finds the entries of XML packages whose names no metadata announces, and announced documents of the request's period that are neither
 * stored nor, by their names, in the packages.
 */
export function readXml(
  location: PackageLocation,
  request: AuthorityRequest,
  metadata: readonly AuthorityRequest[],
): Promise<{ unannounced: number[][]; left: DayCounts }> {
  return readable(async () => {
    const announced = new ReportedStatuses()
    const files: { file: Awaited<ReturnType<typeof metadataIn>>[number] }[] = []
    for (const one of metadata) {
      if (one.first > request.last || one.last < request.first) continue
      for (const [k, { size }] of one.packages.entries())
        if (size !== undefined) for (const file of await metadataIn(bytesOf(location, one, k))) files.push({ file })
    }
    const rowsWithin = async function* () {
      for (const { file } of files)
        for await (const rows of rowsOf(file))
          yield rows.filter((row) => row.fecha !== null && row.fecha >= request.first && row.fecha <= request.last)
    }
    for await (const rows of rowsWithin()) for (const row of rows) announced.add(row)
    const unannounced: number[][] = []
    const named = new Uint8Array(announced.slots)
    for (const k of request.packages.keys()) unannounced.push(await unannouncedIn(bytesOf(location, request, k), announced, named))
    const counts = new DayCounter()
    const compare = comparing(location, request, counts)
    for await (const rows of rowsWithin()) await compare.add(rows.filter(({ uuid }) => named[announced.slotOf(uuid)!] !== 1))
    await compare.end()
    const left = Object.entries(counts.days).filter(([, [, missing]]) => missing > 0)
    const missing = left.reduce((sum, [, [, count]]) => sum + count, 0)
    // The unannounced entries may be what is missing.
    const isKnown = missing > unannounced.reduce((sum, { length }) => sum + length, 0)
    return { unannounced, left: isKnown ? Object.fromEntries(left) : {} }
  })
}

/**
 * The locations of the entries of a package whose names no metadata announces. Puts a 1 into `named` at the slots of the documents that the others
 * are named after.
 */
async function unannouncedIn(file: Bytes, announced: ReportedStatuses, named: Uint8Array): Promise<number[]> {
  const directory = await readDirectory(file)
  const unannounced: number[] = []
  for await (const { n, name, junk, size } of directory.entries()) {
    if (junk || size === 0) continue
    const uuid = uuidOfName(name)
    const location = uuid === null ? null : announced.slotOf(uuid)
    if (location === null) unannounced.push(n)
    else named[location] = 1
  }
  directory.release()
  return unannounced
}
