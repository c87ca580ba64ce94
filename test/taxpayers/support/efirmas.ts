import type { KeyObject } from 'node:crypto'
import type { EfirmaInput } from '../../../src/authority/efirma/efirma.ts'
import type { Login } from '../../../src/authority/port/login.ts'
import { authorityKey, certificateOf, newKey, subjectOf, type TestCertificate } from '../../authority/support/certificates.ts'
import { openFiles } from '../../authority/support/open-files.ts'

export const PASSWORD = 'Contraseña "1" ñ'
export const base64 = (bytes: Uint8Array): string => new Uint8Array(bytes).toBase64()

let made: KeyObject | undefined
/** Making a key takes long; certificates of one key are as good. */
export const sharedKey = (): KeyObject => (made ??= newKey())

const keys = new WeakMap<KeyObject, string>()
const fileOf = (key: KeyObject): string => {
  const file = keys.get(key) ?? base64(authorityKey(key, PASSWORD, { iterations: 100 }))
  keys.set(key, file)
  return file
}

/** The number of a certificate that ends so. */
export const numberOf = (end: string): string => `3000100000050000${end}`

/** The e.firma of an RFC as a request has it. The number tells e.firmas apart. */
export const efirmaOf = (
  rfc: string,
  { number = numberOf('0001'), key = sharedKey(), ...more }: Partial<TestCertificate> & { key?: KeyObject } = {},
): EfirmaInput => ({
  certificate: base64(certificateOf(key, { subject: subjectOf(rfc), number, ...more })),
  private_key: fileOf(key),
  password: PASSWORD,
})

/** The same, opened. */
export const efirmaLogin = async (rfc: string, end: string): Promise<Login> => ({
  rfc,
  efirma: await openFiles(efirmaOf(rfc, { number: numberOf(end) }), rfc, new Date()),
})
