import * as z from 'zod'
import { DATA_SOURCE_KEYS } from './port/authority.ts'

export const DataSource = z
  .strictObject({
    key: z.enum(DATA_SOURCE_KEYS),
    label: z.string().meta({ description: 'The Spanish name.', examples: ['CFDI emitidos'] }),
    description: z.string().meta({ description: 'What the source contains, in Spanish.' }),
    kind: z.enum(['cfdi', 'document']).meta({ description: '`cfdi` sources deliver CFDIs by month, `document` sources deliver files.' }),
    is_mandatory: z.boolean().meta({ description: 'Whether every extractor and every connection includes the source.' }),
    is_premium: z.boolean().meta({ description: 'Whether the source is downloaded only when it is chosen.' }),
    is_active: z.boolean().meta({
      description:
        'Whether the source can be chosen, because the configured tax authority delivers it. A mandatory source that is not active stays in every list and is not downloaded.',
    }),
  })
  .meta({ id: 'DataSource' })
export type DataSource = z.infer<typeof DataSource>

/** The warnings of an answer about its sources, besides its data. */
export const SourceWarnings = z.array(z.strictObject({ code: z.string(), message: z.string() })).meta({
  description:
    '`source.inactive`: this deployment does not download a data source of the answer, so that an empty answer says nothing about the taxpayer.',
})
export type SourceWarnings = z.infer<typeof SourceWarnings>
