const TOLERANCE_MS = 5 * 60_000
const utf8 = new TextEncoder()

interface Header {
  /** As it stands there: it is signed as text. */
  timestamp: string
  signatures: string[]
}

function read(header: string): Header | null {
  const parts = header.split(',').map((part) => part.trim().split('=', 2) as [string, string?])
  const timestamp = parts.find(([name]) => name === 't')?.[1] ?? ''
  const signatures = parts.flatMap(([name, value = '']) => (name === 'v1' && /^[0-9a-f]{64}$/.test(value) ? [value] : []))
  return /^\d{1,12}$/.test(timestamp) && signatures.length > 0 ? { timestamp, signatures } : null
}

/**
 * Whether a body was signed with this secret within five minutes of now: `Stripe-Signature: t={seconds},v1={hex}`, where v1 is
 * HMAC-SHA256 over `{t}.{body}`. While a secret is rolled there is one v1 for each; one that is right is enough.
 */
export async function isSigned(body: Uint8Array, header: string | undefined, secret: string, now: Date): Promise<boolean> {
  const said = header === undefined || header.length > 2_000 ? null : read(header)
  if (!said || Math.abs(now.getTime() - Number(said.timestamp) * 1_000) > TOLERANCE_MS) return false
  const key = await crypto.subtle.importKey('raw', utf8.encode(secret), { name: 'HMAC', hash: 'SHA-256' }, false, ['verify'])
  const prefix = utf8.encode(`${said.timestamp}.`)
  const signed = new Uint8Array(prefix.length + body.length)
  signed.set(prefix)
  signed.set(body, prefix.length)
  for (const hex of said.signatures) if (await crypto.subtle.verify('HMAC', key, Uint8Array.fromHex(hex), signed)) return true
  return false
}
