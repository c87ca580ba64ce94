import { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'
import { deflateSync } from 'node:zlib'

/** Objects without a stream that are deflated together. */
const PACKED = 200

/** A text outside the pages, such as a title. */
export const pdfText = (text: string): string =>
  `<FEFF${Buffer.from(text.toWellFormed(), 'utf16le').swap16().toString('hex').toUpperCase()}>`

/** A text of ASCII characters. */
export const pdfAscii = (text: string): string => `(${text.replace(/[\\()]/g, '\\$&')})`

/** A number with the precision of a printer. */
export const pdfNumber = (n: number): string => String(Math.round(n * 100) / 100)

/**
 * The objects of a PDF 1.7 as they come: those without a stream are packed and deflated, so that thousands of tags take little memory. The
 * same objects in the same order are the same bytes.
 */
export class PdfFile {
  readonly #parts: Uint8Array[] = []
  #length = 0
  /** By number: where an object lies in the file, or which one of a pack it is. */
  readonly #places: ([type: 1, offset: number, zero: 0] | [type: 2, pack: number, index: number] | null)[] = [null]
  #pack: { n: number; body: string }[] = []

  constructor() {
    this.#push(Buffer.from('%PDF-1.7\n%\xe2\xe3\xcf\xd3\n', 'latin1'))
  }

  /** A number for an object that is put later. */
  reserve(): number {
    return this.#places.push(null) - 1
  }

  /** Puts an object without a stream. */
  put(body: string, n = this.reserve()): number {
    this.#pack.push({ n, body })
    if (this.#pack.length === PACKED) this.#putPack()
    return n
  }

  /** Puts a stream, deflated unless it is already. */
  stream(entries: string, bytes: Uint8Array | string, isDeflated = false, n = this.reserve()): number {
    const data = isDeflated ? (bytes as Uint8Array) : deflateSync(bytes)
    this.#places[n] = [1, this.#length, 0]
    this.#push(Buffer.from(`${n} 0 obj\n<<${entries}/Filter/FlateDecode/Length ${data.length}>>\nstream\n`, 'latin1'))
    this.#push(data)
    this.#push(Buffer.from('\nendstream\nendobj\n', 'latin1'))
    return n
  }

  /** The whole file. Nothing is put after it. */
  end(root: number): Uint8Array<ArrayBuffer> {
    this.#putPack()
    const [n, at] = [this.reserve(), this.#length]
    this.#places[n] = [1, at, 0]
    const hash = createHash('sha256')
    for (const part of this.#parts) hash.update(part)
    const id = hash.digest('hex').slice(0, 32)
    const table = Buffer.alloc(this.#places.length * 7)
    this.#places.forEach((place, at) => {
      const [type, offset, index] = place ?? [0, 0, at === 0 ? 65_535 : 0]
      table.writeUInt8(type, at * 7)
      table.writeUInt32BE(offset, at * 7 + 1)
      table.writeUInt16BE(index, at * 7 + 5)
    })
    this.stream(`/Type/XRef/Size ${this.#places.length}/W[1 4 2]/Root ${root} 0 R/ID[<${id}><${id}>]`, table, false, n)
    this.#push(Buffer.from(`startxref\n${at}\n%%EOF\n`, 'latin1'))
    return new Uint8Array(Buffer.concat(this.#parts))
  }

  #push(bytes: Uint8Array): void {
    this.#parts.push(bytes)
    this.#length += bytes.length
  }

  #putPack(): void {
    if (this.#pack.length === 0) return
    const pack = this.reserve()
    const heads: number[] = []
    const bodies: string[] = []
    let at = 0
    this.#pack.forEach(({ n, body }, index) => {
      heads.push(n, at)
      bodies.push(body)
      at += body.length + 1
      this.#places[n] = [2, pack, index]
    })
    const head = `${heads.join(' ')}\n`
    this.stream(
      `/Type/ObjStm/N ${this.#pack.length}/First ${head.length}`,
      Buffer.from(`${head}${bodies.join('\n')}\n`, 'latin1'),
      false,
      pack,
    )
    this.#pack = []
  }
}
