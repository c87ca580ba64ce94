/** Registro Federal de Contribuyentes: shape, date and check digit. */

const SHAPE = /^[A-ZÑ&]{3,4}(\d{2})(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])[A-Z\d]{2}[A\d]$/u
const VALUES = '0123456789ABCDEFGHIJKLMN&OPQRSTUVWXYZ Ñ'

/** The RFC of those who have none, because they are foreign. */
export const FOREIGN_RFC = 'XEXX010101000'

/** RFCs that belong to no taxpayer: that of the general public, and that of foreigners. */
export const GENERIC_RFCS: readonly string[] = ['XAXX010101000', FOREIGN_RFC]

/** Normalizes an RFC: upper case, composed Ñ, no white space and no hyphens. */
export const normalRfc = (text: string): string => text.normalize('NFC').toUpperCase().replace(/[\s-]/gu, '')

/** Whether a text has the form of an RFC: 3 letters for a company or 4 for a person, a valid date, and a homoclave of 3 characters. */
export function isRfc(rfc: string): boolean {
  const [, year, month, day] = SHAPE.exec(rfc) ?? []
  if (year === undefined) return false
  const date = new Date(Date.UTC(2000 + Number(year), Number(month) - 1, Number(day)))
  return date.getUTCMonth() === Number(month) - 1
}

/** The check digit of the first characters of an RFC. Some real RFCs end with another one. */
export function checkDigit(rfc: string): string {
  const padded = rfc.padStart(13, ' ')
  let sum = 0
  for (let at = 0; at < 12; at++) sum += VALUES.indexOf(padded[at]!) * (13 - at)
  const digit = 11 - (sum % 11)
  return digit === 11 ? '0' : digit === 10 ? 'A' : String(digit)
}

export const hasValidCheckDigit = (rfc: string): boolean => rfc.at(-1) === checkDigit(rfc)
