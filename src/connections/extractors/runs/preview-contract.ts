import * as z from 'zod'
import { DATA_SOURCE_KEYS } from '../../../authority/port/catalog.ts'
import { Id, Instant } from '../../../platform/http/shapes.ts'
import { CfdiWindows } from '../../../taxpayers/visibility/contract.ts'

const counts = {
  months: z.int().meta({ description: 'Months of CFDIs that the run covers. A month that others have downloaded meanwhile is joined.' }),
  readable_months: z.int().meta({ description: 'How many of them the windows show already.' }),
  new_months: z.int().meta({ description: 'How many of them the windows do not show, or not from their first day.' }),
  documents: z.int().meta({ description: 'Downloads of sources other than CFDIs, one for each RFC and source.' }),
}

const PreviewedSource = z.strictObject({ data_source_key: z.enum(DATA_SOURCE_KEYS), ...counts }).meta({ id: 'PreviewedSource' })
export type PreviewedSource = z.infer<typeof PreviewedSource>

const PreviewedRfc = z
  .strictObject({
    fiscal_entity_id: Id('fe'),
    rfc: z.string(),
    sources: z.array(PreviewedSource),
    windows: CfdiWindows.meta({ description: 'What the organization can read now.' }),
    windows_after: CfdiWindows.meta({
      description: 'What it could read after the run. The first extractor of an organization ends that everything is visible.',
    }),
  })
  .meta({ id: 'PreviewedRfc' })
export type PreviewedRfc = z.infer<typeof PreviewedRfc>

export const ExtractorPreview = z
  .strictObject({
    next_runs: z.array(Instant).meta({
      description:
        'The scheduled runs of the next 92 days, and at least five. Empty when the extractor is disabled or not scheduled: then the figures are those of a run now.',
    }),
    rfc_count: z.int().meta({ description: 'Active RFCs that the run would cover. The figures add up all of them.' }),
    truncated: z.boolean().meta({ description: 'Whether there are more than 1,000 active RFCs. Only the first 1,000 are looked at.' }),
    totals: z.strictObject(counts),
    sources: z.array(PreviewedSource).meta({ description: 'The same for each data source.' }),
    rfcs: z.array(PreviewedRfc).meta({ description: 'The same for each RFC, at most 100.' }),
  })
  .meta({ id: 'ExtractorPreview' })
export type ExtractorPreview = z.infer<typeof ExtractorPreview>
