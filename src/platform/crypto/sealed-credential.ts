import type { PresentedCredential } from '../tenant/tenant.ts'
import type { Keyring } from './keyring.ts'

/** The purpose of a sealed credential, which is valid for no other one. */
type Purpose = 'console-session' | 'console-link'

export interface SealedCredential {
  api_key: string
  api_secret: string
  /** Milliseconds since 1970. */
  until: number
  /** Of a session, its row; of a link, the name under which it is used up. */
  id: string
}

/** Seals a credential for a browser to keep: the service stores no secret of a session. */
export async function sealCredential({ current }: Keyring, purpose: Purpose, what: SealedCredential): Promise<string> {
  const sealed = await current.seal(JSON.stringify(what), purpose)
  return `${current.version}.${sealed.toBase64({ alphabet: 'base64url', omitPadding: true })}`
}

/**
 * Opens a credential that was sealed for this purpose. Returns null when it was sealed elsewhere, under a key that is gone, or is too old.
 */
export async function openCredential(keys: Keyring, purpose: Purpose, text: string, now: Date): Promise<SealedCredential | null> {
  const [, version = '', sealed = ''] = /^(\d+)\.([\w-]{20,2000})$/.exec(text) ?? []
  const key = keys.of(version)
  if (!key) return null
  try {
    const plain = await key.open(Uint8Array.fromBase64(sealed, { alphabet: 'base64url' }), purpose)
    const what = plain === null ? null : (JSON.parse(plain) as SealedCredential)
    return what && what.until > now.getTime() ? what : null
  } catch {
    return null
  }
}

/** What a session presents. It counts only as long as the service has the session. */
export const presentedIn = ({ api_key, api_secret, id }: SealedCredential): PresentedCredential => ({ api_key, api_secret, session_id: id })
