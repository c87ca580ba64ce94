import * as z from 'zod'
import { documented, Instant, pageOf, trimmedText } from '../../platform/http/shapes.ts'
import { isCustom } from '../catalog.ts'

const Slug = documented(
  z
    .string()
    .refine(
      (text) => isCustom(`custom:${text}`),
      'Must be words of lower-case letters and digits, joined by hyphens, at most 57 characters.',
    ),
  { type: 'string', pattern: '^[a-z0-9]+(-[a-z0-9]+)*$', maxLength: 57, description: 'With it the list is named `custom:<slug>`.' },
)
export const CustomListPath = z.strictObject({ slug: Slug })

export const MOST_CHARACTERS = 300
/** The name of an entry, empty without one. */
export const EntryName = trimmedText(0, MOST_CHARACTERS)

export const CustomListDraft = z.strictObject({ slug: Slug, label: trimmedText(1, 120) }).meta({ id: 'CustomBlacklistDraft' })
export type CustomListDraft = z.infer<typeof CustomListDraft>

export const CustomList = z
  .strictObject({
    source: z.string().meta({ examples: ['custom:vetados'] }),
    slug: z.string(),
    label: z.string(),
    row_count: z.int().meta({ description: 'The number of RFCs.' }),
    version: z.int().meta({ description: 'Incremented with each upload that changes the list.' }),
    uploaded_at: Instant.nullable().meta({ description: 'When the list was last replaced, or created.' }),
  })
  .meta({ id: 'CustomBlacklist' })
export type CustomList = z.infer<typeof CustomList>

export const CustomLists = pageOf(CustomList).meta({ id: 'CustomBlacklists' })
export type CustomLists = z.infer<typeof CustomLists>
