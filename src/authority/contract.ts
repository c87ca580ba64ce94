import * as z from 'zod'
import { DATA_SOURCE_KEYS } from './port/catalog.ts'

export const DataSource = z
  .strictObject({
    key: z.enum(DATA_SOURCE_KEYS),
    label: z.string().meta({ description: 'Its name in Spanish.', examples: ['CFDI emitidos'] }),
    description: z.string(),
    kind: z.enum(['cfdi', 'document']).meta({ description: 'Whether it delivers CFDIs, month by month, or files.' }),
    is_mandatory: z.boolean().meta({ description: 'Added to every extractor and every connection, whether sent or not.' }),
    is_premium: z.boolean().meta({ description: 'Not fetched unless it is chosen.' }),
    is_active: z.boolean().meta({ description: 'An inactive source cannot be chosen.' }),
  })
  .meta({ id: 'DataSource' })
export type DataSource = z.infer<typeof DataSource>
