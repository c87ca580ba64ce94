import { fromString, fromUUID, toUUID, typeidUnboxed } from 'typeid-js'

/** Every kind of thing with an identifier of its own (decisions.md 2). */
export type Prefix = 'org' | 'mem' | 'fe' | 'ext' | 'run' | 'job' | 'doc' | 'imp' | 'aud'

/** A new TypeID, `{prefix}_{26 characters}`. It sorts by time of creation. */
export const newId = (prefix: Prefix): string => typeidUnboxed(prefix)

/** Whether a text is a TypeID of this prefix. */
export function isId(prefix: Prefix, text: string): boolean {
  try {
    fromString(text, prefix)
    return text.startsWith(`${prefix}_`)
  } catch {
    return false
  }
}

/** The same 128 bits as a UUID. */
export const uuidOf = (id: string): string => toUUID(fromString(id))

/** The TypeID of a UUID's 128 bits. */
export const idOfUuid = (prefix: Prefix, uuid: string): string => fromUUID(uuid.toLowerCase(), prefix)

/** The smallest TypeID that can have been created at this instant: a bound for keyset conditions on time. */
export function firstIdAt(prefix: Prefix, instant: Date): string {
  const time = instant.getTime().toString(16).padStart(12, '0')
  return idOfUuid(prefix, `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000`)
}
