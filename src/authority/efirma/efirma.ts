import { readCertificate, type TaxCertificate } from './certificate.ts'
import { readFile } from './file.ts'
import { openPrivateKey } from './private-key.ts'
import { type EfirmaReason, EfirmaRefused } from './refused.ts'

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

/**
 * Opens an e.firma of an RFC with its password: a certificate of that RFC which is valid now, and its key. Throws EfirmaRefused with the
 * first reason why it cannot be used.
 */
export async function openEfirma({ certificate: file, private_key, password }: EfirmaInput, rfc: string, now: Date): Promise<Efirma> {
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
  const pkcs8 = openPrivateKey(keyFile, password)
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
  const signature = await orUnreadable('efirma.key_unreadable', async () => sign(await signingKey(pkcs8), probe))
  const verifier = await orUnreadable('efirma.certificate_unreadable', () =>
    crypto.subtle.importKey('spki', publicKey, ALGORITHM, false, ['verify']),
  )
  return crypto.subtle.verify(ALGORITHM.name, verifier, signature, probe)
}

/** The runtime refuses keys that are well formed and none, each with an error of its own. */
const orUnreadable = async <T>(code: EfirmaReason, use: () => Promise<T>): Promise<T> => {
  try {
    return await use()
  } catch {
    throw new EfirmaRefused(code)
  }
}
