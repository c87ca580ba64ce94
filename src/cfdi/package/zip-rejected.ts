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

export const broken = (how: string): PackageRejected => new PackageRejected('zip.broken_directory', `The package's directory ${how}.`)
