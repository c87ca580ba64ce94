import type { KeyClaim } from '../context.ts'
import { base64ToBytes, bytesToBase64, type Key, keyOf } from '../crypto/keyring.ts'

/** The answer of a route. */
export interface Answer {
  status: number
  content_type: string
  text: string
}

const utf8 = new TextEncoder()

const contextOf = ({ organization_id, key, token }: KeyClaim): string => JSON.stringify(['idempotency', organization_id, key, token])

/** Derives the key of one answer from the caller's api_secret (HKDF-SHA256), which is stored nowhere. */
async function keyFor(api_secret: string, claim: KeyClaim): Promise<Key> {
  const material = await crypto.subtle.importKey('raw', utf8.encode(api_secret), 'HKDF', false, ['deriveBits'])
  const parameters = { name: 'HKDF', hash: 'SHA-256', salt: utf8.encode(claim.token), info: utf8.encode(contextOf(claim)) }
  return keyOf('', new Uint8Array(await crypto.subtle.deriveBits(parameters, material, 256)))
}

/** Seals an answer for storage, because it can contain a secret. Only the caller who got it can open it. */
export const sealAnswer = async (api_secret: string, claim: KeyClaim, answer: Answer): Promise<string> =>
  bytesToBase64(await (await keyFor(api_secret, claim)).seal(JSON.stringify(answer), contextOf(claim)))

/** Opens a sealed answer. Returns null unless the same api_secret is presented as when it was sealed. */
export async function openAnswer(api_secret: string, claim: KeyClaim, sealed: string): Promise<Answer | null> {
  const text = await (await keyFor(api_secret, claim)).open(base64ToBytes(sealed), contextOf(claim))
  return text === null ? null : (JSON.parse(text) as Answer)
}
