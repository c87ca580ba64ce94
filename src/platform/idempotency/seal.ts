import type { KeyClaim } from '../context.ts'
import { base64ToBytes, bytesToBase64, type Key, keyOf } from '../db/keyring.ts'

/** What a route answered. */
export interface Answer {
  status: number
  content_type: string
  text: string
}

const utf8 = new TextEncoder()

const about = ({ organization_id, key, token }: KeyClaim): string => JSON.stringify(['idempotency', organization_id, key, token])

/** The key of one answer: HKDF-SHA256 of the secret that the caller presented, which is kept nowhere. */
async function keyFor(api_secret: string, claim: KeyClaim): Promise<Key> {
  const material = await crypto.subtle.importKey('raw', utf8.encode(api_secret), 'HKDF', false, ['deriveBits'])
  const parameters = { name: 'HKDF', hash: 'SHA-256', salt: utf8.encode(claim.token), info: utf8.encode(about(claim)) }
  return keyOf('', new Uint8Array(await crypto.subtle.deriveBits(parameters, material, 256)))
}

/** An answer as it is kept: it can claim a secret, and nobody but who was answered can open it. */
export const sealAnswer = async (api_secret: string, claim: KeyClaim, answer: Answer): Promise<string> =>
  bytesToBase64(await (await keyFor(api_secret, claim)).seal(JSON.stringify(answer), about(claim)))

/** Null when another secret was presented than when it was sealed. */
export async function openAnswer(api_secret: string, claim: KeyClaim, sealed: string): Promise<Answer | null> {
  const text = await (await keyFor(api_secret, claim)).open(base64ToBytes(sealed), about(claim))
  return text === null ? null : (JSON.parse(text) as Answer)
}
