/** TypeIDs: a prefix and 128 bits in base 32. Source: the TypeID specification 0.3, and RFC 9562 for the UUIDs of version 7. */
import { clock } from '../time/clock.ts'

/** Crockford's alphabet, without i, l, o and u. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
const RADIX32 = '0123456789abcdefghijklmnopqrstuv'
const SUFFIX = /^[0-7][0-9a-hjkmnp-tv-z]{25}$/

const translated = (text: string, from: string, to: string): string => Array.from(text, (digit) => to[from.indexOf(digit)]).join('')

/** The 26 characters of 32 hexadecimal digits. */
export const suffixOf = (hex: string): string => translated(BigInt(`0x${hex}`).toString(32).padStart(26, '0'), RADIX32, ALPHABET)

const isSuffix = (text: string): boolean => SUFFIX.test(text)

/** The 32 hexadecimal digits of 26 characters. */
export function hexOf(suffix: string): string {
  let value = 0n
  for (const digit of suffix) value = value * 32n + BigInt(ALPHABET.indexOf(digit))
  return value.toString(16).padStart(32, '0')
}

/** 32 hexadecimal digits with the hyphens of a UUID. */
const hyphenated = (hex: string): string => hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')

/** The bits behind the time in which the UUIDs of one millisecond count up: 12 of rand_a and 20 of rand_b. */
const COUNTER_BITS = 32
const BEGINNINGS = 2 ** (COUNTER_BITS - 1)

/** A clock that is set back by less than this does not disturb the order; one that is set back further is followed. */
const SET_BACK_MS = 1_000

let millisecond = 0
let counter = 0

/** A UUID of version 7 as 32 hexadecimal digits. Those that an isolate makes sort in the order in which they were made. */
function uuid7(): string {
  const now = clock.now()
  const random = crypto.getRandomValues(new Uint32Array(3))
  if (now > millisecond || now < millisecond - SET_BACK_MS) {
    millisecond = now
    counter = random[0]! % BEGINNINGS
  } else if (++counter === 2 ** COUNTER_BITS) {
    millisecond++
    counter = 0
  }
  const count = BigInt(counter)
  const rest = (BigInt(random[1]!) << 32n) | BigInt(random[2]!)
  const low = ((count & 0xfffffn) << 42n) | (rest & 0x3ffffffffffn)
  const bits = (BigInt(millisecond) << 80n) | (7n << 76n) | ((count >> 20n) << 64n) | (2n << 62n) | low
  return bits.toString(16).padStart(32, '0')
}

/** The prefix of every kind of identifier. */
export type Prefix =
  | 'org'
  | 'mem'
  | 'ivt'
  | 'fe'
  | 'eml'
  | 'ext'
  | 'run'
  | 'job'
  | 'doc'
  | 'ntf'
  | 'imp'
  | 'inv'
  | 'aud'
  | 'wh'
  | 'evt'
  | 'alr'
  | 'stc'
  | 'exp'
  | 'lnk'
  | 'cns'

/** Creates a TypeID, `{prefix}_{26 characters}`. TypeIDs sort by the time of their creation. */
export const newId = (prefix: Prefix): string => `${prefix}_${suffixOf(uuid7())}`

/** The least TypeID of an instant: every TypeID with this prefix that is created then or later sorts after it. */
export const idsFrom = (prefix: Prefix, instant: Date): string =>
  `${prefix}_${suffixOf(`${instant.getTime().toString(16).padStart(12, '0')}${'0'.repeat(20)}`)}`

/** Whether a text is a TypeID of this prefix. */
export const isId = (prefix: Prefix, text: string): boolean => text.startsWith(`${prefix}_`) && isSuffix(text.slice(prefix.length + 1))

/** The TypeID with the 128 bits of a UUID. */
export const idOfUuid = (prefix: Prefix, uuid: string): string => `${prefix}_${suffixOf(uuid.replaceAll('-', ''))}`

/** The 128 bits of a TypeID as a UUID. */
export const uuidOf = (id: string): string => hyphenated(hexOf(id.slice(id.indexOf('_') + 1)))

/** Derives a TypeID from a text: the first 128 bits of its SHA-256, as a UUID of version 8. */
export async function idOfText(prefix: Prefix, text: string): Promise<string> {
  const bytes = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))).subarray(0, 16)
  bytes[6] = (bytes[6]! & 0x0f) | 0x80
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  return `${prefix}_${suffixOf(bytes.toHex())}`
}
