import { createCipheriv, createPublicKey, generateKeyPairSync, type KeyObject, pbkdf2Sync, randomBytes, sign } from 'node:crypto'

/** Makes e.firmas as the authority does, and broken ones, with a writer of DER of its own. */

export const der = (tag: number, ...contents: readonly Uint8Array[]): Buffer => {
  const content = Buffer.concat(contents)
  if (content.length < 0x80) return Buffer.concat([Buffer.from([tag, content.length]), content])
  const hex = content.length.toString(16)
  const length = Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex')
  return Buffer.concat([Buffer.from([tag, 0x80 + length.length]), length, content])
}

export const SEQUENCE = 0x30
export const oid = (dotted: string): Buffer => {
  const [first, second, ...arcs] = dotted.split('.').map(Number) as [number, number, ...number[]]
  const bytes = [first * 40 + second, ...arcs].flatMap((arc) => {
    const groups = [arc & 0x7f]
    for (let rest = Math.floor(arc / 128); rest > 0; rest = Math.floor(rest / 128)) groups.unshift((rest & 0x7f) | 0x80)
    return groups
  })
  return der(0x06, Buffer.from(bytes))
}

const integer = (value: number): Buffer => {
  const bytes = Buffer.alloc(5)
  bytes.writeUInt32BE(value, 1)
  const first = [...bytes].findIndex((byte, n) => byte !== 0 || n === 4)
  return der(0x02, bytes.subarray(bytes[first]! < 0x80 ? first : first - 1))
}

/** String types, each with how it is written here. */
export const STRINGS = {
  utf8: [0x0c, 'utf8'],
  printable: [0x13, 'utf8'],
  t61: [0x14, 'latin1'],
  ia5: [0x16, 'utf8'],
} as const
export type StringType = keyof typeof STRINGS

/** A distinguished name: the object identifier, the text and the string type of each attribute. */
export type TestName = readonly (readonly [type: string, value: string, string?: StringType])[]

const nameOf = (name: TestName): Buffer =>
  der(
    SEQUENCE,
    ...name.map(([type, value, string = 'utf8']) => {
      const [tag, encoding] = STRINGS[string]
      return der(0x31, der(SEQUENCE, oid(type), der(tag, Buffer.from(value, encoding))))
    }),
  )

const utcTime = (at: Date): Buffer => der(0x17, Buffer.from(`${at.toISOString().slice(2, 19).replace(/[-:T]/g, '')}Z`))
const generalizedTime = (at: Date): Buffer => der(0x18, Buffer.from(`${at.toISOString().slice(0, 19).replace(/[-:T]/g, '')}Z`))

export const ISSUER: TestName = [
  ['2.5.4.3', 'AC DE PRUEBAS'],
  ['2.5.4.10', 'Servicio de Administración Tributaria'],
  ['1.2.840.113549.1.9.1', 'ac@example.com', 'ia5'],
  ['2.5.4.9', 'Av. Hidalgo 77, Col. Guerrero'],
  ['2.5.4.45', 'SAT970701NN3', 'printable'],
]

const SHA256_RSA = der(SEQUENCE, oid('1.2.840.113549.1.1.11'), der(0x05))

export interface TestCertificate {
  subject: TestName
  issuer?: TestName
  number?: string
  from?: Date
  to?: Date
}

export const newKey = (): KeyObject => generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey

/** A subject as the authority writes it, of a taxpayer with this unique identifier. */
export const subjectOf = (identifier: string, string: StringType = 'printable', others: TestName = []): TestName => [
  ['2.5.4.3', 'PRUEBAS SA DE CV', 'printable'],
  ['2.5.4.41', 'PRUEBAS SA DE CV', 'printable'],
  ['2.5.4.45', identifier, string],
  ['2.5.4.5', ' / VADA800927HSRSRL05', 'printable'],
  ...others,
]

/** A certificate of version 3, in DER. */
export function certificateOf(key: KeyObject, { subject, issuer = ISSUER, number, from, to }: TestCertificate): Buffer {
  const publicKey = createPublicKey(key).export({ format: 'der', type: 'spki' })
  const signed = der(
    SEQUENCE,
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from(number ?? '30001000000500003415')),
    SHA256_RSA,
    nameOf(issuer),
    der(SEQUENCE, utcTime(from ?? new Date('2025-01-01T00:00:00Z')), generalizedTime(to ?? new Date('2029-01-01T00:00:00Z'))),
    nameOf(subject),
    publicKey,
    // Basic constraints: not an authority.
    der(0xa3, der(SEQUENCE, der(SEQUENCE, oid('2.5.29.19'), der(0x04, der(SEQUENCE))))),
  )
  return der(SEQUENCE, signed, SHA256_RSA, der(0x03, Buffer.from([0]), sign('sha256', signed, key)))
}

const HMACS = {
  sha1: '1.2.840.113549.2.7',
  sha256: '1.2.840.113549.2.9',
  sha384: '1.2.840.113549.2.10',
  sha512: '1.2.840.113549.2.11',
} as const
export type Hash = keyof typeof HMACS
export const HASHES = Object.keys(HMACS) as Hash[]

/** A key, or other bytes, encrypted as the authority encrypts keys: PBES2 with PBKDF2, HMAC-SHA1 by default, and 3DES in CBC. */
export function authorityKey(
  key: KeyObject | Uint8Array,
  password: string | Uint8Array,
  {
    iterations = 2048,
    keyLength,
    salt: saltBytes = 8,
    stated,
    hash,
  }: { iterations?: number; keyLength?: number; salt?: number; stated?: number; hash?: Hash } = {},
): Buffer {
  const plain = key instanceof Uint8Array ? key : key.export({ format: 'der', type: 'pkcs8' })
  const [salt, iv] = [randomBytes(saltBytes), randomBytes(8)]
  const cipher = createCipheriv('des-ede3-cbc', pbkdf2Sync(password, salt, iterations, 24, hash ?? 'sha1'), iv)
  const encrypted = Buffer.concat([cipher.update(plain), cipher.final()])
  const derivation = [
    ...[der(0x04, salt), integer(stated ?? iterations), ...(keyLength === undefined ? [] : [integer(keyLength)])],
    ...(hash ? [der(SEQUENCE, oid(HMACS[hash]), der(0x05))] : []),
  ]
  return der(
    SEQUENCE,
    der(
      SEQUENCE,
      oid('1.2.840.113549.1.5.13'),
      der(
        SEQUENCE,
        der(SEQUENCE, oid('1.2.840.113549.1.5.12'), der(SEQUENCE, ...derivation)),
        der(SEQUENCE, oid('1.2.840.113549.3.7'), der(0x04, iv)),
      ),
    ),
    der(0x04, encrypted),
  )
}

/** A file with another byte at a place, which is counted from its end. */
export const damaged = (file: Uint8Array, at: number): Uint8Array => {
  const copy = new Uint8Array(file)
  copy[file.length + at]! ^= 0xff
  return copy
}

/** A key that OpenSSL encrypts. */
export const opensslKey = (key: KeyObject, cipher: string, passphrase: string): Buffer =>
  key.export({ format: 'der', type: 'pkcs8', cipher, passphrase })

export const pem = (label: string, bytes: Uint8Array): string =>
  `-----BEGIN ${label}-----\n${Buffer.from(bytes).toString('base64').replace(/.{64}/g, '$&\n')}\n-----END ${label}-----\n`
