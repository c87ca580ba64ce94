const LF = 10
const CR = 13

/** Bytes as they arrive. Methods return null at the end; `most` is a number of bytes. */
export class IncomingBytes {
  #read: () => Promise<Uint8Array | null>
  #rest: Uint8Array = new Uint8Array()

  constructor(read: () => Promise<Uint8Array | null>) {
    this.#read = read
  }

  /** The next bytes, at least one. */
  async some(most: number): Promise<Uint8Array | null> {
    if (!(await this.#has())) return null
    const taken = this.#rest.subarray(0, most)
    this.#rest = this.#rest.subarray(taken.length)
    return taken
  }

  /** The next line without its line end, each byte as a character. Null when the bytes end within it. */
  async line(most: number): Promise<string | null> {
    let text = ''
    while (await this.#has()) {
      const end = this.#rest.indexOf(LF)
      const taken = this.#rest.subarray(0, end < 0 ? this.#rest.length : end + 1)
      this.#rest = this.#rest.subarray(taken.length)
      if (text.length + taken.length > most) throw new Error('a line is too long')
      text += latin1(taken)
      if (end >= 0) return text.slice(0, text.charCodeAt(text.length - 2) === CR ? -2 : -1)
    }
    return null
  }

  async #has(): Promise<boolean> {
    while (this.#rest.length === 0) {
      const next = await this.#read()
      if (next === null) return false
      this.#rest = next
    }
    return true
  }
}

function latin1(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += String.fromCharCode(byte)
  return text
}

export interface Head {
  status: number
  headers: Headers
}

/** In bytes, interim answers included. */
const LARGEST_HEAD = 65_536

/**
 * Reads the head of an HTTP/1.1 answer (RFC 9112). Interim answers (1xx) are skipped, unless the receiver switches protocols or closes
 * the connection after one. Throws an Error that says what is wrong.
 */
export async function readHead(incoming: IncomingBytes): Promise<Head> {
  let left = LARGEST_HEAD
  const line = async (): Promise<string | null> => {
    const text = await incoming.line(left)
    left -= text === null ? 0 : text.length + 1
    return text
  }
  for (let interim: Head | null = null; ; ) {
    const first = await line()
    if (first === null && interim) return interim
    if (first === null) throw new Error('the connection was closed without an answer')
    const [, status] = /^HTTP\/1\.[01] ([1-9]\d\d)(?: .*)?$/.exec(first) ?? []
    if (status === undefined) throw new Error('its first line is not HTTP/1.1')
    const head: Head = { status: Number(status), headers: new Headers() }
    for (;;) {
      const text = await line()
      if (text === null) throw new Error('the connection was closed within its head')
      if (text === '') break
      const [, name, value] = /^([!#$%&'*+.^_`|~\w-]+):[ \t]*(.*?)[ \t]*$/.exec(text) ?? []
      if (name === undefined) throw new Error('a line of its head is not a header')
      head.headers.append(name, value!)
    }
    if (head.status >= 200 || head.status === 101) return head
    interim = head
  }
}

/** The body that follows a head, in pieces of at most `most` bytes. Throws at once when the head has no valid length. */
export function bodyOf({ status, headers }: Head, incoming: IncomingBytes, most: number): AsyncGenerator<Uint8Array> {
  const coding = headers.get('transfer-encoding')
  const length = headers.get('content-length')
  if (isBodiless(status)) return exactly(incoming, 0, most)
  if (coding !== null) return /(^|,)\s*chunked$/i.test(coding) ? chunks(incoming, most) : toTheEnd(incoming, most)
  return length === null ? toTheEnd(incoming, most) : exactly(incoming, lengthOf(length), most)
}

export const isBodiless = (status: number): boolean => status < 200 || status === 204 || status === 304

/** The header may repeat the same length several times. */
function lengthOf(header: string): number {
  const [length, ...others] = new Set(header.split(',').map((one) => one.trim()))
  if (!/^\d{1,15}$/.test(length!) || others.length > 0) throw new Error('its Content-Length is not a number')
  return Number(length)
}

async function* toTheEnd(incoming: IncomingBytes, most: number): AsyncGenerator<Uint8Array> {
  for (let piece = await incoming.some(most); piece; piece = await incoming.some(most)) yield piece
}

async function* exactly(incoming: IncomingBytes, length: number, most: number): AsyncGenerator<Uint8Array> {
  for (let left = length; left > 0; ) {
    const piece = await incoming.some(Math.min(left, most))
    if (piece === null) throw new Error(`the connection was closed ${left} bytes before the end of its body`)
    left -= piece.length
    yield piece
  }
}

async function* chunks(incoming: IncomingBytes, most: number): AsyncGenerator<Uint8Array> {
  for (;;) {
    const [, size] = /^([0-9a-f]{1,12})[ \t]*(?:;.*)?$/i.exec((await incoming.line(LARGEST_HEAD)) ?? '') ?? []
    if (size === undefined) throw new Error('a chunk of its body has no size')
    const length = Number.parseInt(size, 16)
    if (length === 0) break
    yield* exactly(incoming, length, most)
    if ((await incoming.line(2)) !== '') throw new Error('a chunk of its body is longer than it says')
  }
  // Trailers are not read.
}
