import type { X509Certificate } from 'node:crypto'
import { authorityKey, certificateOf, newKey, subjectOf, type TestName } from '../../test/authority/support/certificates.ts'

/** What the stand-in reads of a certificate. */
export interface Holder {
  rfc: string
  /** Twenty digits. */
  number: string
  isCsd: boolean
  isValid: boolean
}

/** 2.5.4.45, with which the RFC comes, and 2.5.4.11, which only digital seals have. */
const UNIQUE_IDENTIFIER = Buffer.from([0x06, 0x03, 0x55, 0x04, 0x2d])
const T61 = 0x14

export function holderOf(certificate: X509Certificate, now: Date): Holder {
  const der = Buffer.from(certificate.raw)
  // The issuer, which stands before, may have one of its own.
  const at = der.lastIndexOf(UNIQUE_IDENTIFIER)
  const value = at < 0 ? Buffer.alloc(0) : der.subarray(at + 7, at + 7 + der[at + 6]!)
  const text = value.toString(der[at + 5] === T61 ? 'latin1' : 'utf8')
  return {
    rfc: text.split('/')[0]!.trim(),
    number: Buffer.from(certificate.serialNumber, 'hex').toString('latin1'),
    isCsd: /^OU=/m.test(certificate.subject),
    isValid: new Date(certificate.validFrom) <= now && now <= new Date(certificate.validTo),
  }
}

/** An e.firma as a taxpayer has it: files in base64, and a password. */
export interface TestEfirma {
  rfc: string
  certificate: string
  private_key: string
  password: string
}

const PASSWORD = 'contraseña de prueba'
const OU: TestName = [['2.5.4.11', 'Matriz']]

/** Makes an e.firma of an RFC. One with another number is another certificate; a CSD is none. */
export function makeEfirma(rfc: string, more: { number?: string; from?: Date; to?: Date; isCsd?: boolean } = {}): TestEfirma {
  const key = newKey()
  const { isCsd, ...dates } = more
  const identifier = rfc.length === 12 ? `${rfc} / VADA800927DJ3` : rfc
  const subject = subjectOf(identifier, 'utf8', isCsd ? OU : [])
  return {
    rfc,
    certificate: certificateOf(key, { subject, ...dates }).toString('base64'),
    private_key: authorityKey(key, PASSWORD).toString('base64'),
    password: PASSWORD,
  }
}
