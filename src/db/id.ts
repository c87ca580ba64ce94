import { fromString, fromUUID, typeidUnboxed } from 'typeid-js'

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

/** The TypeID of a UUID's 128 bits. */
export const idOfUuid = (prefix: Prefix, uuid: string): string => fromUUID(uuid.toLowerCase(), prefix)
