import { hexOf, hyphenated, isSuffix, suffixOf, uuid7 } from './typeid.ts'

/** The prefix of every kind of identifier (decisions.md 2). */
export type Prefix =
  | 'org'
  | 'mem'
  | 'ivt'
  | 'fe'
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
