const TOLERANCE_MS = 5 * 60_000
const utf8 = new TextEncoder()

interface SignatureHeader {
  /** Kept as text, because the text is signed. */
  timestamp: string
  signatures: string[]
}

function parseHeader(header: string): SignatureHeader | null {
  const parts = header.split(',').map((part) => part.trim().split('=', 2) as [string, string?])
  const timestamp = parts.find(([name]) => name === 't')?.[1] ?? ''
  const signatures = parts.flatMap(([name, value = '']) => (name === 'v1' && /^[0-9a-f]{64}$/.test(value) ? [value] : []))
  return /^\d{1,12}$/.test(timestamp) && signatures.length > 0 ? { timestamp, signatures } : null
}

/**
 * Whether a body was signed with this secret within 5 minutes of now. The header is `Stripe-Signature: t={seconds},v1={hex}`, where v1 is
 * the HMAC-SHA256 of `{t}.{body}`. While a secret is rolled, the header has a v1 for each secret, and one valid v1 is enough.
 */
export async function isSigned(body: Uint8Array, header: string | undefined, secret: string, now: Date): Promise<boolean> {
  const parsed = header === undefined || header.length > 2_000 ? null : parseHeader(header)
  if (!parsed || Math.abs(now.getTime() - Number(parsed.timestamp) * 1_000) > TOLERANCE_MS) return false
  const key = await crypto.subtle.importKey('raw', utf8.encode(secret), { name: 'HMAC', hash: 'SHA-256' }, false, ['verify'])
  const prefix = utf8.encode(`${parsed.timestamp}.`)
  const signed = new Uint8Array(prefix.length + body.length)
  signed.set(prefix)
  signed.set(body, prefix.length)
  for (const hex of parsed.signatures) if (await crypto.subtle.verify('HMAC', key, Uint8Array.fromHex(hex), signed)) return true
  return false
}
