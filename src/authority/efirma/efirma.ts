import {
  bytesOfBits,
  DerReader,
  type EfirmaReason,
  EfirmaRefused,
  integerOf,
  type KeyFile,
  NotDer,
  oidOf,
  openPrivateKey,
  readPrivateKey,
  refuseOtherFormats,
  TAG,
  takeTime,
  textOf,
} from './der.ts'

/** An attribute of a distinguished name, in the order of the certificate. */
interface NameAttribute {
  /** Its short name, or its dotted object identifier when it has none here. */
  name: string
  value: string
}

/** Short names as OpenSSL has them, which the authority's own examples use. */
const SHORT_NAMES: Readonly<Record<string, string>> = {
  '2.5.4.3': 'CN',
  '2.5.4.4': 'SN',
  '2.5.4.5': 'serialNumber',
  '2.5.4.6': 'C',
  '2.5.4.7': 'L',
  '2.5.4.8': 'ST',
  '2.5.4.9': 'street',
  '2.5.4.10': 'O',
  '2.5.4.11': 'OU',
  '2.5.4.12': 'title',
  '2.5.4.13': 'description',
  '2.5.4.17': 'postalCode',
  '2.5.4.41': 'name',
  '2.5.4.42': 'GN',
  '2.5.4.43': 'initials',
  '2.5.4.45': 'x500UniqueIdentifier',
  '0.9.2342.19200300.100.1.25': 'DC',
  '1.2.840.113549.1.9.1': 'emailAddress',
  '1.2.840.113549.1.9.2': 'unstructuredName',
}

/** Takes a distinguished name. Throws NotDer. */
function takeName(reader: DerReader): NameAttribute[] {
  const attributes: NameAttribute[] = []
  const names = reader.enter(TAG.sequence)
  while (names.tag !== null) {
    const set = names.enter(TAG.set)
    while (set.tag !== null) {
      const attribute = set.enter(TAG.sequence)
      const oid = oidOf(attribute.take(TAG.oid))
      const tag = attribute.tag ?? 0
      attributes.push({ name: SHORT_NAMES[oid] ?? oid, value: textOf(tag, attribute.take(tag)) })
      attribute.end()
    }
  }
  return attributes
}

/** The value of the first attribute with this short name, without white space around it; null when there is none or it is blank. */
const valueIn = (name: readonly NameAttribute[], short: string): string | null =>
  name.find((attribute) => attribute.name === short)?.value.trim() || null

