/** In characters of base64. The files of the authority have a quarter of this. */
const MAX_CHARACTERS = 12_000
const BEGIN = /-----BEGIN ([A-Z0-9 ]{1,40})-----/g

/**
 * Reads the bytes of a file that a request has as text: PEM, or the base64 of a file in DER or PEM. Of PEM they are those of the first part
 * whose label ends with `label`; other parts and text around them do not count. Null when it is neither.
 */
export function readFile(text: string, label: 'CERTIFICATE' | 'PRIVATE KEY'): Uint8Array | null {
  if (text.length > MAX_CHARACTERS) return null
  if (text.includes('-----')) return readPem(text, label)
  const bytes = fromBase64(text)
  if (bytes === null) return null
  const inside = String.fromCharCode(...bytes)
  return inside.includes('-----BEGIN ') ? readPem(inside, label) : bytes
}

function readPem(text: string, wanted: string): Uint8Array | null {
  for (const { 0: line, 1: label, index } of text.matchAll(BEGIN)) {
    if (!label!.endsWith(wanted)) continue
    const end = text.indexOf(`-----END ${label}-----`, index)
    return end < 0 ? null : fromBase64(text.slice(index + line.length, end))
  }
  return null
}

const fromBase64 = (text: string): Uint8Array | null => {
  try {
    return Uint8Array.fromBase64(text)
  } catch {
    return null
  }
}
