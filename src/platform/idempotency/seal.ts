import type { Hold } from '../context.ts'
import { base64ToBytes, bytesToBase64, type Key, keyOf } from '../db/keyring.ts'

/** What a route answered. */
export interface Answer {
  status: number
  content_type: string
  text: string
}

const utf8 = new TextEncoder()

const about = ({ organization_id, key, token }: Hold): string => JSON.stringify(['idempotency', organization_id, key, token])

/** The key of one answer: HKDF-SHA256 of the secret that the caller presented, which is kept nowhere. */
async function keyFor(api_secret: string, hold: Hold): Promise<Key> {
  const material = await crypto.subtle.importKey('raw', utf8.encode(api_secret), 'HKDF', false, ['deriveBits'])
  const parameters = { name: 'HKDF', hash: 'SHA-256', salt: utf8.encode(hold.token), info: utf8.encode(about(hold)) }
  return keyOf('', new Uint8Array(await crypto.subtle.deriveBits(parameters, material, 256)))
}

/** An answer as it is kept: it can hold a secret, and nobody but who was answered can open it. */
export const sealAnswer = async (api_secret: string, hold: Hold, answer: Answer): Promise<string> =>
  bytesToBase64(await (await keyFor(api_secret, hold)).seal(JSON.stringify(answer), about(hold)))

/** Null when another secret was presented than when it was sealed. */
export async function openAnswer(api_secret: string, hold: Hold, sealed: string): Promise<Answer | null> {
  const text = await (await keyFor(api_secret, hold)).open(base64ToBytes(sealed), about(hold))
  return text === null ? null : (JSON.parse(text) as Answer)
}
