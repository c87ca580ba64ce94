import { base64ToBytes, bytesToBase64, type Keyring } from '../../platform/crypto/keyring.ts'

const PREFIX = 'whsec_'
/** Longer than HMAC's block of 64 bytes, as text and as bytes, so that HMAC uses the SHA-256 of the key in its place (decisions.md 9). */
const SECRET_BYTES = 66

/** SHA-256 of the secret's text (a) and of the bytes that it encodes (b). They can sign like the secret and need the same protection. */
export interface Digests {
  a: Uint8Array
  b: Uint8Array
}

/** The owner of a secret. Wrapped digests are bound to it and cannot be opened for another owner. */
export interface Owner {
  environment: string
  organization_id: string
  webhook_id: string
  secret_version: number
}

/** The two digests as stored. Each is `version:base64` of the key's version, and of AES-256-GCM's nonce and ciphertext. */
export interface Wrapped {
  a: string
  b: string
}

const contextOf = ({ environment, organization_id, webhook_id, secret_version }: Owner, which: 'a' | 'b'): string =>
  JSON.stringify(['webhook-secret', environment, organization_id, webhook_id, secret_version, which])

const sha256 = async (bytes: Uint8Array): Promise<Uint8Array> => new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))

/** Creates a secret. The caller shows `signing_secret` once and stores only the digests, wrapped, and the hint. */
export async function newSecret(): Promise<{ signing_secret: string; secret_hint: string; digests: Digests }> {
  const bytes = crypto.getRandomValues(new Uint8Array(SECRET_BYTES))
  const signing_secret = PREFIX + bytesToBase64(bytes)
  const digests = { a: await sha256(new TextEncoder().encode(signing_secret)), b: await sha256(bytes) }
  return { signing_secret, secret_hint: signing_secret.slice(-4), digests }
}

/** Encrypts digests under the current key for this owner. */
export async function wrapDigests({ current }: Keyring, owner: Owner, { a, b }: Digests): Promise<Wrapped> {
  const wrap = async (which: 'a' | 'b', digest: Uint8Array) =>
    `${current.version}:${bytesToBase64(await current.seal(bytesToBase64(digest), contextOf(owner, which)))}`
  return { a: await wrap('a', a), b: await wrap('b', b) }
}

/** Opens wrapped digests. Throws when one cannot be opened, so that nothing is ever sent with a wrong signature. */
export async function unwrapDigests(keys: Keyring, owner: Owner, wrapped: Wrapped): Promise<Digests> {
  const unwrap = async (which: 'a' | 'b') => {
    const [version = '', sealed = ''] = wrapped[which].split(':')
    const opened = await keys.of(version)?.open(base64ToBytes(sealed), contextOf(owner, which))
    if (!opened) throw new Error(`The signing digests of ${owner.webhook_id} cannot be opened with any key of WEBHOOK_KEYS.`)
    return base64ToBytes(opened)
  }
  return { a: await unwrap('a'), b: await unwrap('b') }
}

/** Whether both digests are wrapped with the current key. */
export const isWrappedWithCurrent = ({ current }: Keyring, { a, b }: Wrapped): boolean =>
  [a, b].every((digest) => digest.startsWith(`${current.version}:`))
