import { type Bytes, free } from '../../platform/bytes/bytes.ts'
import { EntryRejected, PackageRejected } from './central-record.ts'
import { readDirectory } from './directory.ts'
import { entriesOf, type ZipEntry } from './entries.ts'
import type { ListedRow, MetadataRow } from './package.ts'
import { isXml, kindOf, type MetadataFile, MetadataRoom, openMetadataEntry, shownName, startOf } from './package.ts'

/** The status that metadata gives a document. */
export type ReportedStatus = Pick<MetadataRow, 'cancelled' | 'cancelled_at' | 'cancellation_reason' | 'folio_sustitucion'>

/** Finds the status that metadata gives a document. A Map of rows does so too. */
export interface StatusLookup {
  get(uuid: string): ReportedStatus | undefined
}

/** The status of a valid document. */
const VALID: ReportedStatus = { cancelled: false, cancelled_at: null, cancellation_reason: null, folio_sustitucion: null }
const WORDS = 4
const FIRST_SLOTS = 1_024
/** The values of a slot: nothing, a valid document, one whose XML was delivered, or from here on the place of a cancellation. */
const [EMPTY, LISTED, DELIVERED, CANCELLED] = [0, 1, 2, 3]

/**
 * The statuses of a month's documents by UUID, in 20 bytes for a valid one and 29 more for a cancelled one: a busy taxpayer has hundreds of
 * thousands a month, whose rows would not fit into the memory. An open hash table in typed arrays; its seed is random, so that no file can
 * be made to fill one place.
 */
export class ReportedStatuses implements StatusLookup {
  #keys = new Uint32Array(FIRST_SLOTS * WORDS)
  #values = new Uint32Array(FIRST_SLOTS)
  #used = 0
  #delivered = 0
  readonly #seed = crypto.getRandomValues(new Uint32Array(WORDS)).map((word) => word | 1)
  readonly #cancellations = new Cancellations()

