import type { Bytes } from '../../platform/bytes/bytes.ts'

/** Why a package, or an entry of one, cannot be read. Source: reliability.md 4 group X. */
export type ZipCode =
  | 'zip.no_directory'
  | 'zip.broken_directory'
  | 'zip.too_many_entries'
  | 'zip.encrypted'
  | 'zip.unsupported_method'
  | 'zip.outside'
  | 'zip.overlapping'
  | 'zip.too_large'
  | 'zip.wrong_size'
  | 'zip.wrong_crc'
  | 'zip.corrupt'
  | 'zip.nested'

/** The package cannot be used: it has no readable directory, or a file without which the others say too little cannot be read. */
export class PackageRejected extends Error {
  readonly code: ZipCode
  /** The file that is at fault, safe to be shown. */
  readonly file: string

  constructor(code: ZipCode, message: string, file = 'package.zip') {
    super(message)
    this.code = code
    this.file = file
  }
}

/** One entry cannot be read; the others may still be. */
export class EntryRejected extends Error {
  readonly code: ZipCode

  constructor(code: ZipCode, message: string) {
    super(message)
    this.code = code
  }
}

export interface ZipEntry {
  /** Its place in the directory, from 0. */
  readonly n: number
  /** The name as it is in the directory. It is never used as a path. */
  readonly name: string
  /** As declared; `inflate` checks it against the inflated bytes. */
  readonly crc32: number
  readonly compressed_size: number
  /** Number of inflated bytes, as declared. */
  readonly size: number
  /** 0 stored, 8 deflate. */
  readonly method: number
  /** Where the entry's data begins in the package; 0 when the entry is rejected. */
  readonly offset: number
  /** A folder, or a file that macOS adds. It is ignored. */
  readonly junk: boolean
  readonly rejected: EntryRejected | null
}

const MAX_ENTRIES = 200_000
/** The most of a directory: one that is in another order than its data is in memory as long as its package is read. */
const MAX_DIRECTORY = 20 * 1024 * 1024
/** What is read of a larger directory at a time, in bytes: more than any record has. */
const PART = 1024 * 1024

