import * as z from 'zod'
import { doc } from '#doc'
import { Id, Instant, Paging } from '../../platform/http/shapes.ts'
import { RUN_TRIGGERS } from './tables.ts'

export const ExtractorRun = z
  .strictObject({
    status: z.enum(['dispatched', 'no_connections']),
    connections: z.int().meta({ description: doc('Number of active RFCs that the run covered.') }),
    dispatched: z.int().meta({
      description: doc(
        'Number of RFCs for which the run queued at least one new download. A run over thousands of RFCs goes on after the answer, which ' +
          'then counts those up to it; `GET /v1/extractors/{extractor_id}/runs` has the final number.',
      ),
    }),
  })
  .meta({ id: 'ExtractorRun' })
export type ExtractorRun = z.infer<typeof ExtractorRun>

export const Run = z
  .strictObject({
    run_id: Id('run'),
    extractor_id: Id('ext'),
    trigger: z.enum(RUN_TRIGGERS),
    local_date: z.iso
      .date()
      .nullable()
      .meta({
        description: doc(
          'The local date on which a scheduled run was due; null for other triggers, and for a run that makes up for one. Each date has ' +
            'one run.',
        ),
      }),
    fiscal_entity_id: Id('fe')
      .nullable()
      .meta({
        description: doc(
          'The only fiscal entity that the run covers; null when it covers all of the organization’s. A run leaves an RFC out while its ' +
            'CIEC or e.firma is to be verified, and a planned run of that RFC alone makes up for it.',
        ),
      }),
    started_at: Instant.meta({ description: doc('The instant from which the run’s date range and the visibility windows are computed.') }),
    status: z
      .enum(['planned', 'dispatched', 'no_connections'])
      .meta({ description: doc('`planned` until the run has covered all RFCs; the numbers are then those of the RFCs covered so far.') }),
    connections: z.int(),
    dispatched: z.int(),
    gap_jobs: z.int().meta({
      description: doc(
        'Number of downloads that the run asked for beside its range and does not count in `dispatched`: the months, of each data ' +
          'source, between the last extraction of an RFC and the range, when the RFC is active again after longer than the run reaches.',
      ),
    }),
  })
  .meta({ id: 'Run' })
export type Run = z.infer<typeof Run>

export const RunQuery = z.strictObject(Paging)
export type RunQuery = z.infer<typeof RunQuery>
