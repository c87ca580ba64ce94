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

/** The package has no readable directory, so nothing in it can be read. */
export class PackageRejected extends Error {
  readonly code: ZipCode

  constructor(code: ZipCode, message: string) {
    super(message)
    this.code = code
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
  /** The name as it is in the directory. It is never used as a path. */
  readonly name: string
  /** As declared; `inflate` checks it against the inflated bytes. */
  readonly crc32: number
  readonly compressed_size: number
  /** Number of inflated bytes, as declared. */
  readonly size: number
  /** 0 stored, 8 deflate. */
  readonly method: number
  readonly flags: number
  /** Where the entry's data begins in the package; 0 when the entry is rejected. */
  readonly offset: number
  /** A folder, an empty file, or a file that macOS adds. It is ignored. */
  readonly junk: boolean
  readonly rejected: EntryRejected | null
}

export const MAX_ENTRIES = 200_000

const END = 0x06054b50
const END64 = 0x06064b50
const LOCATOR64 = 0x07064b50
const CENTRAL = 0x02014b50
const LOCAL = 0x04034b50
const U16 = 0xffff
const U32 = 0xffffffff

/**
 * Lists the entries of a ZIP by its central directory, which alone decides what is in it. Nothing is inflated. Throws PackageRejected when
 * the directory cannot be read or lists more than 200,000 entries. The fault of a single entry is in its `rejected`.
 */
export const readDirectory = (bytes: Uint8Array): ZipEntry[] => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const { start, end, count } = findDirectory(view)
  if (count > MAX_ENTRIES) throw tooMany()
  const found: CentralEntry[] = []
  let at = start
  while (at < end) {
    const read = readCentral(bytes, view, at, end)
    found.push(read)
    if (found.length > MAX_ENTRIES) throw tooMany()
    at = read.next
  }
  if ((found.length & U16) !== (count & U16)) throw broken('does not list as many entries as it declares')
  return locate(view, found, start)
}

interface CentralEntry extends Omit<ZipEntry, 'offset' | 'rejected'> {
  readonly next: number
  readonly local: number
}

const findDirectory = (view: DataView): { start: number; end: number; count: number } => {
  const last = view.byteLength - 22
  for (let at = last; at >= Math.max(0, last - U16); at--) {
    if (view.getUint32(at, true) !== END || at + 22 + view.getUint16(at + 20, true) > view.byteLength) continue
    const count = view.getUint16(at + 10, true)
    const size = view.getUint32(at + 12, true)
    const start = view.getUint32(at + 16, true)
    const found = count === U16 || size === U32 || start === U32 ? findDirectory64(view, at) : undefined
    return checked(found ?? { start, size, count }, at)
  }
  throw new PackageRejected('zip.no_directory', 'The file is not a ZIP, or its end is missing.')
}

const findDirectory64 = (view: DataView, end: number): { start: number; size: number; count: number } | undefined => {
  const locator = end - 20
  if (locator < 0 || view.getUint32(locator, true) !== LOCATOR64) return undefined
  const at = Number(view.getBigUint64(locator + 8, true))
  if (at + 56 > locator || view.getUint32(at, true) !== END64) throw broken('has no ZIP64 end record where the locator points')
  return {
    count: Number(view.getBigUint64(at + 32, true)),
    size: Number(view.getBigUint64(at + 40, true)),
    start: Number(view.getBigUint64(at + 48, true)),
  }
}

const checked = ({ start, size, count }: { start: number; size: number; count: number }, endRecord: number) => {
  if (start + size > endRecord) throw broken('extends beyond the file')
  return { start, end: start + size, count }
}

