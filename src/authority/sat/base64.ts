import { Unanswered } from './unanswered.ts'

/** In bytes that are given on at once: a multiple of three. */
const PIECE = 49_152

/** What a byte stands for: six bits, or one of these, which are below zero. */
const [OTHER, SPACE, PADDING] = [-1, -2, -3]
const MEANINGS = new Int8Array(256).fill(OTHER!)
for (const [n, letter] of [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'].entries())
  MEANINGS[letter.charCodeAt(0)] = n
for (const space of ' \t\n\v\f\r') MEANINGS[space.charCodeAt(0)] = SPACE!
MEANINGS['='.charCodeAt(0)] = PADDING!

/** What begins and ends a character reference of XML, and the longest one, in characters between these. */
const [AMPERSAND, SEMICOLON] = [0x26, 0x3b] as const
const MAX_REFERENCE = 8

/**
 * Decodes base64 that comes in parts, as bytes of ASCII with white space anywhere. Some writers of XML write the ends of lines, or `=`, `+` and
 * `/`, as character references: these are read too. It makes neither texts nor new buffers of them: of a package
 * of hundreds of megabytes the garbage would fill the memory before it is collected.
 */
export class Base64Decoder {
  readonly #piece = new Uint8Array(PIECE)
  #used = 0
  /** The characters of a group of four that is not whole yet: their bits, how many there are, and how many are padding. */
  #bits = 0
  #count = 0
  #padding = 0
  /** What has come of a character reference; null outside of one. */
  #reference: string | null = null

  /** Throws Unanswered when characters are missing. */
  end(): void {
    if (this.#count !== 0 || this.#reference !== null) throw notBase64()
  }

  /** Yields the bytes of the next part; what is yielded is good until the next is. Throws Unanswered when it is not base64. */
  *decode(part: Uint8Array): Generator<Uint8Array> {
    for (let at = 0; at < part.length; ) {
      at = this.#count === 0 && this.#padding === 0 && this.#reference === null ? this.#decodeGroups(part, at) : at
      if (this.#used === PIECE) yield this.#taken()
      else if (at < part.length) this.#read(part[at++]!)
    }
    if (this.#used > 0) yield this.#taken()
  }

  #taken(): Uint8Array {
    const taken = this.#piece.subarray(0, this.#used)
    this.#used = 0
    return taken
  }

  /** Decodes groups of four as far as nothing else is between their characters, and returns where they end. */
  #decodeGroups(part: Uint8Array, from: number): number {
    const piece = this.#piece
    let [at, used] = [from, this.#used]
    for (; at + 4 <= part.length && used < PIECE; at += 4) {
      const a = MEANINGS[part[at]!]!
      const b = MEANINGS[part[at + 1]!]!
      const c = MEANINGS[part[at + 2]!]!
      const d = MEANINGS[part[at + 3]!]!
      if ((a | b | c | d) < 0) break
      piece[used++] = (a << 2) | (b >> 4)
      piece[used++] = (b << 4) | (c >> 2)
      piece[used++] = (c << 6) | d
    }
    this.#used = used
    return at
  }

  #read(byte: number): void {
    if (this.#reference === null) {
      if (byte === AMPERSAND) this.#reference = ''
      else this.#add(MEANINGS[byte]!)
    } else if (byte === SEMICOLON) {
      const [, hexadecimal, decimal] = /^#(?:x([\da-f]+)|(\d+))$/i.exec(this.#reference) ?? []
      this.#reference = null
      this.#add(MEANINGS[hexadecimal === undefined ? Number(decimal) : Number.parseInt(hexadecimal, 16)] ?? OTHER!)
    } else {
      this.#reference += String.fromCharCode(byte)
      if (this.#reference.length > MAX_REFERENCE) throw notBase64()
    }
  }

  #add(meaning: number): void {
    if (meaning === SPACE) return
    const isPadding = meaning === PADDING
    // Padding ends everything, and takes the place of the last one or two characters of a group.
    if (meaning === OTHER || (isPadding ? this.#count < 2 : this.#padding > 0)) throw notBase64()
    if (isPadding) this.#padding++
    this.#bits = (this.#bits << 6) | (isPadding ? 0 : meaning)
    if (++this.#count < 4) return
    for (let n = 0; n < 3 - this.#padding; n++) this.#piece[this.#used++] = this.#bits >> (16 - 8 * n)
    this.#bits = 0
    this.#count = 0
  }
}

const notBase64 = (): Unanswered => new Unanswered('malformed', 'The package of the tax authority is not base64.')
