import type { Bytes } from '../../platform/bytes/bytes.ts'
import { letOthersGoOn } from '../../platform/work/pause.ts'
import { broken, type CentralEntry, hasRecord, nextAfter, PackageRejected, placesOf, readCentral, viewOf } from './central-record.ts'

const MAX_ENTRIES = 200_000
/** The largest directory: one in another order than its data is in memory as long as its package is read. */
const MAX_DIRECTORY = 20 * 1024 * 1024
/** The bytes of a larger directory that are read at a time: more than any record has. */
const PART = 1024 * 1024
/** Records between two pauses. */
const RECORDS_AT_ONCE = 10_000

const END = 0x06054b50
const END64 = 0x06064b50
const LOCATOR64 = 0x07064b50
const U16 = 0xffff
const U32 = 0xffffffff

/** Where a directory is in its file, in bytes, and how many entries it declares. */
interface Found {
  start: number
  size: number
  count: number
}

/** The order of the data of the entries, as their places in the directory, and where the record of each begins in it. */
interface DataOrder {
  locations: Uint32Array
  starts: Uint32Array
}

/**
 * The directory of a ZIP. A part of it is in memory while it is read; as a whole it is kept when it is small, or in another order than the data
 * of its entries. That of 80,000 documents has seven megabytes.
 */
export class Directory {
  readonly #file: Bytes
  readonly #size: number
  readonly #whole: Uint8Array | null
  readonly #order: DataOrder | null
  /** How many entries it has. */
  readonly length: number
  /** Where it begins in the file, which is where the data of the entries end. */
  readonly start: number

  constructor(file: Bytes, { start, size, count }: Found, whole: Uint8Array | null, order: DataOrder | null) {
    this.#file = file
    this.#size = size
    this.#whole = whole
    this.#order = order
    this.length = count
    this.start = start
  }

  /** Frees its memory. Nothing can be read of it afterwards. */
  release(): void {
    if (this.#whole !== null) this.#file.release(this.#whole)
  }

  /** The entries in the order of the directory. */
  async *entries(): AsyncGenerator<CentralEntry, void, undefined> {
    let n = 0
    for await (const { bytes, view, at } of recordsOf(this.#file, { start: this.start, size: this.#size }, this.#whole))
      yield { ...readCentral(bytes, view, at), n: n++ }
  }

  /** The entries in the order of their data. */
  async *byOffset(): AsyncGenerator<CentralEntry, void, undefined> {
    if (this.#order === null) return yield* this.entries()
    const bytes = this.#whole!
    const view = viewOf(bytes)
    let count = 0
    for (const n of this.#order.locations) {
      if (++count % RECORDS_AT_ONCE === 0) await letOthersGoOn()
      yield { ...readCentral(bytes, view, this.#order.starts[n]!), n }
    }
  }

  /** Whether some entry that is not ignored has such a name. */
  async some(isIt: (name: string) => boolean): Promise<boolean> {
    for await (const { name, junk } of this.entries()) if (!junk && isIt(name)) return true
    return false
  }
}

/**
 * Reads the central directory of a ZIP, which alone decides what is in it. Nothing is inflated. Throws PackageRejected when the directory
 * cannot be read, has more than 20 MiB, or lists more than 200,000 entries.
 */
export const readDirectory = async (file: Bytes): Promise<Directory> => {
  const found = await findDirectory(file)
  const { start, size } = found
  if (found.count > MAX_ENTRIES) throw tooMany()
  if (size > MAX_DIRECTORY) throw new PackageRejected('zip.too_many_entries', 'The package lists its entries in more than 20 MiB.')
  const whole = size > PART ? null : await file.read(start, size)
  let [count, last, isInOrder] = [0, 0, true]
  for await (const { view, at } of recordsOf(file, found, whole)) {
    const { local } = placesOf(view, at)
    isInOrder &&= local >= last
    last = local
    if (++count > MAX_ENTRIES) throw tooMany()
  }
  if ((count & U16) !== (found.count & U16)) throw broken('does not list as many entries as it declares')
  if (isInOrder) return new Directory(file, { start, size, count }, whole, null)
  const bytes = whole ?? (await file.read(start, size))
  return new Directory(file, { start, size, count }, bytes, orderOf(bytes, count))
}

/** A record of a directory, at a place in bytes of it. */
interface CentralRecord {
  bytes: Uint8Array
  view: DataView
  at: number
}

/** The records of a directory that is in memory as a whole, or of one of which a part is at a time. Throws PackageRejected. */
async function* recordsOf(
  file: Bytes,
  { start, size }: Omit<Found, 'count'>,
  whole: Uint8Array | null,
): AsyncGenerator<CentralRecord, void, undefined> {
  let bytes = whole ?? new Uint8Array()
  let view = viewOf(bytes)
  let [from, count] = [0, 0]
  try {
    for (let at = 0; at < size; ) {
      if (++count % RECORDS_AT_ONCE === 0) await letOthersGoOn()
      if (whole === null && !hasRecord(view, at - from)) {
        file.release(bytes)
        from = Math.min(at, size - PART)
        bytes = await file.read(start + from, PART)
        view = viewOf(bytes)
      }
      const next = nextAfter(view, at - from)
      yield { bytes, view, at: at - from }
      at = from + next
    }
  } finally {
    if (whole === null) file.release(bytes)
  }
}

function orderOf(bytes: Uint8Array, count: number): DataOrder {
  const view = viewOf(bytes)
  const [starts, locals] = [new Uint32Array(count), new Float64Array(count)]
  for (let n = 0, at = 0; n < count; n++, at = nextAfter(view, at)) {
    starts[n] = at
    locals[n] = placesOf(view, at).local
  }
  return { starts, locations: starts.map((_, n) => n).sort((a, b) => locals[a]! - locals[b]! || a - b) }
}

const findDirectory = async (file: Bytes): Promise<Found> => {
  // The end record and its comment, and before it what ZIP64 adds.
  const tail = Math.max(0, file.size - 22 - U16 - 20)
  const view = viewOf(await file.read(tail, file.size - tail))
  const last = view.byteLength - 22
  for (let at = last; at >= Math.max(0, last - U16); at--) {
    if (view.getUint32(at, true) !== END || at + 22 + view.getUint16(at + 20, true) > view.byteLength) continue
    const count = view.getUint16(at + 10, true)
    const size = view.getUint32(at + 12, true)
    const start = view.getUint32(at + 16, true)
    const is64 = at >= 20 && (count === U16 || size === U32 || start === U32) && view.getUint32(at - 20, true) === LOCATOR64
    const found = is64 ? await findDirectory64(file, view.getBigUint64(at - 12, true), tail + at - 20) : { start, size, count }
    if (found.start + found.size > tail + at) throw broken('extends beyond the file')
    return found
  }
  throw new PackageRejected('zip.no_directory', 'The file is not a ZIP, or its end is missing.')
}

const findDirectory64 = async (file: Bytes, at: bigint, locator: number): Promise<Found> => {
  const record = Number(at) + 56 > locator ? null : viewOf(await file.read(Number(at), 56))
  if (record?.getUint32(0, true) !== END64) throw broken('has no ZIP64 end record where the locator points')
  return {
    count: Number(record.getBigUint64(32, true)),
    size: Number(record.getBigUint64(40, true)),
    start: Number(record.getBigUint64(48, true)),
  }
}

const tooMany = (): PackageRejected => new PackageRejected('zip.too_many_entries', 'The package has more than 200,000 entries.')
