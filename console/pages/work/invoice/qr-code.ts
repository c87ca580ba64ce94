import { encode } from 'uqr'

/** A code of version 13 holds so much at level M. No address of a CFDI is longer. */
const MOST_BYTES = 331

/** The rows of a QR code at level M, true where it is dark. Null for a text that is too long. */
export function qrCode(text: string): boolean[][] | null {
  const bytes = new TextEncoder().encode(text)
  return bytes.length > MOST_BYTES ? null : encode([...bytes], { ecc: 'M', border: 0 }).data
}
