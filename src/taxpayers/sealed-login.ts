import { readCertificate } from '../authority/efirma/certificate.ts'
import { kindOf, type Login, type LoginKind } from '../authority/port/login.ts'
import { base64ToBytes, bytesToBase64, type Keyring } from '../platform/crypto/keyring.ts'

/** The connection that a login belongs to. What was sealed for one connection, or as one kind, cannot be opened for another. */
export interface LoginHolder {
  organization_id: string
  fiscal_entity_id: string
  rfc: string
}

/** An e.firma as it is sealed: certificate and key, in base64. Its password is never stored. */
interface StoredEfirma {
  certificate: string
  pkcs8: string
}

const contextOf = (kind: LoginKind, { organization_id, fiscal_entity_id }: LoginHolder): string =>
  JSON.stringify([kind, organization_id, fiscal_entity_id])

const plainOf = (login: Login): string => {
  if ('ciec' in login) return login.ciec
  const { certificate, pkcs8 } = login.efirma
  return JSON.stringify({ certificate: bytesToBase64(certificate.der), pkcs8: bytesToBase64(pkcs8) } satisfies StoredEfirma)
}

function loginOf(rfc: string, kind: LoginKind, plain: string): Login {
  if (kind === 'ciec') return { rfc, ciec: plain }
  const { certificate, pkcs8 } = JSON.parse(plain) as StoredEfirma
  return { rfc, efirma: { rfc, certificate: readCertificate(base64ToBytes(certificate)), pkcs8: base64ToBytes(pkcs8) } }
}

/** Encrypts a login for storage: `version:base64`, the key's version and the nonce and ciphertext of AES-256-GCM. */
export async function sealLogin(keys: Keyring, holder: LoginHolder, login: Login): Promise<string> {
  return `${keys.current.version}:${bytesToBase64(await keys.current.seal(plainOf(login), contextOf(kindOf(login), holder)))}`
}

/** Whether a stored login is sealed with the current key. */
export const isCurrent = (keys: Keyring, stored: string): boolean => stored.startsWith(`${keys.current.version}:`)

/** Decrypts a stored login. Null when no configured key opens it. */
export async function openLogin(keys: Keyring, holder: LoginHolder, kind: LoginKind, stored: string): Promise<Login | null> {
  const [version = '', sealed = ''] = stored.split(':')
  const plain = await keys.of(version)?.open(base64ToBytes(sealed), contextOf(kind, holder))
  return plain == null ? null : loginOf(holder.rfc, kind, plain)
}
