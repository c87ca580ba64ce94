import { CfdiRejected } from './rejected.ts'
import type { Attributes } from './xml.ts'

const SPACES = /[\t\n\r]| {2}/
/** The schemas of 3.3 and later allow 18 digits before the point, and that of 3.2 any number of them. */
const AMOUNT = /^[+-]?(?:\d{1,40}(?:\.\d{0,30})?|\.\d{1,30})$/
const DATE_TIME =
  /^(\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)(?:\.\d{1,9})?(Z|[+-](?:0\d|1[0-4]):[0-5]\d)?$/
const DAY = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])/
const RFC = /^[A-ZÑ&]{3,4}\d{6}[A-Z\d]{3}$/
const UUID = /^[\dA-F]{8}-[\dA-F]{4}-[\dA-F]{4}-[\dA-F]{4}-[\dA-F]{12}$/

/** The text of an attribute that is not a line's, with its white space collapsed, as the schemas ask; null when it is absent or blank. */
export const text = (attributes: Attributes, name: string): string | null => {
  const value = attributes[name]?.trim()
  if (!value) return null
  return SPACES.test(value) ? value.replace(/[ \t\n\r]+/g, ' ') : value
}

/** The text of a line's attribute. It is only trimmed, because spaces and line breaks inside it may be intended. */
export const freeText = (attributes: Attributes, name: string): string | null => attributes[name]?.trim() || null

/** Decimal text, exactly as the document has it. Throws CfdiRejected cfdi.invalid_amount for any other text. */
export const amount = (attributes: Attributes, name: string): string | null => {
  const value = attributes[name]?.trim()
  if (!value) return null
  if (!AMOUNT.test(value)) throw new CfdiRejected('cfdi.invalid_amount', `${name} is not a decimal amount.`)
  return value
}

/** A literal local time, `YYYY-MM-DDTHH:mm:ss`, without fractions and offset. Throws CfdiRejected cfdi.invalid_date. */
export const dateTime = (attributes: Attributes, name: string): string | null => {
  const value = attributes[name]?.trim()
  if (!value) return null
  const literal = DATE_TIME.exec(value)?.[1]
  if (literal === undefined || !isRealDay(literal)) throw new CfdiRejected('cfdi.invalid_date', `${name} is not a date and time.`)
  return literal
}

/** A date that says no more than when something was paid. Null when it is not a day of the years in which there are CFDIs. */
export const dayIfReal = (attributes: Attributes, name: string): string | null => {
  const value = text(attributes, name)
  return value !== null && DAY.test(value) && isRealDay(value) && isIssueDate(value) ? value : null
}

/** The offset from UTC in minutes that a valid date and time states; null when it states none. */
export const offsetOf = (value: string | undefined): number | null => {
  const offset = DATE_TIME.exec(value?.trim() ?? '')?.[2]
  if (offset === undefined) return null
  const minutes = offset === 'Z' ? 0 : Number(offset.slice(1, 3)) * 60 + Number(offset.slice(4))
  return offset.startsWith('-') ? -minutes : minutes
}

/** Whether a CFDI can be of this date. The first ones are of 2004. */
export const isIssueDate = (fecha: string): boolean => fecha >= '2004' && fecha < '2101'

export const outOfRange = (name: string): string => `${name} is not in the years 2004 to 2100.`

/** The code of a tax: 001 ISR, 002 IVA, 003 IEPS. 3.2 has their names, and retenciones 1.0 two digits. Any other text stays as it is. */
export const taxCode = (stated: string): string => TAXES.get(stated.toUpperCase()) ?? stated

const TAXES: ReadonlyMap<string, string> = new Map(
  ['ISR', 'IVA', 'IEPS'].flatMap((name, i) => [name, `0${i + 1}`].map((stated) => [stated, `00${i + 1}`] as const)),
)

export const versionOf = (a: Attributes): string => (a['Version'] ?? a['version'] ?? '').trim()

/** Whether the day exists in its month. The text begins with `YYYY-MM-DD` and has a month from 1 to 12. */
export const isRealDay = (date: string): boolean => {
  const day = Number(date.slice(8, 10))
  return day <= 28 || day <= new Date(Date.UTC(Number(date.slice(0, 4)), Number(date.slice(5, 7)), 0)).getUTCDate()
}

/** An RFC in upper case, empty when there is none. Its check digit is not verified. Throws CfdiRejected cfdi.invalid_rfc. */
export const rfc = (attributes: Attributes, name: string, owner: 'Emisor' | 'Receptor'): string => {
  const value = asRfc(attributes[name] ?? '')
  if (value !== '' && !isRfc(value)) throw new CfdiRejected('cfdi.invalid_rfc', `${owner}@${name} is not an RFC.`)
  return value
}

export const asRfc = (value: string): string => value.trim().toUpperCase().normalize('NFC')

export const isRfc = (value: string): boolean => RFC.test(value)

/** A document's own UUID, in upper case; null when it is absent. Throws CfdiRejected cfdi.invalid_uuid. */
export const uuid = (attributes: Attributes, name: string): string | null => {
  const value = upper(attributes, name)
  if (value !== null && !UUID.test(value)) throw new CfdiRejected('cfdi.invalid_uuid', `${name} is not a UUID.`)
  return value
}

/** Whether a document can have this UUID: any but the nil UUID, which demonstrations have instead of a stamp. */
export const isUuid = (value: string): boolean => UUID.test(value) && /[1-9A-F]/.test(value)

export const isAmount = (value: string): boolean => AMOUNT.test(value)

export const upper = (attributes: Attributes, name: string): string | null => attributes[name]?.trim().toUpperCase() || null

/** The last eight characters of a Sello. */
export const lastEight = (sello: string | undefined): string | null => sello?.slice(-64).replace(/\s+/g, '').slice(-8) || null

/** Throws CfdiRejected cfdi.incomplete. */
export const missing = (name: string): never => {
  throw new CfdiRejected('cfdi.incomplete', `${name} is missing.`)
}
