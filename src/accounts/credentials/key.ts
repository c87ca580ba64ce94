import { crc32 } from 'node:zlib'
import type { Key } from '../../platform/crypto/keyring.ts'
import type { PresentedCredential } from '../../platform/tenant/tenant.ts'

type Environment = 'test' | 'live'

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const ID_LENGTH = 22
const RANDOM_LENGTH = 43
const CHECKSUM_LENGTH = 6

/** Uniformly distributed characters. Bytes from 248 on are discarded, because they would make some characters more likely. */
function random62(length: number): string {
  let text = ''
  while (text.length < length)
    for (const byte of crypto.getRandomValues(new Uint8Array(length))) if (byte < 248 && text.length < length) text += BASE62[byte % 62]
  return text
}

/** CRC-32 of an ASCII text in six characters of base62. */
export function checksum(text: string): string {
  let value = crc32(text)
  let encoded = ''
  for (let digit = 0; digit < CHECKSUM_LENGTH; digit++) {
    encoded = BASE62[value % 62] + encoded
    value = Math.floor(value / 62)
  }
  return encoded
}

/** Secrets of credentials and tokens of invitations and mails have the same form and differ in this word. */
type Noun = 'secret' | 'invitation' | 'confirmation' | 'signin'

/** Makes a secret, or a token. */
export function newToken(environment: Environment, noun: Noun): string {
  const unchecked = `fds_${environment}_${noun}_${random62(RANDOM_LENGTH)}`
  return unchecked + checksum(unchecked)
}

/**
 * `fds_{env}_key_{id}` and `fds_{env}_secret_{random}{checksum}`: 22 and 43 characters of base62 (131 and 256 bits), then 6 characters of
 * CRC-32, with which secret scanners recognize a real secret offline.
 */
export const newKeyPair = (environment: Environment) => ({
  api_key: `fds_${environment}_key_${random62(ID_LENGTH)}`,
  api_secret: newToken(environment, 'secret'),
})

/** Whether a text has the form and checksum of a secret, or of a token, of this environment. */
export const isToken = (environment: Environment, noun: Noun, text: string): boolean =>
  new RegExp(`^fds_${environment}_${noun}_[0-9A-Za-z]{${RANDOM_LENGTH + CHECKSUM_LENGTH}}$`).test(text) &&
  checksum(text.slice(0, -CHECKSUM_LENGTH)) === text.slice(-CHECKSUM_LENGTH)

export const isApiKey = (environment: Environment, text: string): boolean =>
  new RegExp(`^fds_${environment}_key_[0-9A-Za-z]{${ID_LENGTH}}$`).test(text)

const ENVIRONMENT = /^fds_(test|live)_/

/** The fault in the texts of a credential, in a sentence that repeats nothing of them; null without one. */
export function faultOf(environment: Environment, { api_key, api_secret }: PresentedCredential): string | null {
  if (api_key === null && api_secret.includes(':'))
    return 'A Bearer token is the api_secret alone, without the api_key and the colon: both together are sent as Basic, in base64.'
  const isKey = /^fds_\w+_key_/.test(api_secret)
  if (isKey && api_key === null) return 'The api_key was sent as a Bearer token, in the place of the api_secret.'
  if (isKey) return 'The api_secret is an api_key: perhaps the two are swapped. The api_key comes first.'
  for (const text of [api_secret, api_key ?? api_secret]) {
    const its = ENVIRONMENT.exec(text)?.[1]
    if (its !== undefined && its !== environment)
      return `This is a credential for ${its}, and this is ${environment}. Each environment has credentials and an address of its own.`
  }
  if (!isToken(environment, 'secret', api_secret))
    return `The api_secret is not one: it begins with fds_${environment}_secret_ and has 49 characters after that, with a checksum. A part of it is missing, or a character is wrong.`
  if (api_key !== null && !isApiKey(environment, api_key))
    return `The api_key is not one: it begins with fds_${environment}_key_ and has 22 characters after that. A part of it is missing, or a character is wrong.`
  return null
}

/** The keyed hash under which a secret is stored and found: the key's version and HMAC-SHA256 in hex. */
export const digestOf = async (key: Key, secret: string): Promise<string> => `${key.version}.${(await key.hmac(secret)).toHex()}`