const END = 0x06054b50
const END64 = 0x06064b50
const LOCATOR64 = 0x07064b50
const CENTRAL = 0x02014b50
const LOCAL = 0x04034b50
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
  places: Uint32Array
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
    for (const n of this.#order.places) yield { ...readCentral(bytes, view, this.#order.starts[n]!), n }
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
  let from = 0
  try {
    for (let at = 0; at < size; ) {
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
  return { starts, places: starts.map((_, n) => n).sort((a, b) => locals[a]! - locals[b]! || a - b) }
}

/** An entry that has not been located. */
export interface CentralEntry extends Omit<ZipEntry, 'offset' | 'rejected'> {
  readonly flags: number
  /** Where its local header is. */
  readonly local: number
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

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** Where a record ends that begins at a place; nowhere when its lengths are not there. */
const endOfRecord = (view: DataView, at: number): number =>
  at + 46 > view.byteLength
    ? Number.POSITIVE_INFINITY
    : at + 46 + view.getUint16(at + 28, true) + view.getUint16(at + 30, true) + view.getUint16(at + 32, true)

const hasRecord = (view: DataView, at: number): boolean => endOfRecord(view, at) <= view.byteLength

const nextAfter = (view: DataView, at: number): number => {
  if (!hasRecord(view, at) || view.getUint32(at, true) !== CENTRAL) throw broken('is truncated or damaged')
  return endOfRecord(view, at)
}

const readCentral = (bytes: Uint8Array, view: DataView, at: number): Omit<CentralEntry, 'n'> => {
  const name = decodeName(bytes.subarray(at + 46, at + 46 + view.getUint16(at + 28, true)))
  const { size, compressed, local } = placesOf(view, at)
  return {
    name,
    crc32: view.getUint32(at + 16, true),
    compressed_size: compressed,
    size,
    method: view.getUint16(at + 10, true),
    flags: view.getUint16(at + 8, true),
    junk: name.endsWith('/') || /(?:^|[\\/])(?:__MACOSX[\\/]|\.DS_Store$)/.test(name),
    local,
  }
}

/** The sizes and the offset, from the ZIP64 extra field where the 32-bit fields refer to it. */
const placesOf = (view: DataView, at: number): { size: number; compressed: number; local: number } => {
  const values: [number, number, number] = [view.getUint32(at + 24, true), view.getUint32(at + 20, true), view.getUint32(at + 42, true)]
  if (values.includes(U32)) widen(values, view, at)
  return { size: values[0], compressed: values[1], local: values[2] }
}

const widen = (values: [number, number, number], view: DataView, at: number): void => {
  const extra = at + 46 + view.getUint16(at + 28, true)
  const end = extra + view.getUint16(at + 30, true)
  for (let field = extra; field + 4 <= end; field += 4 + view.getUint16(field + 2, true)) {
    if (view.getUint16(field, true) !== 1) continue
    let value = field + 4
    for (const i of [0, 1, 2] as const) {
      if (values[i] !== U32 || value + 8 > end) continue
      values[i] = Number(view.getBigUint64(value, true))
      value += 8
    }
    break
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const latin1 = new TextDecoder('windows-1252')

const decodeName = (bytes: Uint8Array): string => {
  // Many writers omit the UTF-8 flag, so every name that is valid UTF-8 is read as UTF-8.
  try {
    return utf8.decode(bytes)
  } catch {
    return latin1.decode(bytes)
  }
}

/** Which entries of a package something is read of. */
export type IsWanted = (entry: CentralEntry) => boolean

/**
 * The entries of a ZIP in the order of their data, each found through its local header. Those that lie outside the file or overlap an
 * earlier one are rejected. Nothing is read of entries that are not wanted.
 */
export async function* entriesOf(
  file: Bytes,
  directory: Directory,
  isWanted: IsWanted = () => true,
): AsyncGenerator<ZipEntry, void, undefined> {
  let reached = 0
  for await (const central of directory.byOffset()) {
    if (!isWanted(central)) continue
    const { local, flags, ...entry } = central
    const header = local + 30 > directory.start ? null : viewOf(await file.read(local, 30))
    const isThere = header?.getUint32(0, true) === LOCAL
    const offset = isThere ? local + 30 + header.getUint16(26, true) + header.getUint16(28, true) : 0
    const end = offset + entry.compressed_size
    const rejected = rejectionOf(entry, flags) ?? misplaced(isThere, end > directory.start, local < reached && !entry.junk)
    if (isThere && end <= directory.start) reached = Math.max(reached, end)
    yield { ...entry, offset: rejected ? 0 : offset, rejected }
  }
}

const misplaced = (isThere: boolean, isBeyond: boolean, isOverlapping: boolean): EntryRejected | null => {
  if (!isThere) return new EntryRejected('zip.outside', 'The entry is not at the place that the directory gives.')
  if (isBeyond) return new EntryRejected('zip.outside', 'The entry extends beyond the file.')
  return isOverlapping ? new EntryRejected('zip.overlapping', 'The entry overlaps another entry.') : null
}

const rejectionOf = ({ method, junk, name }: Pick<ZipEntry, 'method' | 'junk' | 'name'>, flags: number): EntryRejected | null => {
  if (junk) return null
  if (flags & 0x2041) return new EntryRejected('zip.encrypted', 'The entry is encrypted.')
  if (method !== 0 && method !== 8)
    return new EntryRejected('zip.unsupported_method', 'The compression method of the entry is not supported.')
  if (/\.zip$/i.test(name)) return new EntryRejected('zip.nested', 'A ZIP inside a ZIP is not opened.')
  return null
}

const broken = (how: string): PackageRejected => new PackageRejected('zip.broken_directory', `The package's directory ${how}.`)

const tooMany = (): PackageRejected => new PackageRejected('zip.too_many_entries', 'The package has more than 200,000 entries.')
