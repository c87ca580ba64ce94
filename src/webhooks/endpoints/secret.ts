import { base64ToBytes, bytesToBase64, type Keyring } from '../../platform/db/keyring.ts'

const PREFIX = 'whsec_'
/** Longer than HMAC's block of 64 bytes, as text and as bytes: its sha256 then signs exactly as it does itself (decisions.md 9). */
const SECRET_BYTES = 66

/** Sha256 of the secret's text, and of the bytes that it encodes: as good as passwords. */
export interface Digests {
  a: Uint8Array
  b: Uint8Array
}

/** Whose secret it is: wrapped for one, it does not open for another. */
export interface Owner {
  environment: string
  organization_id: string
  webhook_id: string
  secret_version: number
}

/** The two digests as they are stored, each the key's version, and nonce and ciphertext of AES-256-GCM. */
export interface Wrapped {
  a: string
  b: string
}

const contextOf = ({ environment, organization_id, webhook_id, secret_version }: Owner, which: 'a' | 'b'): string =>
  JSON.stringify(['webhook-secret', environment, organization_id, webhook_id, secret_version, which])

const sha256 = async (bytes: Uint8Array): Promise<Uint8Array> => new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))

/** A new secret, to be shown once and dropped, with what is kept of it. */
export async function newSecret(): Promise<{ signing_secret: string; secret_hint: string; digests: Digests }> {
  const bytes = crypto.getRandomValues(new Uint8Array(SECRET_BYTES))
  const signing_secret = PREFIX + bytesToBase64(bytes)
  const digests = { a: await sha256(new TextEncoder().encode(signing_secret)), b: await sha256(bytes) }
  return { signing_secret, secret_hint: signing_secret.slice(-4), digests }
}

export async function wrapDigests({ current }: Keyring, owner: Owner, { a, b }: Digests): Promise<Wrapped> {
  const wrap = async (which: 'a' | 'b', digest: Uint8Array) =>
    `${current.version}:${bytesToBase64(await current.seal(bytesToBase64(digest), contextOf(owner, which)))}`
  return { a: await wrap('a', a), b: await wrap('b', b) }
}

/** Throws when a digest cannot be opened: what is signed with nothing must not leave. */
export async function unwrapDigests(keys: Keyring, owner: Owner, wrapped: Wrapped): Promise<Digests> {
  const unwrap = async (which: 'a' | 'b') => {
    const [version = '', sealed = ''] = wrapped[which].split(':')
    const opened = await keys.of(version)?.open(base64ToBytes(sealed), contextOf(owner, which))
    if (!opened) throw new Error(`The signing digests of ${owner.webhook_id} cannot be opened with the keys that are there.`)
    return base64ToBytes(opened)
  }
  return { a: await unwrap('a'), b: await unwrap('b') }
}

/** Whether both are wrapped with the key that new ones are wrapped with. */
export const isWrappedAnew = ({ current }: Keyring, { a, b }: Wrapped): boolean =>
  [a, b].every((one) => one.startsWith(`${current.version}:`))
