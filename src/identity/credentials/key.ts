import type { Key } from '../../platform/db/keyring.ts'

/**
 * `fds_{env}_key_{id}` and `fds_{env}_secret_{random}{checksum}`: 22 and 43 characters of base62 (131 and 256 bits), then six of
 * CRC-32, so that a scanner can tell a real secret from a look-alike without asking anybody. Source: decisions.md 1.
 */
export interface KeyPair {
  api_key: string
  api_secret: string
}

type Environment = 'test' | 'live'

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const ID_LENGTH = 22
const RANDOM_LENGTH = 43
const CHECKSUM_LENGTH = 6

/** Uniform characters: bytes that would make some of them likelier are thrown away. */
function random62(length: number): string {
  let text = ''
  while (text.length < length)
    for (const byte of crypto.getRandomValues(new Uint8Array(length))) if (byte < 248 && text.length < length) text += BASE62[byte % 62]
  return text
}

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
  let c = n
  for (let bit = 0; bit < 8; bit++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1
  return c >>> 0
})

/** CRC-32 of an ASCII text in six characters of base62. */
export function checksum(text: string): string {
  let crc = 0xffffffff
  for (let at = 0; at < text.length; at++) crc = CRC_TABLE[(crc ^ text.charCodeAt(at)) & 0xff]! ^ (crc >>> 8)
  let value = (crc ^ 0xffffffff) >>> 0
  let encoded = ''
  for (let digit = 0; digit < CHECKSUM_LENGTH; digit++) {
    encoded = BASE62[value % 62] + encoded
    value = Math.floor(value / 62)
  }
  return encoded
}

/** What may be presented: `secret` of a credential, or `invitation`, which makes one. Both are told apart by their looks. */
type Noun = 'secret' | 'invitation'

function newText(environment: Environment, noun: Noun): string {
  const unchecked = `fds_${environment}_${noun}_${random62(RANDOM_LENGTH)}`
  return unchecked + checksum(unchecked)
}

export const newKeyPair = (environment: Environment): KeyPair => ({
  api_key: `fds_${environment}_key_${random62(ID_LENGTH)}`,
  api_secret: newText(environment, 'secret'),
})

export const newInvitationToken = (environment: Environment): string => newText(environment, 'invitation')

const looksLike = (environment: Environment, noun: Noun, text: string): boolean =>
  new RegExp(`^fds_${environment}_${noun}_[0-9A-Za-z]{${RANDOM_LENGTH + CHECKSUM_LENGTH}}$`).test(text) &&
  checksum(text.slice(0, -CHECKSUM_LENGTH)) === text.slice(-CHECKSUM_LENGTH)

/** Whether a text can be a secret of this environment at all: refused without asking the database when it cannot. */
export const isSecret = (environment: Environment, text: string): boolean => looksLike(environment, 'secret', text)

export const isInvitationToken = (environment: Environment, text: string): boolean => looksLike(environment, 'invitation', text)

export const isApiKey = (environment: Environment, text: string): boolean =>
  new RegExp(`^fds_${environment}_key_[0-9A-Za-z]{${ID_LENGTH}}$`).test(text)

/** What is stored of a secret, and looked up by. */
export const digestOf = async (key: Key, secret: string): Promise<string> => `${key.version}.${(await key.hmac(secret)).toHex()}`
