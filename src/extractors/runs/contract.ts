import * as z from 'zod'
import { Id, Instant, Paging } from '../../platform/http/shapes.ts'
import { RUN_TRIGGERS } from './tables.ts'

export const ExtractorRun = z
  .strictObject({
    status: z.enum(['dispatched', 'no_connections']),
    connections: z.int().meta({ description: 'Active RFCs that the run covered.' }),
    dispatched: z.int().meta({ description: 'Downloads sent to the tax authority.' }),
  })
  .meta({ id: 'ExtractorRun' })
export type ExtractorRun = z.infer<typeof ExtractorRun>

export const Run = z
  .strictObject({
    run_id: Id('run'),
    extractor_id: Id('ext'),
    trigger: z.enum(RUN_TRIGGERS),
    local_date: z.iso.date().nullable().meta({ description: 'Of a scheduled run: the local day that it is for. There is one for each.' }),
    fiscal_entity_id: Id('fe').nullable().meta({ description: 'The one RFC that it is about; null for all of the organization’s.' }),
    started_at: Instant.meta({ description: 'Its instant: decides ranges and windows.' }),
    status: z.enum(['planned', 'dispatched', 'no_connections']),
    connections: z.int(),
    dispatched: z.int(),
  })
  .meta({ id: 'Run' })
export type Run = z.infer<typeof Run>

export const RunQuery = z.strictObject(Paging)
export type RunQuery = z.infer<typeof RunQuery>
