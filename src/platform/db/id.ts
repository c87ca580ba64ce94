import { fromString, fromUUID, toUUID, typeidUnboxed } from 'typeid-js'

/** Every kind of thing with an identifier of its own (decisions.md 2). */
export type Prefix = 'org' | 'mem' | 'ivt' | 'fe' | 'ext' | 'run' | 'job' | 'doc' | 'imp' | 'inv' | 'aud' | 'wh' | 'evt' | 'alr'

/** A new TypeID, `{prefix}_{26 characters}`. It sorts by time of creation. */
export const newId = (prefix: Prefix): string => typeidUnboxed(prefix)

/** What every TypeID of this prefix that is made from an instant on sorts behind. */
export const idsFrom = (prefix: Prefix, instant: Date): string =>
  idOfUuid(
    prefix,
    `${instant.getTime().toString(16).padStart(12, '0')}${'0'.repeat(20)}`.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'),
  )

/** Whether a text is a TypeID of this prefix. */
export function isId(prefix: Prefix, text: string): boolean {
  try {
    fromString(text, prefix)
    return text.startsWith(`${prefix}_`)
  } catch {
    return false
  }
}

/** The TypeID of a UUID's 128 bits. */
export const idOfUuid = (prefix: Prefix, uuid: string): string => fromUUID(uuid.toLowerCase(), prefix)

/** A TypeID's 128 bits as a UUID. */
export const uuidOf = (id: string): string => toUUID(fromString(id))

/** The TypeID that belongs to a text, always the same: the first 128 bits of its sha256, as a UUID of version 8. */
export async function idOfText(prefix: Prefix, text: string): Promise<string> {
  const bytes = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))).subarray(0, 16)
  bytes[6] = (bytes[6]! & 0x0f) | 0x80
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  return idOfUuid(prefix, bytes.toHex().replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'))
}
