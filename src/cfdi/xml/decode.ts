import type { Repair } from './document.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const DECLARED = /^\s*<\?xml[^>]*?\sencoding\s*=\s*["']([A-Za-z][\w.:-]{0,39})["']/

/**
 * Decodes a document's bytes by their byte order mark, else by the encoding of the XML declaration, else as UTF-8; bytes that are not in
 * that encoding are read as windows-1252. No byte order mark is left. Repairs: `bom` when there was more than one, `encoding_fallback`
 * when the bytes were not in the encoding that they claim. Never throws. Source: sat.md 3.3.
 */
export const decode = (bytes: Uint8Array): { text: string; repairs: Repair[] } => {
  const repairs: Repair[] = []
  let text = withEncoding(bytes, encodingOf(bytes))
  if (text === undefined) {
    text = new TextDecoder('windows-1252').decode(bytes)
    repairs.push('encoding_fallback')
    text = text.replace(/^(?:ï»¿)+/, '')
  }
  let marks = 0
  while (text.charCodeAt(marks) === 0xfeff) marks++
  if (marks > 1) repairs.unshift('bom')
  return { text: marks > 0 ? text.slice(marks) : text, repairs }
}

const encodingOf = (bytes: Uint8Array): string => {
  const a = bytes[0]
  const b = bytes[1]
  const c = bytes[2]
  const d = bytes[3]
  if (a === 0xff && b === 0xfe) return 'utf-16le'
  if (a === 0xfe && b === 0xff) return 'utf-16be'
  if (a === 0x3c && b === 0 && c !== 0 && d === 0) return 'utf-16le'
  if (a === 0 && b === 0x3c && c === 0 && d !== 0) return 'utf-16be'
  if (a === 0xef && b === 0xbb && c === 0xbf) return 'utf-8'
  const declared = DECLARED.exec(ascii(bytes.subarray(0, 256)))?.[1]?.toLowerCase() ?? 'utf-8'
  // The declaration could be read as ASCII, so the document cannot be in UTF-16 or UCS-2 even if it says so.
  return /^(?:utf-?16|utf-?32|ucs)/.test(declared) ? 'utf-8' : declared
}

const withEncoding = (bytes: Uint8Array, encoding: string): string | undefined => {
  try {
    return (encoding === 'utf-8' ? utf8 : new TextDecoder(encoding, { fatal: true, ignoreBOM: true })).decode(bytes)
  } catch {
    if (encoding === 'utf-8') return undefined
    return encoding.startsWith('utf-16') ? new TextDecoder(encoding).decode(bytes) : withEncoding(bytes, 'utf-8')
  }
}

const ascii = (bytes: Uint8Array): string => String.fromCharCode.apply(null, bytes as unknown as number[])
