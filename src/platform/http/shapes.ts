import * as z from 'zod'
import { doc } from '#doc'
import { isId, type Prefix } from '../db/id.ts'
import type { JsonSchema } from './validation/json-schema.ts'

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
  limit: integerParameter(1, 100, 25).meta({ description: doc('The greatest number of items in the page.') }),
  cursor: z
    .string()
    .optional()
    .meta({ description: doc('The next_cursor of the previous page. It is valid only with the same filters.') }),
}

/** The envelope of every list. */
export const pageOf = <T extends z.ZodType>(item: T) =>
  z.strictObject({
    data: z.array(item),
    has_more: z.boolean(),
    next_cursor: z.string().nullable(),
  })

/** Text that is trimmed before its length in code points is checked. */
export const trimmedText = (min: number, max: number) =>
  documented(
    z
      .string()
      .transform((text) => text.trim())
      .refine((text) => lengthOf(text) >= min && lengthOf(text) <= max)
      .refine((text) => !/[\u0000-\u001f\u007f]/.test(text), 'Must not contain control characters.'),
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