/** Characters that RFC 4514 (2.4) escapes: anywhere, or a sign and a space at the beginning and a space at the end. */
const SPECIAL = /[\\"+,;<=>\0]|^[ #]| $/g

/** A distinguished name as text (RFC 4514), but in the order of the certificate, as the authority's web services have it. */
const textOfName = (name: readonly NameAttribute[]): string =>
  name.map(({ name, value }) => `${name}=${value.replace(SPECIAL, (one) => `\\${hexadecimal(one)}`)}`).join(',')

const hexadecimal = (character: string): string => character.charCodeAt(0).toString(16).padStart(2, '0')

/** The data of a certificate of the authority. Its own signature is not verified: the authority does that when the certificate is used. */
export interface TaxCertificate {
  /** All of it, in DER. */
  der: Uint8Array
  /** The number as the authority prints it, 20 digits; in hexadecimal for a certificate that was not issued by the authority. */
  number: string
  /** The same number as XML signatures write it: the serial number in decimals. */
  serial: string
  /** The issuer's distinguished name as XML signatures write it. */
  issuer: string
  /** The taxpayer's RFC; null when the certificate names none. */
  rfc: string | null
  name: string | null
  /** Whether it is that of a digital seal (CSD), which stamps CFDIs and logs in nowhere. */
  isCsd: boolean
  valid_from: Date
  /** The last instant of its validity. */
  valid_to: Date
  /** The public key, as SubjectPublicKeyInfo in DER. */
  publicKey: Uint8Array
}

const VERSION = 0xa0
/** 20 bytes (RFC 5280, 4.1.2.2), and a leading zero. */
const MAX_SERIAL_BYTES = 21

/** Reads a certificate in DER. Throws EfirmaRefused efirma.certificate_unreadable. */
export function readCertificate(bytes: Uint8Array): TaxCertificate {
  try {
    return certificateOf(bytes)
  } catch (error) {
    throw error instanceof NotDer ? new EfirmaRefused('efirma.certificate_unreadable') : error
  }
}

/**
 * RFC 5280, 4.1. The extensions are not read: the authority's seals name a branch and its other certificates do not. It never made a
 * certificate without a branch whose key usage is that of a seal, and it refuses such a certificate.
 */
function certificateOf(der: Uint8Array): TaxCertificate {
  const outer = new DerReader(der)
  const certificate = outer.enter(TAG.sequence)
  outer.end()
  const signed = certificate.enter(TAG.sequence)
  certificate.take(TAG.sequence)
  bytesOfBits(certificate.take(TAG.bitString))
  certificate.end()

  if (signed.tag === VERSION) signed.take(VERSION)
  const serial = signed.take(TAG.integer)
  if (serial.length > MAX_SERIAL_BYTES) throw new NotDer('The serial number is too long.')
  signed.take(TAG.sequence)
  const issuer = takeName(signed)
  const validity = signed.enter(TAG.sequence)
  const valid_from = takeTime(validity)
  const valid_to = takeTime(validity)
  validity.end()
  const subject = takeName(signed)
  const publicKey = signed.takeWhole(TAG.sequence)
  return {
    ...{ der, number: numberOf(serial), serial: integerOf(serial).toString(), issuer: textOfName(issuer) },
    ...{ rfc: rfcOf(subject), name: valueIn(subject, 'name') ?? valueIn(subject, 'CN'), isCsd: valueIn(subject, 'OU') !== null },
    ...{ valid_from, valid_to, publicKey },
  }
}

/** The authority's serial numbers are the characters of the numbers that it prints. */
const numberOf = (serial: Uint8Array): string => {
  const text = String.fromCharCode(...serial)
  return /^\d{20}$/.test(text) ? text : serial.toHex()
}

/** For a company, a slash and the RFC or CURP of its representative follow. */
const rfcOf = (subject: readonly NameAttribute[]): string | null => {
  const [rfc] = (valueIn(subject, 'x500UniqueIdentifier') ?? '').split(/[\s/]/, 1)
  return rfc ? rfc.toUpperCase().normalize('NFC') : null
}

/** In characters of base64. The files of the authority have a quarter of this. */
const MAX_CHARACTERS = 12_000
/** The keys of the authority have 1,300 bytes and its certificates 1,700; a key of 4,096 bits has 2,500. */
const MAX_BYTES = 4_096
/** Before the content that a browser reads from a file. */
const DATA_URL = /^\s*data:[^,]{0,200};base64,/i
const BEGIN = /-----BEGIN ([A-Z0-9 ]{1,40})-----/g

/**
 * Reads the bytes of a file that a request has as text: PEM, or the base64 of a file in DER or PEM. In PEM the first part whose label ends
 * with `label` counts; other parts and text around them do not. Null when it is neither. Throws EfirmaRefused for a key of another format.
 */
export function readFile(sent: string, label: 'CERTIFICATE' | 'PRIVATE KEY'): Uint8Array | null {
  if (sent.length > MAX_CHARACTERS) return null
  const text = sent.replace(DATA_URL, '')
  const bytes = text.includes('-----') ? null : fromBase64(text)
  const inside = bytes === null ? text : String.fromCharCode(...bytes)
  if (label === 'PRIVATE KEY') refuseOtherFormats(inside)
  if (bytes === null) return inside.includes('-----') ? bounded(readPem(inside, label)) : null
  return bounded(inside.includes('-----BEGIN ') ? readPem(inside, label) : bytes)
}

const bounded = (bytes: Uint8Array | null): Uint8Array | null => (bytes !== null && bytes.length <= MAX_BYTES ? bytes : null)

function readPem(text: string, wanted: string): Uint8Array | null {
  for (const { 0: line, 1: label, index } of text.matchAll(BEGIN)) {
    if (!label!.endsWith(wanted)) continue
    const end = text.indexOf(`-----END ${label}-----`, index)
    return end < 0 ? null : fromBase64(text.slice(index + line.length, end))
  }
  return null
}

const fromBase64 = (text: string): Uint8Array | null => {
  try {
    return Uint8Array.fromBase64(text)
  } catch {
    return null
  }
}

/** An e.firma as a request has it: each file as base64 or PEM. */
export interface EfirmaInput {
  certificate: string
  private_key: string
  password: string
}

/** An e.firma that can sign. The key is a secret: it is only stored sealed, and never shown. */
export interface Efirma {
  rfc: string
  certificate: TaxCertificate
  /** PrivateKeyInfo in DER, without a password. */
  pkcs8: Uint8Array
}

/** The signatures that the web services of the authority take. */
const ALGORITHM = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-1' }

/** The files of an e.firma that were read, and its password. The key is not opened. */
export interface ReadEfirma {
  rfc: string
  certificate: TaxCertificate
  key: KeyFile
  password: string
}

/**
 * Reads the files of an e.firma: a certificate of this RFC which is valid now, and a key. It costs next to nothing whatever they say.
 * Throws EfirmaRefused with the first reason why it cannot be used.
 */
export function readEfirma({ certificate: file, private_key, password }: EfirmaInput, rfc: string, now: Date): ReadEfirma {
  const certificateFile = readFile(file, 'CERTIFICATE')
  if (certificateFile === null) throw new EfirmaRefused('efirma.certificate_unreadable')
  const certificate = readCertificate(certificateFile)
  if (certificate.isCsd) throw new EfirmaRefused('efirma.is_csd')
  if (certificate.rfc === null) throw new EfirmaRefused('efirma.without_rfc')
  if (certificate.rfc !== rfc) throw new EfirmaRefused('efirma.other_rfc')
  if (now < certificate.valid_from) throw new EfirmaRefused('efirma.not_yet_valid')
  if (now > certificate.valid_to) throw new EfirmaRefused('efirma.expired')
  const keyFile = readFile(private_key, 'PRIVATE KEY')
  if (keyFile === null) throw new EfirmaRefused('efirma.key_unreadable')
  return { rfc, certificate, key: readPrivateKey(keyFile), password }
}

/**
 * Opens an e.firma, which takes milliseconds of the processor: whoever calls it has counted the attempt. Throws EfirmaRefused with the
 * reason why the password, the key and the certificate do not belong together.
 */
export async function openEfirma({ rfc, certificate, key, password }: ReadEfirma): Promise<Efirma> {
  const pkcs8 = openPrivateKey(key, password)
  if (!(await belongTogether(certificate, pkcs8))) throw new EfirmaRefused('efirma.key_mismatch')
  return { rfc, certificate, pkcs8 }
}

/** Imports the key of an e.firma, to sign. Throws DataError when it is none. */
export const signingKey = (pkcs8: Uint8Array): Promise<CryptoKey> => crypto.subtle.importKey('pkcs8', pkcs8, ALGORITHM, false, ['sign'])

/** Signs with it. */
export const sign = async (key: CryptoKey, data: Uint8Array): Promise<Uint8Array> =>
  new Uint8Array(await crypto.subtle.sign(ALGORITHM.name, key, data))

/** Whether the certificate's public key accepts what the private key signs. */
async function belongTogether({ publicKey }: TaxCertificate, pkcs8: Uint8Array): Promise<boolean> {
  const probe = new TextEncoder().encode('e.firma')
  const signature = await orUnreadable('efirma.key_damaged', async () => sign(await signingKey(pkcs8), probe))
  const verifier = await orUnreadable('efirma.certificate_unreadable', () =>
    crypto.subtle.importKey('spki', publicKey, ALGORITHM, false, ['verify']),
  )
  return crypto.subtle.verify(ALGORITHM.name, verifier, signature, probe)
}

/** The runtime refuses well-formed keys that are no keys, each with its own error. */
const orUnreadable = async <T>(code: EfirmaReason, use: () => Promise<T>): Promise<T> => {
  try {
    return await use()
  } catch {
    throw new EfirmaRefused(code)
  }
}