const readCentral = (bytes: Uint8Array, view: DataView, at: number, end: number): CentralEntry => {
  if (at + 46 > end || view.getUint32(at, true) !== CENTRAL) throw broken('is truncated or damaged')
  const flags = view.getUint16(at + 8, true)
  const nameLength = view.getUint16(at + 28, true)
  const extraLength = view.getUint16(at + 30, true)
  const next = at + 46 + nameLength + extraLength + view.getUint16(at + 32, true)
  if (next > end) throw broken('is truncated or damaged')
  const name = decodeName(bytes.subarray(at + 46, at + 46 + nameLength))
  const [size, compressed, local] = widened(view, at, at + 46 + nameLength, extraLength)
  return {
    name,
    crc32: view.getUint32(at + 16, true),
    compressed_size: compressed,
    size,
    method: view.getUint16(at + 10, true),
    flags,
    junk: size === 0 || name.endsWith('/') || /(?:^|[\\/])(?:__MACOSX[\\/]|\.DS_Store$)/.test(name),
    next,
    local,
  }
}

/** The sizes and the offset, from the ZIP64 extra field where the 32-bit fields refer to it. */
const widened = (view: DataView, at: number, extra: number, extraLength: number): [size: number, compressed: number, local: number] => {
  const values: [number, number, number] = [view.getUint32(at + 24, true), view.getUint32(at + 20, true), view.getUint32(at + 42, true)]
  if (!values.includes(U32)) return values
  const end = extra + extraLength
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
  return values
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

/** Finds each entry's data through its local header. Rejects entries that lie outside the file or overlap another entry. */
const locate = (view: DataView, found: readonly CentralEntry[], directory: number): ZipEntry[] => {
  const ends = new Map<CentralEntry, number>()
  const entries = found.map(({ next: _, local, ...entry }, i): ZipEntry => {
    const rejected = rejectionOf(entry)
    if (local + 30 > directory || view.getUint32(local, true) !== LOCAL) {
      return {
        ...entry,
        offset: 0,
        rejected: rejected ?? new EntryRejected('zip.outside', 'The entry is not at the place that the directory gives.'),
      }
    }
    const offset = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true)
    if (offset + entry.compressed_size > directory) {
      return { ...entry, offset: 0, rejected: rejected ?? new EntryRejected('zip.outside', 'The entry extends beyond the file.') }
    }
    ends.set(found[i] as CentralEntry, offset + entry.compressed_size)
    return { ...entry, offset: rejected ? 0 : offset, rejected }
  })
  return rejectOverlaps(found, entries, ends)
}

const rejectOverlaps = (found: readonly CentralEntry[], entries: ZipEntry[], ends: Map<CentralEntry, number>): ZipEntry[] => {
  const order = found.map((_, i) => i).filter((i) => ends.has(found[i] as CentralEntry))
  order.sort((a, b) => (found[a] as CentralEntry).local - (found[b] as CentralEntry).local)
  let reached = 0
  for (const i of order) {
    const { local } = found[i] as CentralEntry
    const entry = entries[i] as ZipEntry
    if (local < reached && !entry.junk) {
      const rejected = entry.rejected ?? new EntryRejected('zip.overlapping', 'The entry overlaps another entry.')
      entries[i] = { ...entry, offset: 0, rejected }
    }
    reached = Math.max(reached, ends.get(found[i] as CentralEntry) ?? 0)
  }
  return entries
}

const rejectionOf = (entry: { flags: number; method: number; junk: boolean; name: string }): EntryRejected | null => {
  if (entry.junk) return null
  if (entry.flags & 0x2041) return new EntryRejected('zip.encrypted', 'The entry is encrypted.')
  if (entry.method !== 0 && entry.method !== 8)
    return new EntryRejected('zip.unsupported_method', 'The compression method of the entry is not supported.')
  if (/\.zip$/i.test(entry.name)) return new EntryRejected('zip.nested', 'A ZIP inside a ZIP is not opened.')
  return null
}

const broken = (how: string): PackageRejected => new PackageRejected('zip.broken_directory', `The package's directory ${how}.`)

const tooMany = (): PackageRejected => new PackageRejected('zip.too_many_entries', 'The package has more than 200,000 entries.')
