import * as z from 'zod'

/** A column of a table: its heading, and the way to its value in a row. */
export interface Column {
  heading: string
  path: readonly string[]
}

const isPlain = (item: z.ZodType): boolean => item instanceof z.ZodString || item instanceof z.ZodEnum || item instanceof z.ZodNumber

/**
 * The columns of rows of a shape: an object inside a row has a column for each of its members, `counterparty.rfc`. Lists of objects and
 * records, such as `drilldown`, have none.
 */
export function columnsOf(row: z.ZodType, path: readonly string[] = []): Column[] {
  const inner = row instanceof z.ZodNullable || row instanceof z.ZodOptional ? (row.unwrap() as z.ZodType) : row
  if (inner !== row) return columnsOf(inner, path)
  if (row instanceof z.ZodRecord || (row instanceof z.ZodArray && !isPlain(row.element as z.ZodType))) return []
  if (!(row instanceof z.ZodObject)) return [{ heading: path.join('.'), path }]
  return Object.entries(row.shape as Record<string, z.ZodType>).flatMap(([name, member]) => columnsOf(member, [...path, name]))
}

/** Formats rows as CSV (RFC 4180), with a heading. A list inside a row is one value, with spaces between its items. */
export function csvOf(columns: readonly Column[], rows: readonly unknown[]): string {
  const lines = [columns.map(({ heading }) => cell(heading)), ...rows.map((row) => columns.map(({ path }) => cell(at(row, path))))]
  return lines.map((cells) => `${cells.join(',')}\r\n`).join('')
}

const at = (row: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>((value, name) => (value as Record<string, unknown> | null | undefined)?.[name], row)

const NUMBER = /^-?\d+(\.\d+)?$/
/** A spreadsheet takes text that begins so for a formula, also in full width or after marks that nobody sees. */
const FORMULA = /^[\s\u200b-\u200f\u2060\ufeff]*[=+\-@|\uff1d\uff0b\uff0d\uff20\uff5c]|^[\t\r]/

function cell(value: unknown): string {
  if (value === null || value === undefined) return ''
  const text = Array.isArray(value) ? value.join(' ') : String(value)
  const safe = FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