  /** Adds a row. A later row with the same UUID counts, but a cancellation is never undone. */
  add(row: ReportedStatus & Pick<MetadataRow, 'uuid'>): void {
    if (this.#used * 4 >= this.#values.length * 3) this.#grow()
    const key = wordsOf(row.uuid)
    const slot = this.#slotOf(key)
    const value = this.#values[slot]!
    if (value === EMPTY) {
      this.#keys.set(key, slot * WORDS)
      this.#used++
    }
    if (value >= CANCELLED! && !row.cancelled) return
    if (value === DELIVERED) this.#delivered--
    this.#values[slot] = row.cancelled ? CANCELLED! + this.#cancellations.add(row) : LISTED!
  }

  /** The slot of a document among `slots`, as long as no other one is added; null when no metadata lists it. */
  slotOf(uuid: string): number | null {
    const slot = this.#slotOf(wordsOf(uuid))
    return this.#values[slot] === EMPTY ? null : slot
  }

  get slots(): number {
    return this.#values.length
  }

  get(uuid: string): ReportedStatus | undefined {
    const value = this.#values[this.#slotOf(wordsOf(uuid))]!
    if (value === EMPTY) return undefined
    return value < CANCELLED! ? VALID : this.#cancellations.at(value - CANCELLED!)
  }

  /** Notes that the XML of a document was delivered. Then the row of a valid document has nothing left to report. */
  deliver(uuid: string): void {
    const slot = this.#slotOf(wordsOf(uuid))
    if (this.#values[slot] !== LISTED) return
    this.#values[slot] = DELIVERED!
    this.#delivered++
  }

  isLeft(uuid: string): boolean {
    return this.#values[this.#slotOf(wordsOf(uuid))] !== DELIVERED
  }

  /** How many documents are left. */
  get left(): number {
    return this.#used - this.#delivered
  }

  /** The slot of a key, or the empty one where it belongs. */
  #slotOf(key: ArrayLike<number>): number {
    let hash = 0
    for (let word = 0; word < WORDS; word++) {
      hash = Math.imul(hash ^ key[word]!, this.#seed[word]!)
      hash ^= hash >>> 15
    }
    const mask = this.#values.length - 1
    let slot = hash & mask
    while (this.#values[slot] !== EMPTY && !this.#isAt(slot, key)) slot = (slot + 1) & mask
    return slot
  }

  #isAt(slot: number, key: ArrayLike<number>): boolean {
    for (let word = 0; word < WORDS; word++) if (this.#keys[slot * WORDS + word] !== key[word]) return false
    return true
  }

  #grow(): void {
    const [keys, values] = [this.#keys, this.#values]
    this.#keys = new Uint32Array(keys.length * 2)
    this.#values = new Uint32Array(values.length * 2)
    values.forEach((value, i) => {
      if (value === EMPTY) return
      const key = keys.subarray(i * WORDS, (i + 1) * WORDS)
      const slot = this.#slotOf(key)
      this.#keys.set(key, slot * WORDS)
      this.#values[slot] = value
    })
    free(keys)
    free(values)
  }
}

/** When and why documents were cancelled, by place. */
class Cancellations {
  #at = new Float64Array(64)
  #reasons = new Uint8Array(64)
  #substitutes = new Uint32Array(64 * WORDS)
  #used = 0

  add({ cancelled_at, cancellation_reason, folio_sustitucion }: ReportedStatus): number {
    if (this.#used === this.#at.length) this.#grow()
    const location = this.#used++
    this.#at[location] = cancelled_at === null ? Number.NaN : Date.parse(`${cancelled_at}Z`)
    this.#reasons[location] = Number(cancellation_reason ?? 0)
    if (folio_sustitucion !== null) this.#substitutes.set(wordsOf(folio_sustitucion), location * WORDS)
    return location
  }

  at(location: number): ReportedStatus {
    const [at, reason] = [this.#at[location]!, this.#reasons[location]!]
    const substitute = this.#substitutes.subarray(location * WORDS, (location + 1) * WORDS)
    return {
      cancelled: true,
      cancelled_at: Number.isNaN(at) ? null : new Date(at).toISOString().slice(0, 19),
      cancellation_reason: reason === 0 ? null : `0${reason}`,
      folio_sustitucion: substitute.some((word) => word !== 0) ? uuidOf(substitute) : null,
    }
  }

  #grow(): void {
    const grown = <Kind extends Float64Array | Uint8Array | Uint32Array>(larger: Kind, smaller: Kind): Kind => {
      larger.set(smaller as never)
      return larger
    }
    this.#at = grown(new Float64Array(this.#at.length * 2), this.#at)
    this.#reasons = grown(new Uint8Array(this.#reasons.length * 2), this.#reasons)
    this.#substitutes = grown(new Uint32Array(this.#substitutes.length * 2), this.#substitutes)
  }
}

const wordsOf = (uuid: string): number[] => {
  const hex = uuid.replaceAll('-', '')
  return [0, 8, 16, 24].map((at) => Number.parseInt(hex.slice(at, at + 8), 16) >>> 0)
}

const uuidOf = (words: ArrayLike<number>): string => {
  const hex = Array.from(words, (word) => word.toString(16).padStart(8, '0'))
    .join('')
    .toUpperCase()
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** A file of a package, or a line of a metadata file, that was not kept. */
export interface Rejection {
  /** Safe to be shown. */
  name: string
  /** The line on which the row of metadata begins; null for a file. */
  line: number | null
  code: string
  /** Null when it is not known. */
  uuid: string | null
}

/** How many rejections are listed one by one. */
export const MOST_LISTED = 100

/** Rejections: how many there are, and the first of them. */
export class Rejections {
  count = 0
  readonly first: Rejection[] = []

  add(rejection: Rejection): void {
    this.count++
    if (this.first.length < MOST_LISTED) this.first.push(rejection)
  }
}

/** The download of a month of a source of a taxpayer. */
interface WantedMetadata {
  rfc: string
  direction: 0 | 1
  month: string
}

/**
 * A package with documents of other months: whether this month answers for rows of no month, whether documents are missing, and the times
 * asked for.
 */
interface SharedMetadata {
  is_last: boolean
  is_short: boolean
  isAsked(time: string): boolean
  family: MetadataRow['kind']
}

interface MonthFile {
  file: MetadataFile
  /** Whether a row counts. */
  isOwn(row: ListedRow): boolean
  /** The kind of its documents; null when its columns say that. */
  family: MetadataRow['kind'] | null
}

/**
 * The metadata of a month that is being downloaded. The packages are kept as they came, compressed, beside the status of each document;
 * their rows are read again when the XML has been ingested.
 */
export class MonthMetadata {
  readonly statuses = new ReportedStatuses()
  /** The lines that could not be read, and the files that are no metadata. */
  readonly rejected = new Rejections()
  readonly #files: MonthFile[] = []
  readonly #wanted: WantedMetadata

  constructor(wanted: WantedMetadata) {
    this.#wanted = wanted
  }

  /**
   * Adds a downloaded package; XML entries are not opened. Only rows of the month and the source count. In a package with rows of other
   * months, each month reports its own unreadable lines, and the last month also those that nobody can date, and those of times that nobody
   * asked for, because no other month would. In a package of the month alone, everything else is rejected. Throws PackageRejected, also
   * when a metadata file is damaged or they are too large together, because a month without some of its metadata would pass for complete.
   */
  async add(file: Bytes, shared?: SharedMetadata): Promise<void> {
    const { month } = this.#wanted
    const isAnsweredFor = (time: string | null): boolean => {
      if (!shared || time?.startsWith(month)) return true
      return shared.is_last && (time === null || !shared.isAsked(time))
    }
    const isOfMonth = (row: ListedRow): boolean => (shared || row.fecha !== null ? monthOf(row) === month : true)
    const isOwn = (row: ListedRow): boolean => isOfMonth(row) && this.#isOfSource(row)
    const unread: UnreadRows = {
      add: (one, month) => {
        if (isAnsweredFor(month)) this.rejected.add(one)
      },
    }
    const others = (row: ListedRow): void => {
      if (isOfMonth(row)) this.rejected.add(otherDay(row, 'metadata.other_source'))
      else if (row.fecha !== null && isAnsweredFor(row.fecha)) this.rejected.add(otherDay(row, 'metadata.outside_period'))
    }
    // The authority says how many documents a shared package has: anything else in it is no loss.
    const rejected = shared === undefined || (shared.is_last && shared.is_short) ? this.rejected : undefined
    for (const one of await metadataIn(file, rejected, shared === undefined)) {
      const read = { file: one, isOwn, family: shared?.family ?? null }
      this.#files.push(read)
      for await (const rows of rowsOfMonth(read, unread, others)) for (const row of rows) this.statuses.add(row)
    }
  }

  /** Rows of neither party are rejected where rows are stored. */
  #isOfSource({ emisor_rfc, receptor_rfc }: ListedRow): boolean {
    const { rfc, direction } = this.#wanted
    const [own, other] = direction === 0 ? [emisor_rfc, receptor_rfc] : [receptor_rfc, emisor_rfc]
    return own === rfc || other !== rfc
  }

  /** Notes which documents have been delivered with their XML: the entries of a slice that were not rejected. */
  deliver(entries: readonly { uuid: string | null; status: string }[]): void {
    for (const { uuid, status } of entries) if (uuid !== null && status !== 'rejected') this.statuses.deliver(uuid)
  }

  /** The rows of documents that only the metadata has, and of those that it reports as cancelled. */
  async *rowsLeft(): AsyncGenerator<ListedRow[], void, undefined> {
    if (this.statuses.left === 0) return
    for (const file of this.#files) for await (const rows of rowsOfMonth(file)) yield rows.filter(({ uuid }) => this.statuses.isLeft(uuid))
  }
}

/** Takes the rows that cannot be read, each with the month of its Fecha if that can be read. */
interface UnreadRows {
  add(rejection: Rejection, month: string | null): void
}

/** The rows that count. `others` is called with each other one. */
async function* rowsOfMonth({ file, isOwn, family }: MonthFile, rejected?: UnreadRows, others?: (row: ListedRow) => void) {
  for await (const rows of rowsOf(file, rejected)) {
    const own = rows.filter((row) => {
      const is = isOwn(row)
      if (!is) others?.(row)
      return is
    })
    if (family === 'retenciones') for (const row of own) row.kind = family
    yield own
  }
}

const otherDay = ({ file, line, uuid }: ListedRow, code: string): Rejection => ({ name: file, line, code, uuid })

/** The month of a row; empty when it has no date. */
export const monthOf = ({ fecha, certified_at }: Pick<ListedRow, 'fecha' | 'certified_at'>): string =>
  (fecha ?? certified_at ?? '').slice(0, 7)

/** The rows of a file, some at a time. The lines that cannot be read are added to `rejected`. */
export async function* rowsOf(file: MetadataFile, rejected?: UnreadRows): AsyncGenerator<ListedRow[], void, undefined> {
  const { name } = file
  for await (const lines of file.lines())
    yield lines.flatMap((one) => {
      if (one.row) return Object.assign(one.row, { file: name, line: one.line })
      const { month, ...why } = one.rejected
      rejected?.add({ name, ...why, uuid: null }, month)
      return []
    })
}

/**
 * The metadata files of a package. One without any is rejected by what it has in their place; with `every`, everything else in it that is
 * not empty is rejected. Throws PackageRejected.
 */
export async function metadataIn(file: Bytes, rejected?: Rejections, every = false): Promise<MetadataFile[]> {
  const files: MetadataFile[] = []
  /** Entries that are no list of CFDIs. Alone, they stand where one should be. */
  const unreadable: ZipEntry[] = []
  const room = new MetadataRoom()
  const directory = await readDirectory(file)
  for await (const entry of entriesOf(file, directory)) {
    if (entry.junk || isXml(entry.name)) continue
    const name = shownName(entry.name)
    try {
      const kind = kindOf(entry.name, await startOf(file, entry))
      if (kind === 'metadata') files.push(await openMetadataEntry(file, entry, room))
      else if (kind !== 'terceros' && !/tercero/i.test(name)) unreadable.push(entry)
    } catch (error) {
      throw error instanceof EntryRejected ? new PackageRejected(error.code, error.message, name) : error
    }
  }
  directory.release()
  const shown = files.length === 0 ? unreadable : unreadable.filter(({ size }) => every && size > 0)
  const names = files.length + unreadable.length === 0 ? ['package.zip'] : shown.map(({ name }) => shownName(name))
  for (const name of names) rejected?.add({ name, line: null, code: 'metadata.no_rows', uuid: null })
  return files
}
