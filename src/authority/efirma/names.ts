import { type DerReader, oidOf, TAG, textOf } from './der.ts'

/** An attribute of a distinguished name, in the order of the certificate. */
export interface NameAttribute {
  /** Its short name, or its dotted object identifier when it has none here. */
  name: string
  value: string
}

/** Short names as OpenSSL has them, which the authority's own examples use. */
const SHORT_NAMES: Readonly<Record<string, string>> = {
  '2.5.4.3': 'CN',
  '2.5.4.4': 'SN',
  '2.5.4.5': 'serialNumber',
  '2.5.4.6': 'C',
  '2.5.4.7': 'L',
  '2.5.4.8': 'ST',
  '2.5.4.9': 'street',
  '2.5.4.10': 'O',
  '2.5.4.11': 'OU',
  '2.5.4.12': 'title',
  '2.5.4.13': 'description',
  '2.5.4.17': 'postalCode',
  '2.5.4.41': 'name',
  '2.5.4.42': 'GN',
  '2.5.4.43': 'initials',
  '2.5.4.45': 'x500UniqueIdentifier',
  '0.9.2342.19200300.100.1.25': 'DC',
  '1.2.840.113549.1.9.1': 'emailAddress',
  '1.2.840.113549.1.9.2': 'unstructuredName',
}

/** Takes a distinguished name. Throws NotDer. */
export function takeName(reader: DerReader): NameAttribute[] {
  const attributes: NameAttribute[] = []
  const names = reader.enter(TAG.sequence)
  while (names.tag !== null) {
    const set = names.enter(TAG.set)
    while (set.tag !== null) {
      const attribute = set.enter(TAG.sequence)
      const oid = oidOf(attribute.take(TAG.oid))
      const tag = attribute.tag ?? 0
      attributes.push({ name: SHORT_NAMES[oid] ?? oid, value: textOf(tag, attribute.take(tag)) })
      attribute.end()
    }
  }
  return attributes
}

/** The value of the first attribute with this short name, without white space around it; null when there is none or it is blank. */
export const valueIn = (name: readonly NameAttribute[], short: string): string | null =>
  name.find((attribute) => attribute.name === short)?.value.trim() || null

/** Characters that RFC 4514 (2.4) escapes: anywhere, or a sign and a space at the beginning and a space at the end. */
const SPECIAL = /[\\"+,;<=>\0]|^[ #]| $/g

/** A distinguished name as text (RFC 4514), but in the order of the certificate, as the authority's web services have it. */
export const textOfName = (name: readonly NameAttribute[]): string =>
  name.map(({ name, value }) => `${name}=${value.replace(SPECIAL, (one) => `\\${hexadecimal(one)}`)}`).join(',')

const hexadecimal = (character: string): string => character.charCodeAt(0).toString(16).padStart(2, '0')
