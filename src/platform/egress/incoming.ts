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
