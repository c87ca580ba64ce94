/** Why a package, or an entry of one, cannot be read. */
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
  | 'metadata.too_many_lines'

/** The package cannot be used: it has no readable directory, or a file that the others depend on cannot be read. */
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

export const broken = (how: string): PackageRejected => new PackageRejected('zip.broken_directory', `The package's directory ${how}.`)

const CENTRAL = 0x02014b50
const U32 = 0xffffffff

/** An entry as the directory of a ZIP lists it: it has not been located. */
export interface CentralEntry {
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
  /** A folder, or a file that macOS adds. It is ignored. */
  readonly junk: boolean
  readonly flags: number
  /** Where its local header is. */
  readonly local: number
}

export const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** Where a record ends that begins at a place; nowhere when its lengths are not there. */
const endOfRecord = (view: DataView, at: number): number =>
  at + 46 > view.byteLength
    ? Number.POSITIVE_INFINITY
    : at + 46 + view.getUint16(at + 28, true) + view.getUint16(at + 30, true) + view.getUint16(at + 32, true)

export const hasRecord = (view: DataView, at: number): boolean => endOfRecord(view, at) <= view.byteLength

export const nextAfter = (view: DataView, at: number): number => {
  if (!hasRecord(view, at) || view.getUint32(at, true) !== CENTRAL) throw broken('is truncated or damaged')
  return endOfRecord(view, at)
}

export const readCentral = (bytes: Uint8Array, view: DataView, at: number): Omit<CentralEntry, 'n'> => {
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
export const placesOf = (view: DataView, at: number): { size: number; compressed: number; local: number } => {
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
