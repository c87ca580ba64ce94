/** The bytes are not in DER, or are another value than the one that is expected. */
export class NotDer extends Error {}

/** Tags of ASN.1 (X.680, 8.6), as DER writes them. */
export const TAG = {
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  utf8String: 0x0c,
  numericString: 0x12,
  printableString: 0x13,
  t61String: 0x14,
  ia5String: 0x16,
  utcTime: 0x17,
  generalizedTime: 0x18,
  visibleString: 0x1a,
  bmpString: 0x1e,
  sequence: 0x30,
  set: 0x31,
} as const

/** The longest length that is read takes this many bytes. */
const LENGTH_BYTES = 3

/**
 * Reads values of DER one after the other (X.690): definite lengths in their shortest form, tags below 31. It reads only what it is asked
 * for, so the shape of what it reads limits the depth. Each method throws NotDer, and nothing else.
 */
export class DerReader {
  readonly #bytes: Uint8Array
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  /** The tag of the next value; null at the end. */
  get tag(): number | null {
    return this.#bytes[this.#at] ?? null
  }

  /** Takes the next value, which must have this tag, and returns its content. */
  take(tag: number): Uint8Array {
    if (this.tag !== tag) throw new NotDer('A value has another tag than the expected one.')
    this.#at++
    const length = this.#takeLength()
    const end = this.#at + length
    if (end > this.#bytes.length) throw new NotDer('A value is longer than what contains it.')
    const content = this.#bytes.subarray(this.#at, end)
    this.#at = end
    return content
  }

  /** Takes the next value and returns all of it: tag, length and content. */
  takeWhole(tag: number): Uint8Array {
    const from = this.#at
    this.take(tag)
    return this.#bytes.subarray(from, this.#at)
  }

  /** Takes the next value and returns a reader of the values in it. */
  enter(tag: number): DerReader {
    return new DerReader(this.take(tag))
  }

  end(): void {
    if (this.tag !== null) throw new NotDer('A value is followed by more than the expected ones.')
  }

  #takeLength(): number {
    const first = this.#bytes[this.#at++]
    if (first === undefined) throw new NotDer('A value has no length.')
    if (first < 0x80) return first
    const count = first & 0x7f
    if (count > LENGTH_BYTES) throw new NotDer('A length is too large.')
    let length = 0
    for (let n = 0; n < count; n++) length = length * 256 + (this.#bytes[this.#at++] ?? Number.NaN)
    // A missing byte makes it NaN, and an indefinite length is 0 here: both fail too.
    if (!(length >= 0x80 && length >= 256 ** (count - 1))) throw new NotDer('A length is not in its shortest form.')
    return length
  }
}

/** The number of an INTEGER that is not negative. Throws NotDer. */
export function integerOf(content: Uint8Array): bigint {
  const [first, second] = content
  if (first === undefined || first >= 0x80) throw new NotDer('An integer is empty or negative.')
  if (first === 0 && second !== undefined && second < 0x80) throw new NotDer('An integer is not in its shortest form.')
  return content.reduce((number, byte) => number * 256n + BigInt(byte), 0n)
}

/** An OBJECT IDENTIFIER in its dotted form. Throws NotDer. */
export function oidOf(content: Uint8Array): string {
  const arcs: number[] = []
  let arc = 0
  let isInside = false
  for (const byte of content) {
    if (!isInside && byte === 0x80) throw new NotDer('An object identifier is not in its shortest form.')
    arc = arc * 128 + (byte & 0x7f)
    if (arc > Number.MAX_SAFE_INTEGER / 256) throw new NotDer('An object identifier is too large.')
    isInside = byte >= 0x80
    if (isInside) continue
    arcs.push(...(arcs.length > 0 ? [arc] : arc < 80 ? [Math.floor(arc / 40), arc % 40] : [2, arc - 80]))
    arc = 0
  }
  if (isInside || arcs.length === 0) throw new NotDer('An object identifier ends too early.')
  return arcs.join('.')
}

/** The bytes of a BIT STRING that has whole bytes. Throws NotDer. */
export function bytesOfBits(content: Uint8Array): Uint8Array {
  if (content[0] !== 0) throw new NotDer('A bit string does not have whole bytes.')
  return content.subarray(1)
}

const UTC_TIME = /^(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/
const GENERALIZED_TIME = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/

/** Takes a UTCTime or a GeneralizedTime, as certificates have them (RFC 5280, 4.1.2.5). Throws NotDer. */
export function takeTime(reader: DerReader): Date {
  const isShort = reader.tag === TAG.utcTime
  const text = String.fromCharCode(...reader.take(isShort ? TAG.utcTime : TAG.generalizedTime).subarray(0, 16))
  const [, year, ...rest] = (isShort ? UTC_TIME : GENERALIZED_TIME).exec(text) ?? []
  if (year === undefined) throw new NotDer('A time is not in UTC with seconds.')
  const [month, day, hour, minute, second] = rest.map(Number) as [number, number, number, number, number]
  const full = isShort ? Number(year) + (Number(year) < 50 ? 2000 : 1900) : Number(year)
  const time = new Date(Date.UTC(full, month - 1, day, hour, minute, second))
  const isReal = time.getUTCMonth() === month - 1 && time.getUTCDate() === day && minute < 60 && second < 60
  if (!isReal) throw new NotDer('A time does not exist.')
  return time
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const latin = new TextDecoder('windows-1252')
const utf16 = new TextDecoder('utf-16be')

/**
 * The text of a string type. The authority's certificates have names in UTF-8 and in ISO 8859-1 under types that allow neither, so that each
 * is read as UTF-8 when it is that. Throws NotDer for other types.
 */
export function textOf(tag: number, content: Uint8Array): string {
  switch (tag) {
    case TAG.bmpString:
      return utf16.decode(content)
    case TAG.bitString:
      return textOf(TAG.printableString, bytesOfBits(content))
    case TAG.utf8String:
    case TAG.numericString:
    case TAG.printableString:
    case TAG.t61String:
    case TAG.ia5String:
    case TAG.visibleString:
      try {
        return utf8.decode(content)
      } catch {
        return latin.decode(content)
      }
    default:
      throw new NotDer('A name has a value that is not text.')
  }
}
