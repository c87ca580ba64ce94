const encoder = new TextEncoder()

/**
 * Whether a delivery is of the service. `body` has the bytes as they arrived, `header` is `Service-Signature`, and `secrets` the
 * endpoint's `signing_secret`, and also the one before while it is being rotated.
 */
export async function isSigned(
  body: string | Uint8Array | ArrayBuffer,
  header: string | null | undefined,
  ...secrets: readonly string[]
): Promise<boolean> {
  const given = /^v1,([0-9a-f]{64})$/.exec(header ?? '')?.[1]
  if (given === undefined) return false
  const signature = Uint8Array.from(given.match(/../g)!, (byte) => Number.parseInt(byte, 16))
  const bytes = typeof body === 'string' ? encoder.encode(body) : new Uint8Array(body)
  for (const secret of secrets) {
    const key = await crypto.subtle.importKey('raw', encoder.encode(secret), { name: 'HMAC', hash: 'SHA-256' }, false, ['verify'])
    // It compares in constant time.
    if (await crypto.subtle.verify('HMAC', key, signature, bytes)) return true
  }
  return false
}
