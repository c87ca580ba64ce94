import { base64ToBytes, bytesToBase64, type Keyring } from '../platform/db/keyring.ts'

/** Which connection a CIEC belongs to: sealed for one, it does not open for another. */
export interface Holder {
  organization_id: string
  fiscal_entity_id: string
}

const contextOf = ({ organization_id, fiscal_entity_id }: Holder): string => JSON.stringify(['ciec', organization_id, fiscal_entity_id])

/** A CIEC as it is stored: the key's version, and nonce and ciphertext of AES-256-GCM. */
export async function sealCiec(keys: Keyring, holder: Holder, ciec: string): Promise<string> {
  return `${keys.current.version}:${bytesToBase64(await keys.current.seal(ciec, contextOf(holder)))}`
}

/** Whether a stored CIEC was sealed with the key that new ones are sealed with. */
export const isCurrent = (keys: Keyring, stored: string): boolean => stored.startsWith(`${keys.current.version}:`)

/** The CIEC in clear; null when it cannot be opened with the keys that are there. */
export async function openCiec(keys: Keyring, holder: Holder, stored: string): Promise<string | null> {
  const [version = '', sealed = ''] = stored.split(':')
  return (await keys.of(version)?.open(base64ToBytes(sealed), contextOf(holder))) ?? null
}
