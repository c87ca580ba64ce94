import { Unanswered } from './unanswered.ts'

/** In characters that are decoded at once. */
const PIECE = 65_536

/** Decodes base64 that comes in parts, with white space anywhere. */
export class Base64Decoder {
  /** Less than four characters that were not decoded yet. */
  #left = ''
  #isPadded = false

  /** Throws Unanswered when characters are missing. */
  end(): void {
    if (this.#left !== '') throw notBase64()
  }

  /** Yields the bytes of the next part. Throws Unanswered when it is not base64. */
  *decode(text: string): Generator<Uint8Array> {
    for (let at = 0; at < text.length; at += PIECE) {
      const piece = this.#left + text.slice(at, at + PIECE).replace(/\s+/g, '')
      const whole = piece.length - (piece.length % 4)
      this.#left = piece.slice(whole)
      if (this.#isPadded && piece !== '') throw notBase64()
      if (whole === 0) continue
      this.#isPadded = piece[whole - 1] === '='
      yield decoded(piece.slice(0, whole))
    }
  }
}

function decoded(text: string): Uint8Array {
  try {
    return Uint8Array.fromBase64(text)
  } catch {
    throw notBase64()
  }
}

const notBase64 = (): Unanswered => new Unanswered('malformed', 'The package of the tax authority is not base64.')
