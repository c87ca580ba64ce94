import { joined } from '../bytes/bytes.ts'

/**
 * The keys of one purpose, newest first, each of 32 bytes with a version: `2:base64,1:base64`. The first key makes everything new; the
 * others still read what was made with them.
 */
export interface Keyring {
  current: Key
  all: readonly Key[]
  of(version: string): Key | undefined
}

export interface Key {
  version: string
  /** HMAC-SHA256 under this key. */
  hmac(data: Uint8Array | string): Promise<Uint8Array>
  /** AES-256-GCM under this key: a fresh nonce, followed by the ciphertext. */
  seal(plain: Uint8Array | string, context: string): Promise<Uint8Array>
  /** Reverses the seal of a text. Returns null when the bytes, the key or the context differ from those of the seal. */
  open(sealed: Uint8Array, context: string): Promise<string | null>
  /** The same for bytes. */
  openBytes(sealed: Uint8Array, context: string): Promise<Uint8Array | null>
}

const utf8 = new TextEncoder()
const NONCE = 12
const bytesOf = (data: Uint8Array | string): Uint8Array => (typeof data === 'string' ? utf8.encode(data) : data)

/** Makes a key of 32 bytes. */
export function keyOf(version: string, raw: Uint8Array): Key {
  const hmacKey = crypto.subtle.importKey('raw', raw, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
  const aesKey = crypto.subtle.importKey('raw', raw, 'AES-GCM', false, ['encrypt', 'decrypt'])
  const parameters = (nonce: Uint8Array, context: string) => ({ name: 'AES-GCM', iv: nonce, additionalData: utf8.encode(context) })
  const openBytes = async (sealed: Uint8Array, context: string): Promise<Uint8Array | null> => {
    try {
      return new Uint8Array(
        await crypto.subtle.decrypt(parameters(sealed.subarray(0, NONCE), context), await aesKey, sealed.subarray(NONCE)),
      )
    } catch {
      return null
    }
  }
  return {
    version,
    async hmac(data) {
      return new Uint8Array(await crypto.subtle.sign('HMAC', await hmacKey, bytesOf(data)))
    },
    async seal(plain, context) {
      const nonce = crypto.getRandomValues(new Uint8Array(NONCE))
      const cipher = new Uint8Array(await crypto.subtle.encrypt(parameters(nonce, context), await aesKey, bytesOf(plain)))
      return joined([nonce, cipher])
    },
    async open(sealed, context) {
      const plain = await openBytes(sealed, context)
      return plain && new TextDecoder().decode(plain)
    },
    openBytes,
  }
}

/** Reads a keyring. Throws an error with the name, and without the value, when the text is not a keyring. */
export function keyring(name: string, text: string | undefined): Keyring {
  const all = (text ?? '').split(',').map((part) => {
    const [, version, encoded] = part.trim().match(/^(\d+):([A-Za-z0-9+/]{43}=)$/) ?? []
    if (!version || !encoded) throw unusable(name)
    try {
      return keyOf(version, base64ToBytes(encoded))
    } catch {
      throw unusable(name)
    }
  })
  return { current: all[0]!, all, of: (version) => all.find((one) => one.version === version) }
}

/** Encrypts text for storage: `version:base64`, the key's version and the nonce and ciphertext of AES-256-GCM. */
export const sealText = async ({ current }: Keyring, plain: string, context: string): Promise<string> =>
  `${current.version}:${bytesToBase64(await current.seal(plain, context))}`

/** Reverses `sealText`. Returns null when no key of the keyring opens the text. */
export async function openText(keys: Keyring, sealed: string, context: string): Promise<string | null> {
  const [version = '', encoded = ''] = sealed.split(':')
  return (await keys.of(version)?.open(base64ToBytes(encoded), context)) ?? null
}

/** Whether stored text is sealed with the current key. */
export const isCurrent = ({ current }: Keyring, sealed: string): boolean => sealed.startsWith(`${current.version}:`)

const unusable = (name: string): Error =>
  new Error(`${name} must be a keyring: keys of the form "version:base64 of 32 bytes", newest first, separated by commas.`)

export const bytesToBase64 = (bytes: Uint8Array): string => bytes.toBase64()

/** Decodes base64. Throws unless the text is the canonical spelling of its bytes. */
export const base64ToBytes = (text: string): Uint8Array => Uint8Array.fromBase64(text, { lastChunkHandling: 'strict' })
