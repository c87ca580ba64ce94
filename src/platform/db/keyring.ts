/**
 * Keys of one purpose, newest first, each with a version: `2:base64,1:base64`, 32 bytes each. New things are made with the first key;
 * older ones are still read with theirs (decisions.md 11).
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
  /** AES-256-GCM under this key with a fresh nonce: nonce and ciphertext. */
  seal(plain: string, context: string): Promise<Uint8Array>
  /** The reverse; null when the bytes, the key or the context are not the ones that were sealed. */
  open(sealed: Uint8Array, context: string): Promise<string | null>
}

const utf8 = new TextEncoder()
const NONCE = 12

/** A key of 32 bytes. */
export function keyOf(version: string, raw: Uint8Array): Key {
  const hmacKey = crypto.subtle.importKey('raw', raw, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
  const aesKey = crypto.subtle.importKey('raw', raw, 'AES-GCM', false, ['encrypt', 'decrypt'])
  const parameters = (nonce: Uint8Array, context: string) => ({ name: 'AES-GCM', iv: nonce, additionalData: utf8.encode(context) })
  return {
    version,
    async hmac(data) {
      return new Uint8Array(await crypto.subtle.sign('HMAC', await hmacKey, typeof data === 'string' ? utf8.encode(data) : data))
    },
    async seal(plain, context) {
      const nonce = crypto.getRandomValues(new Uint8Array(NONCE))
      const cipher = new Uint8Array(await crypto.subtle.encrypt(parameters(nonce, context), await aesKey, utf8.encode(plain)))
      const sealed = new Uint8Array(NONCE + cipher.length)
      sealed.set(nonce)
      sealed.set(cipher, NONCE)
      return sealed
    },
    async open(sealed, context) {
      try {
        const plain = await crypto.subtle.decrypt(parameters(sealed.subarray(0, NONCE), context), await aesKey, sealed.subarray(NONCE))
        return new TextDecoder().decode(plain)
      } catch {
        return null
      }
    },
  }
}

/** Reads a keyring out of a secret's text; `name` is said when it is not one, its value never. */
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

const unusable = (name: string): Error =>
  new Error(`${name} is not a keyring: "version:base64 of 32 bytes", newest first, comma separated.`)

export const bytesToBase64 = (bytes: Uint8Array): string => bytes.toBase64()
/** Strict: of the spellings that would decode alike only the canonical one is taken. */
export const base64ToBytes = (text: string): Uint8Array => Uint8Array.fromBase64(text, { lastChunkHandling: 'strict' })
