import * as z from 'zod'
import { isId, type Prefix } from '../db/id.ts'
import type { JsonSchema } from './validation/json-schema.ts'
import { textFault } from './validation/texts.ts'

export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Documents a schema with this JSON Schema instead of the one that zod derives. Messages about its faults follow it too. */
export const documented = <S extends z.ZodType>(schema: S, json: JsonSchema): S => schema.meta({ documented: json })

/** Documents a schema as another one, as this one is sent: in a reply too. */
export const documentedAs = <S extends z.ZodType>(schema: S, other: z.ZodType): S => schema.meta({ documented: other })

/** A TypeID in an answer or a request. */
export const Id = (prefix: Prefix) =>
  z
    .string()
    .refine((text) => isId(prefix, text), `Must be an identifier with the prefix ${prefix}_.`)
    .meta({ examples: [`${prefix}_01kabcdefghjkmnpqrstvwxyz0`] })

/** An integer in a query. */
export const integerParameter = (min: number, max: number, standard: number) =>
  documented(
    z
      .string()
      .regex(/^\d{1,6}$/)
      .transform(Number)
      .pipe(z.int().min(min).max(max))
      .default(standard),
    { type: 'integer', minimum: min, maximum: max, default: standard },
  )

/** `limit` and `cursor` of every list. */
export const Paging = {
  limit: integerParameter(1, 100, 25).meta({ description: 'The greatest number of items in the page.' }),
  cursor: z
    .string()
    .optional()
    .meta({ description: 'The next_cursor of the previous page, at most 1,000 characters. It is valid only with the same filters.' }),
}

/** The members of every list beside `data`. */
export const pageMembers = {
  has_more: z.boolean().meta({ description: 'Whether more follows.' }),
  next_cursor: z.string().nullable().meta({ description: 'The `cursor` of the next page. Null on the last one.' }),
}

/** The envelope of every list. */
export const pageOf = <T extends z.ZodType>(item: T) => z.strictObject({ data: z.array(item), ...pageMembers })

/** Line ends, and characters that change the direction of the text after them, count as control characters. */
const CONTROL = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u
const VISIBLE = /[^\p{Z}\p{C}\p{M}\p{Default_Ignorable_Code_Point}]/u

/** The fault of a text that people are to read as a name; null without one. An empty text has none. */
function nameFault(text: string): string | null {
  if (!text.isWellFormed()) return textFault(text)
  if (CONTROL.test(text)) return 'Must not contain control characters.'
  return text === '' || VISIBLE.test(text) ? null : 'Must contain a visible character.'
}

/** A name, or another line that people read: trimmed before its length in code points is checked. */
export const trimmedText = (min: number, max: number) =>
  documented(
    z
      .string()
      .transform((text) => text.trim())
      .refine((text) => lengthOf(text) >= min && lengthOf(text) <= max)
      .superRefine((text, context) => {
        const message = nameFault(text)
        if (message) context.addIssue({ code: 'custom', message })
      }),
    { type: 'string', minLength: min, maxLength: max },
  )

/** One e-mail address without a display name. It is trimmed. */
export const Email = documented(z.string().trim().pipe(z.email().max(254)), {
  type: 'string',
  format: 'email',
  maxLength: 254,
})

const lengthOf = (text: string): number => [...text].length

export const Instant = z.iso.datetime({ offset: true })

const isInYears = (text: string): boolean => /^2[01]/.test(text)
const YEARS = 'Must be in a year from 2000 to 2199.'

const DAY_MS = 86_400_000

/** Whether a day, an instant or an amount comes after another. A day and an instant are compared as far as no time zone can change it. */
function isAfter(from: string, to: string): boolean {
  if (!from.includes('-')) return Number(from) > Number(to)
  const slack = from.length > 10 === to.length > 10 ? 0 : 2 * DAY_MS
  return Date.parse(from) - Date.parse(to) > slack
}

/** The refinement of a query with ranges: none may begin after its end, because nothing would be in it. */
export const requireOrder =
  (...ranges: readonly (readonly [from: string, to: string])[]) =>
  (query: object, context: z.RefinementCtx): void => {
    const given = query as Record<string, string | undefined>
    for (const [from, to] of ranges)
      if (given[from] !== undefined && given[to] !== undefined && isAfter(given[from], given[to]))
        context.addIssue({ code: 'custom', path: [from], message: `Must not be ${to.endsWith('_max') ? 'more than' : 'after'} \`${to}\`.` })
  }

/** A day in a request. */
export const GivenDay = z.iso.date({ abort: true }).refine(isInYears, YEARS)
/** `2026-01-31T18:00:00.123456789-06:00`. Without a limit the fraction of the second could be as long as the body. */
const LONGEST_INSTANT = 35

/** An instant in a request. */
export const GivenInstant = z.iso
  .datetime({ offset: true, abort: true })
  .refine((text) => text.length <= LONGEST_INSTANT, { error: 'Must have at most nine digits after the second.', abort: true })
  .refine(isInYears, YEARS)

/** A remark to the caller about a request that was carried out. */
export const Warning = z.strictObject({ code: z.string(), message: z.string() })
