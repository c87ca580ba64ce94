import { base64ToBytes, bytesToBase64, type Keyring } from '../platform/crypto/keyring.ts'

/** The connection that a CIEC belongs to. A CIEC that was sealed for one connection cannot be opened for another. */
export interface CiecHolder {
  organization_id: string
  fiscal_entity_id: string
}

const contextOf = ({ organization_id, fiscal_entity_id }: CiecHolder): string => JSON.stringify(['ciec', organization_id, fiscal_entity_id])

/** Encrypts a CIEC for storage: `version:base64`, the key's version and the nonce and ciphertext of AES-256-GCM. */
export async function sealCiec(keys: Keyring, holder: CiecHolder, ciec: string): Promise<string> {
  return `${keys.current.version}:${bytesToBase64(await keys.current.seal(ciec, contextOf(holder)))}`
}

/** Whether a stored CIEC is sealed with the current key. */
export const isCurrent = (keys: Keyring, stored: string): boolean => stored.startsWith(`${keys.current.version}:`)

/** Decrypts a stored CIEC. Null when no configured key opens it. */
export async function openCiec(keys: Keyring, holder: CiecHolder, stored: string): Promise<string | null> {
  const [version = '', sealed = ''] = stored.split(':')
  return (await keys.of(version)?.open(base64ToBytes(sealed), contextOf(holder))) ?? null
}
