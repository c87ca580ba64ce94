import { Buffer } from 'node:buffer'
import { createDecipheriv, pbkdf2Sync } from 'node:crypto'
import { DerReader, integerOf, NotDer, oidOf, TAG } from './der.ts'
import { type EfirmaReason, EfirmaRefused } from './refused.ts'

const PBES2 = '1.2.840.113549.1.5.13'
const PBKDF2 = '1.2.840.113549.1.5.12'
const RSA = '1.2.840.113549.1.1.1'
/** The ciphers, with the bytes of their keys and initialization vectors. The authority encrypts by 3DES. */
const CIPHERS: Readonly<Record<string, { cipher: string; keyBytes: number; ivBytes: number }>> = {
  '1.2.840.113549.3.7': { cipher: 'des-ede3-cbc', keyBytes: 24, ivBytes: 8 },
  '2.16.840.1.101.3.4.1.2': { cipher: 'aes-128-cbc', keyBytes: 16, ivBytes: 16 },
  '2.16.840.1.101.3.4.1.22': { cipher: 'aes-192-cbc', keyBytes: 24, ivBytes: 16 },
  '2.16.840.1.101.3.4.1.42': { cipher: 'aes-256-cbc', keyBytes: 32, ivBytes: 16 },
}
const HMACS: Readonly<Record<string, string>> = {
  '1.2.840.113549.2.7': 'sha1',
  '1.2.840.113549.2.9': 'sha256',
  '1.2.840.113549.2.10': 'sha384',
  '1.2.840.113549.2.11': 'sha512',
}
/** Cloudflare refuses more. The authority's keys have 2,048. */
const MAX_ITERATIONS = 100_000n

/** 4,096 bits and a leading zero. A signature with a key of more takes seconds of the processor. The authority's keys have 2,048. */
const MAX_MODULUS_BYTES = 513

/**
 * Opens a private key in PKCS #8 and returns it as PrivateKeyInfo in DER. One that is not encrypted needs no password. Throws EfirmaRefused
 * efirma.key_unreadable, efirma.key_unsupported or efirma.wrong_password.
 */
export function openPrivateKey(bytes: Uint8Array, password: string): Uint8Array {
  const key = orRefuse('efirma.key_unreadable', () => keyOf(bytes))
  if ('algorithm' in key) {
    const plain = decrypted(key, password)
    return orRefuse('efirma.wrong_password', () => plainKey(plain))
  }
  return key.plain
}

const orRefuse = <T>(code: EfirmaReason, read: () => T): T => {
  try {
    return read()
  } catch (error) {
    throw error instanceof NotDer ? new EfirmaRefused(code) : error
  }
}

interface EncryptedKey {
  /** AlgorithmIdentifier. */
  algorithm: DerReader
  encrypted: Uint8Array
}

/** Reads EncryptedPrivateKeyInfo (RFC 5958, 3), or PrivateKeyInfo, which begins with its version. */
function keyOf(bytes: Uint8Array): EncryptedKey | { plain: Uint8Array } {
  const outer = new DerReader(bytes)
  const info = outer.enter(TAG.sequence)
  outer.end()
  if (info.tag === TAG.integer) return { plain: plainKey(bytes) }
  const algorithm = info.enter(TAG.sequence)
  const encrypted = info.take(TAG.octetString)
  info.end()
  return { algorithm, encrypted }
}

/** The bytes, if they are a PrivateKeyInfo of an RSA key (RFC 5958, 2). Throws NotDer, or EfirmaRefused efirma.key_unsupported. */
function plainKey(bytes: Uint8Array): Uint8Array {
  const outer = new DerReader(bytes)
  const info = outer.enter(TAG.sequence)
  outer.end()
  integerOf(info.take(TAG.integer))
  const algorithm = oidOf(info.enter(TAG.sequence).take(TAG.oid))
  const key = new DerReader(info.take(TAG.octetString)).enter(TAG.sequence)
  if (algorithm !== RSA) throw unsupported()
  integerOf(key.take(TAG.integer))
  if (key.take(TAG.integer).length > MAX_MODULUS_BYTES) throw unsupported()
  return bytes
}

interface Parameters {
  salt: Uint8Array
  iterations: number
  hash: string
  cipher: string
  keyBytes: number
  iv: Uint8Array
}

const unsupported = (): EfirmaRefused => new EfirmaRefused('efirma.key_unsupported')

/** Reads the parameters of PBES2 (RFC 8018, A.2 to A.4). Throws NotDer, or EfirmaRefused efirma.key_unsupported. */
function parametersOf(algorithm: DerReader): Parameters {
  if (oidOf(algorithm.take(TAG.oid)) !== PBES2) throw unsupported()
  const pbes2 = algorithm.enter(TAG.sequence)
  const derivation = pbes2.enter(TAG.sequence)
  if (oidOf(derivation.take(TAG.oid)) !== PBKDF2) throw unsupported()
  const pbkdf2 = derivation.enter(TAG.sequence)
  const salt = pbkdf2.take(TAG.octetString)
  const iterations = integerOf(pbkdf2.take(TAG.integer))
  if (iterations < 1n || iterations > MAX_ITERATIONS) throw unsupported()
  if (pbkdf2.tag === TAG.integer) pbkdf2.take(TAG.integer)
  const hash = pbkdf2.tag === null ? 'sha1' : HMACS[oidOf(pbkdf2.enter(TAG.sequence).take(TAG.oid))]
  const encryption = pbes2.enter(TAG.sequence)
  const known = CIPHERS[oidOf(encryption.take(TAG.oid))]
  if (hash === undefined || known === undefined) throw unsupported()
  const iv = encryption.take(TAG.octetString)
  if (iv.length !== known.ivBytes) throw unsupported()
  return { ...known, salt, iterations: Number(iterations), hash, iv }
}

/**
 * Throws EfirmaRefused. `createPrivateKey` would not do: in Workers it opens no key whose password was hashed by SHA-384 or SHA-512, and it
 * calls that a wrong password.
 */
function decrypted({ algorithm, encrypted }: EncryptedKey, password: string): Uint8Array {
  const { salt, iterations, hash, cipher, keyBytes, iv } = orRefuse('efirma.key_unreadable', () => parametersOf(algorithm))
  const decipher = createDecipheriv(cipher, pbkdf2Sync(password, salt, iterations, keyBytes, hash), iv)
  try {
    return Buffer.concat([decipher.update(encrypted), decipher.final()])
  } catch {
    throw new EfirmaRefused('efirma.wrong_password')
  }
}
