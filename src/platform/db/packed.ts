import { Buffer } from 'node:buffer'
import { deflateRawSync, inflateRawSync } from 'node:zlib'

/**
 * Deflates bytes for a BLOB column, as hexadecimal text: D1 returns a BLOB as a list of numbers, and JSON has none. Write it with `unhex`,
 * and read it with `hex`.
 */
export const packed = (content: string | Uint8Array): string => deflateRawSync(content, { level: 6 }).toString('hex')

/** The bytes that `packed` was given. */
export const unpacked = (hex: string): Buffer => inflateRawSync(Buffer.from(hex, 'hex'))
