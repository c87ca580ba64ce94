import * as z from 'zod'

/** A column of a table: its heading, and the way to its value in a row. */
export interface Column {
  heading: string
  path: readonly string[]
}

const isPlain = (item: z.ZodType): boolean => item instanceof z.ZodString || item instanceof z.ZodEnum || item instanceof z.ZodNumber

/** The member that a list of objects shows in its one column. */
const NAMED_BY = 'code'

/**
 * The columns of rows of a shape: an object inside a row has a column for each of its members, `counterparty.rfc`. A list of objects with a
 * code has a column with their codes, `flags.code`. Other lists of objects, and records, such as `drilldown`, have none.
 */
export function columnsOf(row: z.ZodType, path: readonly string[] = []): Column[] {
  const inner = row instanceof z.ZodNullable || row instanceof z.ZodOptional ? (row.unwrap() as z.ZodType) : row
  if (inner !== row) return columnsOf(inner, path)
  if (row instanceof z.ZodArray && row.element instanceof z.ZodObject && NAMED_BY in row.element.shape)
    return [{ heading: [...path, NAMED_BY].join('.'), path: [...path, NAMED_BY] }]
  if (row instanceof z.ZodRecord || (row instanceof z.ZodArray && !isPlain(row.element as z.ZodType))) return []
  if (!(row instanceof z.ZodObject)) return [{ heading: path.join('.'), path }]
  return Object.entries(row.shape as Record<string, z.ZodType>).flatMap(([name, member]) => columnsOf(member, [...path, name]))
}

/** Formats rows as CSV (RFC 4180), with a heading. A list inside a row is one value, with spaces between its items. */
export function csvOf(columns: readonly Column[], rows: readonly unknown[]): string {
  return [columns.map(({ heading }) => heading), ...rows.map((row) => columns.map(({ path }) => at(row, path)))].map(csvLine).join('')
}

/** A line of a table, with its end. */
export const csvLine = (values: readonly unknown[]): string => `${values.map(cell).join(',')}\r\n`

/** The value of a column in a row. */
export const at = (row: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>((value, name) => (Array.isArray(value) ? value.map((one) => member(one, name)) : member(value, name)), row)

const member = (value: unknown, name: string): unknown => (value as Record<string, unknown> | null | undefined)?.[name]

const NUMBER = /^-?\d+(\.\d+)?$/
/** A spreadsheet takes text that begins so for a formula, also in full width or after marks that nobody sees. */
const FORMULA = /^[\s\p{Cf}]*[=+\-@|\uff1d\uff0b\uff0d\uff20\uff5c]|^[\t\r]/u

/** A value as one text: the items of a list with spaces between them. */
export const cellText = (value: unknown): string =>
  value === null || value === undefined ? '' : Array.isArray(value) ? value.join(' ') : String(value)

function cell(value: unknown): string {
  const text = cellText(value)
  const safe = FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
