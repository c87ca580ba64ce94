import { Buffer } from 'node:buffer'
import { createDecipheriv, pbkdf2Sync } from 'node:crypto'

/** The bytes are not in DER, or not the expected value. */
export class NotDer extends Error {}

/** Tags of ASN.1 (X.680, 8.6), as DER writes them. */
export const TAG = {
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  utf8String: 0x0c,
  numericString: 0x12,
  printableString: 0x13,
  t61String: 0x14,
  ia5String: 0x16,
  utcTime: 0x17,
  generalizedTime: 0x18,
  visibleString: 0x1a,
  bmpString: 0x1e,
  sequence: 0x30,
  set: 0x31,
} as const

/** The longest length that is read takes this many bytes. */
const LENGTH_BYTES = 3

/**
 * Reads values of DER one after the other (X.690): definite lengths in their shortest form, tags below 31. It reads only on request, so the
 * expected shape limits the depth. Each method throws NotDer, and nothing else.
 */
export class DerReader {
  readonly #bytes: Uint8Array
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  /** The tag of the next value; null at the end. */
  get tag(): number | null {
    return this.#bytes[this.#at] ?? null
  }

  /** Takes the next value, which must have this tag, and returns its content. */
  take(tag: number): Uint8Array {
    if (this.tag !== tag) throw new NotDer('A value has another tag than the expected one.')
    this.#at++
    const length = this.#takeLength()
    const end = this.#at + length
    if (end > this.#bytes.length) throw new NotDer('A value is longer than what contains it.')
    const content = this.#bytes.subarray(this.#at, end)
    this.#at = end
    return content
  }

  /** Takes the next value and returns all of it: tag, length and content. */
  takeWhole(tag: number): Uint8Array {
    const from = this.#at
    this.take(tag)
    return this.#bytes.subarray(from, this.#at)
  }

  /** Takes the next value and returns a reader of the values in it. */
  enter(tag: number): DerReader {
    return new DerReader(this.take(tag))
  }

  end(): void {
    if (this.tag !== null) throw new NotDer('A value is followed by more than the expected ones.')
  }

  #takeLength(): number {
    const first = this.#bytes[this.#at++]
    if (first === undefined) throw new NotDer('A value has no length.')
    if (first < 0x80) return first
    const count = first & 0x7f
    if (count > LENGTH_BYTES) throw new NotDer('A length is too large.')
    let length = 0
    for (let n = 0; n < count; n++) length = length * 256 + (this.#bytes[this.#at++] ?? Number.NaN)
    // A missing byte makes it NaN, and an indefinite length is 0 here: both fail too.
    if (!(length >= 0x80 && length >= 256 ** (count - 1))) throw new NotDer('A length is not in its shortest form.')
    return length
  }
}

/** The number of an INTEGER that is not negative. Throws NotDer. */
export function integerOf(content: Uint8Array): bigint {
  const [first, second] = content
  if (first === undefined || first >= 0x80) throw new NotDer('An integer is empty or negative.')
  if (first === 0 && second !== undefined && second < 0x80) throw new NotDer('An integer is not in its shortest form.')
  return content.reduce((number, byte) => number * 256n + BigInt(byte), 0n)
}

/** An OBJECT IDENTIFIER in its dotted form. Throws NotDer. */
export function oidOf(content: Uint8Array): string {
  const arcs: number[] = []
  let arc = 0
  let isInside = false
  for (const byte of content) {
    if (!isInside && byte === 0x80) throw new NotDer('An object identifier is not in its shortest form.')
    arc = arc * 128 + (byte & 0x7f)
    if (arc > Number.MAX_SAFE_INTEGER / 256) throw new NotDer('An object identifier is too large.')
    isInside = byte >= 0x80
    if (isInside) continue
    arcs.push(...(arcs.length > 0 ? [arc] : arc < 80 ? [Math.floor(arc / 40), arc % 40] : [2, arc - 80]))
    arc = 0
  }
  if (isInside || arcs.length === 0) throw new NotDer('An object identifier ends too early.')
  return arcs.join('.')
}

/** The bytes of a BIT STRING that has whole bytes. Throws NotDer. */
export function bytesOfBits(content: Uint8Array): Uint8Array {
  if (content[0] !== 0) throw new NotDer('A bit string does not have whole bytes.')
  return content.subarray(1)
}

const UTC_TIME = /^(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/
const GENERALIZED_TIME = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/

/** Takes a UTCTime or a GeneralizedTime, as certificates have them (RFC 5280, 4.1.2.5). Throws NotDer. */
export function takeTime(reader: DerReader): Date {
  const isShort = reader.tag === TAG.utcTime
  const text = String.fromCharCode(...reader.take(isShort ? TAG.utcTime : TAG.generalizedTime).subarray(0, 16))
  const [, year, ...rest] = (isShort ? UTC_TIME : GENERALIZED_TIME).exec(text) ?? []
  if (year === undefined) throw new NotDer('A time is not in UTC with seconds.')
  const [month, day, hour, minute, second] = rest.map(Number) as [number, number, number, number, number]
  const full = isShort ? Number(year) + (Number(year) < 50 ? 2000 : 1900) : Number(year)
  const time = new Date(Date.UTC(full, month - 1, day, hour, minute, second))
  const isReal = time.getUTCMonth() === month - 1 && time.getUTCDate() === day && minute < 60 && second < 60
  if (!isReal) throw new NotDer('A time does not exist.')
  return time
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const latin = new TextDecoder('windows-1252')
const utf16 = new TextDecoder('utf-16be')

/**
 * The text of a string type. The authority's certificates have names in UTF-8 and in ISO 8859-1 under types that allow neither, so each
 * text that is valid UTF-8 is read as such. Throws NotDer for other types.
 */
export function textOf(tag: number, content: Uint8Array): string {
  switch (tag) {
    case TAG.bmpString:
      return utf16.decode(content)
    case TAG.bitString:
      return textOf(TAG.printableString, bytesOfBits(content))
    case TAG.utf8String:
    case TAG.numericString:
    case TAG.printableString:
    case TAG.t61String:
    case TAG.ia5String:
    case TAG.visibleString:
      try {
        return utf8.decode(content)
      } catch {
        return latin.decode(content)
      }
    default:
      throw new NotDer('A name has a value that is not text.')
  }
}

/** A member of `efirma` in a request. */
export type EfirmaMember = 'certificate' | 'private_key' | 'password'

const REASONS = {
  'efirma.certificate_unreadable': [
    'certificate',
    'Must be the content of the .cer file of the tax authority in base64, not its path: an X.509 certificate in DER. The certificate in PEM will do too.',
  ],
  'efirma.is_csd': ['certificate', 'Must be the certificate of an e.firma. This one is a digital seal (CSD), which names a branch.'],
  'efirma.without_rfc': ['certificate', 'Must be the certificate of a taxpayer. This one names no RFC.'],
  'efirma.other_rfc': ['certificate', 'Must be the certificate of this RFC. It names another one.'],
  'efirma.not_yet_valid': ['certificate', 'Must be valid now. This certificate is not valid yet.'],
  'efirma.expired': ['certificate', 'Must be valid now. This certificate has expired.'],
  'efirma.key_unreadable': [
    'private_key',
    'Must be the content of the .key file of the tax authority in base64, not its path: a private key in PKCS #8. The key in PEM will do too.',
  ],
  'efirma.key_damaged': ['private_key', 'Must be whole. What is in this file is damaged: send the file of the tax authority again.'],
  'efirma.key_unsupported': [
    'private_key',
    'Must be an RSA key in PKCS #8, encrypted by PBES2 with PBKDF2 and 3DES or AES-CBC. OpenSSL converts others: `openssl pkcs8 -topk8 -v2 des3 -in key.pem -outform DER -out clave.key`.',
  ],
  'efirma.key_iterations': [
    'private_key',
    'Must be encrypted with at most 10,000 iterations of PBKDF2, and this one has more. Those of the tax authority have 2,048: send its file, or write the key anew with `openssl pkcs8 -topk8 -iter 2048`.',
  ],
  'efirma.wrong_password': ['password', 'Must open the private key. This password does not.'],
  'efirma.key_mismatch': ['private_key', 'Must be the private key of this certificate. It belongs to another one.'],
} as const satisfies Record<string, readonly [EfirmaMember, string]>

export type EfirmaReason = keyof typeof REASONS

/** An e.firma cannot be used, and why. The message repeats nothing of it. */
export class EfirmaRefused extends Error {
  readonly code: EfirmaReason
  /** The member to change. */
  readonly member: EfirmaMember

  /** `detail` says what came in the place of the usual message. */
  constructor(code: EfirmaReason, detail?: string) {
    const [member, message] = REASONS[code]
    super(detail ?? message)
    this.code = code
    this.member = member
  }
}

const PBES2 = '1.2.840.113549.1.5.13'
/** The older schemes, of PKCS #5 and PKCS #12. */
const PBES1 = /^1\.2\.840\.113549\.1\.(?:5\.(?:1|3|4|6|10|11)|12\.1\.[1-6])$/
const PBES1_COMMAND =
  'openssl pkcs8 -provider legacy -provider default -inform DER -in clave.key | openssl pkcs8 -topk8 -v2 des3 -outform DER -out new.key'
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
/**
 * The authority's keys have 2,048, and so have those that OpenSSL writes unless it is told otherwise. The margin is for keys that were
 * written with a few times more; each iteration is half a microsecond of the processor.
 */
const MAX_ITERATIONS = 10_000n
/** The authority's keys have a salt of 8 bytes, those of OpenSSL up to 16. */
const MAX_SALT_BYTES = 64

/** 4,096 bits and a leading zero. A signature with a key of more takes seconds of the processor. The authority's keys have 2,048. */
const MAX_MODULUS_BYTES = 513

/** The file of a private key that was read and not opened: what is encrypted and how, or the key itself when it is not encrypted. */
export type KeyFile = EncryptedKey | { plain: Uint8Array }

interface EncryptedKey extends Parameters {
  encrypted: Uint8Array
}

/**
 * Reads the file of a private key in PKCS #8. It costs next to nothing whatever the file says. Throws EfirmaRefused efirma.key_unreadable,
 * efirma.key_unsupported or efirma.key_iterations.
 */
export const readPrivateKey = (bytes: Uint8Array): KeyFile => orRefuse('efirma.key_unreadable', () => keyOf(bytes))

/** The iterations of PBKDF2 that opening a key with a password takes at most. */
export const iterationsOf = (key: KeyFile, password: string): number =>
  'plain' in key ? 0 : key.iterations * passwordBytes(password).length

/**
 * Opens a private key and returns it as PrivateKeyInfo in DER. One that is not encrypted needs no password. Throws EfirmaRefused
 * efirma.wrong_password, efirma.key_damaged or efirma.key_unsupported.
 */
export function openPrivateKey(key: KeyFile, password: string): Uint8Array {
  if ('plain' in key) return key.plain
  for (const bytes of passwordBytes(password)) {
    const plain = decrypted(key, bytes)
    try {
      return plainKey(unpadded(plain, key.iv.length))
    } catch (error) {
      if (!(error instanceof NotDer)) throw error
      if (beginsAsKey(plain)) throw new EfirmaRefused('efirma.key_damaged')
    }
  }
  throw new EfirmaRefused('efirma.wrong_password')
}

/** A password in UTF-8, and as the programs of Windows write it when it is not in ASCII alone. */
function passwordBytes(password: string): Uint8Array[] {
  const utf8 = new TextEncoder().encode(password)
  const codes = [...password.normalize('NFC')].map((character) => WINDOWS.indexOf(character))
  return utf8.length === password.length || codes.includes(-1) ? [utf8] : [utf8, Uint8Array.from(codes)]
}

/** The characters of windows-1252 by their codes. */
const WINDOWS = new TextDecoder('windows-1252').decode(Uint8Array.from({ length: 256 }, (_, code) => code))

const orRefuse = <T>(code: EfirmaReason, read: () => T): T => {
  try {
    return read()
  } catch (error) {
    throw error instanceof NotDer ? new EfirmaRefused(code) : error
  }
}

/** Reads EncryptedPrivateKeyInfo (RFC 5958, 3), or PrivateKeyInfo, which begins with its version. */
function keyOf(bytes: Uint8Array): KeyFile {
  const outer = new DerReader(bytes)
  const info = outer.enter(TAG.sequence)
  outer.end()
  if (info.tag === TAG.integer) return { plain: plainKey(isPkcs1(info) ? asPkcs8(bytes) : bytes) }
  const algorithm = info.enter(TAG.sequence)
  const encrypted = info.take(TAG.octetString)
  info.end()
  const parameters = parametersOf(algorithm)
  if (encrypted.length === 0 || encrypted.length % parameters.iv.length !== 0) throw new NotDer('The encrypted key has no whole blocks.')
  return { ...parameters, encrypted }
}

/** Whether this is an RSAPrivateKey (RFC 8017, A.1.2), whose version is followed by another number. Throws NotDer, EfirmaRefused. */
function isPkcs1(info: DerReader): boolean {
  if (integerOf(info.take(TAG.integer)) === 3n) throw otherFormat('a PKCS #12 file (.pfx)', 'openssl pkcs12 -in file.pfx -nocerts -nodes')
  return info.tag === TAG.integer
}

/** An RSAPrivateKey as a PrivateKeyInfo. */
const asPkcs8 = (key: Uint8Array): Uint8Array =>
  derOf(TAG.sequence, [
    derOf(TAG.integer, [Uint8Array.of(0)]),
    derOf(TAG.sequence, [derOf(TAG.oid, [Uint8Array.of(0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01)]), derOf(TAG.null, [])]),
    derOf(TAG.octetString, [key]),
  ])

/** A value in DER. */
function derOf(tag: number, parts: readonly Uint8Array[]): Uint8Array {
  const content = Buffer.concat(parts)
  const size = content.length < 0x80 ? [content.length] : [0x82, content.length >> 8, content.length & 0xff]
  return Buffer.concat([Uint8Array.of(tag, ...size), content])
}

/** The beginnings of the files of other programs, as text, with what they are and what converts them. */
const OTHER_FORMATS: readonly (readonly [begin: RegExp, format: string, command: string])[] = [
  [
    /Proc-Type: 4,ENCRYPTED/,
    'an encrypted key of OpenSSL in PKCS #1',
    'openssl pkcs8 -topk8 -v2 des3 -in key.pem -outform DER -out clave.key',
  ],
  [/BEGIN OPENSSH PRIVATE KEY|^openssh-key-v1/, 'a key of OpenSSH', 'ssh-keygen -p -m PKCS8 -f key'],
  [/^PuTTY-User-Key-File/, 'a key of PuTTY', 'puttygen key.ppk -O private-openssh -o key, then ssh-keygen -p -m PKCS8 -f key'],
]

const otherFormat = (format: string, command: string): EfirmaRefused =>
  new EfirmaRefused('efirma.key_unsupported', `Must be a key in PKCS #8. This is ${format}. It is converted by: ${command}`)

/** Throws EfirmaRefused for a key file of another program, by its text. */
export function refuseOtherFormats(file: string): void {
  for (const [begin, format, command] of OTHER_FORMATS) if (begin.test(file)) throw otherFormat(format, command)
}

/** The bytes, if they are a PrivateKeyInfo of an RSA key (RFC 5958, 2). Throws NotDer, or EfirmaRefused efirma.key_unsupported. */
function plainKey(bytes: Uint8Array): Uint8Array {
  const outer = new DerReader(bytes)
  const info = outer.enter(TAG.sequence)
  outer.end()
  integerOf(info.take(TAG.integer))
  const algorithm = oidOf(info.enter(TAG.sequence).take(TAG.oid))
  const key = new DerReader(info.take(TAG.octetString)).enter(TAG.sequence)
  if (algorithm !== RSA)
    throw new EfirmaRefused('efirma.key_unsupported', 'Must be an RSA key, as those of all e.firmas are. This is another kind of key.')
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

/**
 * Reads the parameters of PBES2 (RFC 8018, A.2 to A.4). Throws NotDer, or EfirmaRefused efirma.key_unsupported or efirma.key_iterations.
 */
function parametersOf(algorithm: DerReader): Parameters {
  const scheme = oidOf(algorithm.take(TAG.oid))
  if (PBES1.test(scheme)) throw otherFormat('a key encrypted by PBES1', PBES1_COMMAND)
  if (scheme !== PBES2) throw unsupported()
  const pbes2 = algorithm.enter(TAG.sequence)
  const derivation = pbes2.enter(TAG.sequence)
  if (oidOf(derivation.take(TAG.oid)) !== PBKDF2) throw unsupported()
  const pbkdf2 = derivation.enter(TAG.sequence)
  const salt = pbkdf2.take(TAG.octetString)
  const iterations = integerOf(pbkdf2.take(TAG.integer))
  if (iterations < 1n || salt.length > MAX_SALT_BYTES) throw unsupported()
  if (iterations > MAX_ITERATIONS) throw new EfirmaRefused('efirma.key_iterations')
  const stated = pbkdf2.tag === TAG.integer ? integerOf(pbkdf2.take(TAG.integer)) : null
  const hash = pbkdf2.tag === null ? 'sha1' : HMACS[oidOf(pbkdf2.enter(TAG.sequence).take(TAG.oid))]
  const encryption = pbes2.enter(TAG.sequence)
  const known = CIPHERS[oidOf(encryption.take(TAG.oid))]
  if (hash === undefined || known === undefined || (stated !== null && stated !== BigInt(known.keyBytes))) throw unsupported()
  const iv = encryption.take(TAG.octetString)
  if (iv.length !== known.ivBytes) throw unsupported()
  return { ...known, salt, iterations: Number(iterations), hash, iv }
}

/**
 * What a password makes of an encrypted key, with its padding. `createPrivateKey` would not do: in Workers it opens no key whose password
 * was hashed by SHA-384 or SHA-512, and it calls that a wrong password.
 */
function decrypted({ salt, iterations, hash, cipher, keyBytes, iv, encrypted }: EncryptedKey, password: Uint8Array): Uint8Array {
  const decipher = createDecipheriv(cipher, pbkdf2Sync(password, salt, iterations, keyBytes, hash), iv).setAutoPadding(false)
  return Buffer.concat([decipher.update(encrypted), decipher.final()])
}

/** A sequence of 256 to 65,535 bytes, the version 0, and a sequence: no other password makes these seven bytes of the first block. */
const beginsAsKey = ([sequence, length, , , ...version]: Uint8Array): boolean =>
  sequence === TAG.sequence && length === 0x82 && [TAG.integer, 1, 0, TAG.sequence].every((byte, n) => version[n] === byte)

/** The bytes without the padding of PKCS #7 to whole blocks. Throws NotDer. */
function unpadded(bytes: Uint8Array, block: number): Uint8Array {
  const count = bytes.at(-1)!
  const isPadded = count >= 1 && count <= block && bytes.subarray(-count).every((byte) => byte === count)
  if (!isPadded) throw new NotDer('The padding is wrong.')
  return bytes.subarray(0, -count)
}
