const utf8 = new TextEncoder()
const base64url = (bytes: Uint8Array): string => bytes.toBase64({ alphabet: 'base64url', omitPadding: true })

/** Signs claims with an RSA key: a JSON Web Token with RS256 (RFC 7515). `pem` is a private key in PKCS #8. Throws unless it is one. */
export async function signedJwt(claims: object, pem: string): Promise<string> {
  const signed = [{ alg: 'RS256', typ: 'JWT' }, claims].map((part) => base64url(utf8.encode(JSON.stringify(part)))).join('.')
  const [, body] = /^-----BEGIN PRIVATE KEY-----([A-Za-z0-9+/=\s]+)-----END PRIVATE KEY-----$/.exec(pem.trim()) ?? []
  if (body === undefined) throw new Error('The private key is not in PEM.')
  const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }
  const key = await crypto.subtle.importKey('pkcs8', Uint8Array.fromBase64(body), algorithm, false, ['sign'])
  const signature = await crypto.subtle.sign(algorithm.name, key, utf8.encode(signed))
  return `${signed}.${base64url(new Uint8Array(signature))}`
}
