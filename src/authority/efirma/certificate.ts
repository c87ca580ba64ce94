import { bytesOfBits, DerReader, integerOf, NotDer, TAG, takeTime } from './der.ts'
import { type NameAttribute, takeName, textOfName, valueIn } from './names.ts'
import { EfirmaRefused } from './refused.ts'

/** What a certificate of the authority says. Its own signature is not verified: the authority does that when the certificate is used. */
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

/** Reads a certificate in DER. Throws EfirmaRefused efirma.certificate_unreadable. */
export function readCertificate(bytes: Uint8Array): TaxCertificate {
  try {
    return certificateOf(bytes)
  } catch (error) {
    throw error instanceof NotDer ? new EfirmaRefused('efirma.certificate_unreadable') : error
  }
}

/**
 * RFC 5280, 4.1. The extensions are not read: of the authority's certificates, those of seals name a branch and the others do not. A certificate
 * without a branch whose key usage is that of a seal is none of the authority's making, and the authority refuses it.
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

/** Of a company it is followed by a slash and the RFC or CURP of who represents it. */
const rfcOf = (subject: readonly NameAttribute[]): string | null => {
  const [rfc] = (valueIn(subject, 'x500UniqueIdentifier') ?? '').split(/[\s/]/, 1)
  return rfc ? rfc.toUpperCase().normalize('NFC') : null
}
