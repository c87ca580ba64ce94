/** A part of some bytes. */
export interface ByteRange {
  offset: number
  length: number
}

export const UNSATISFIABLE = 'unsatisfiable'

/**
 * Reads a header Range for content of `size` bytes (RFC 9110, 14). Null when all of it is to be sent: without a header, with one of another
 * unit, or with several ranges, which a server may ignore.
 */
export function rangeOf(header: string | undefined, size: number): ByteRange | typeof UNSATISFIABLE | null {
  const [, first, last] = /^bytes=\s*(\d{0,15})\s*-\s*(\d{0,15})\s*$/i.exec(header ?? '') ?? []
  if (first === undefined || last === undefined || (first === '' && last === '')) return null
  if (first === '') {
    const length = Math.min(Number(last), size)
    return length === 0 ? UNSATISFIABLE : { offset: size - length, length }
  }
  const offset = Number(first)
  if (last !== '' && Number(last) < offset) return null
  if (offset >= size) return UNSATISFIABLE
  return { offset, length: (last === '' ? size : Math.min(Number(last) + 1, size)) - offset }
}
