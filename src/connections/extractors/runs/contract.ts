import * as z from 'zod'
import { DATA_SOURCE_KEYS } from '../../../authority/port/authority.ts'
import { JobState, SyncJobQuery } from '../../../downloads/contract.ts'
import { GivenDay, Id, Instant, Paging } from '../../../platform/http/shapes.ts'
import { CfdiWindows } from '../../../taxpayers/visibility/contract.ts'
import { RUN_STATES, RUN_TRIGGERS } from '../../tables.ts'

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
      description:
        'The windows that the organization would have after the run. The first extractor of an organization ends its full visibility.',
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

export const ExtractorRun = z
  .strictObject({
    run_id: Id('run').nullable().meta({
      description: 'The run, for `GET /v1/runs/{run_id}`; null when the organization has no active RFC, because nothing ran.',
    }),
    status: z.enum(['dispatched', 'no_connections']),
    connections: z.int().meta({ description: 'Number of active RFCs that the run covered.' }),
    dispatched: z.int().meta({
      description:
        'Number of RFCs for which the run queued at least one new download. A run over thousands of RFCs goes on after the answer, which ' +
        'then counts those up to it; `GET /v1/extractors/{extractor_id}/runs` has the final number.',
    }),
  })
  .meta({ id: 'ExtractorRun' })
export type ExtractorRun = z.infer<typeof ExtractorRun>

const run = {
  run_id: Id('run'),
  extractor_id: Id('ext').nullable().meta({ description: 'The extractor; null for a range that was asked for, which is of none.' }),
  trigger: z.enum(RUN_TRIGGERS).meta({ description: 'What started it; `extraction` for a range that was asked for.' }),
  local_date: z.iso
    .date()
    .nullable()
    .meta({
      description:
        'The local date on which a scheduled run was due; null for other triggers, and for a run that makes up for one. Each date has ' +
        'one run.',
    }),
  fiscal_entity_id: Id('fe')
    .nullable()
    .meta({
      description:
        'The only fiscal entity that the run covers; null when it covers all of the organization’s. A run leaves an RFC out while its ' +
        'CIEC or e.firma is to be verified, and a planned run of that RFC alone makes up for it.',
    }),
  started_at: Instant.meta({ description: 'The instant from which the run’s date range and the visibility windows are computed.' }),
  status: z.enum(RUN_STATES).meta({
    description:
      '`planned` until the run has covered all RFCs; the numbers are then those of the RFCs covered so far. `cancelled`: it was cancelled before ' +
      'all of it had ended, and covers no further RFCs.',
  }),
  connections: z.int().meta({
    description:
      'How many RFCs the run covers. To a credential that is bound to RFCs, the numbers of a run over all of them are shown as 0.',
  }),
  dispatched: z.int(),
  gap_jobs: z.int().meta({
    description:
      'Number of downloads that the run asked for beside its range and does not count in `dispatched`: the months, of each data ' +
      'source, between the last extraction of an RFC and the range, when the RFC is active again after longer than the run reaches.',
  }),
}

export const Run = z.strictObject(run).meta({ id: 'Run' })
export type Run = z.infer<typeof Run>

export const RUN_OUTCOMES = ['succeeded', 'partly_failed', 'failed', 'cancelled', 'nothing'] as const

const counted = (text: string | undefined) => z.int().meta({ description: text })

export const RunProgress = z
  .strictObject({
    ...run,
    data_source_keys: z
      .array(z.string())
      .nullable()
      .meta({ description: 'The data sources of a range that was asked for; null for the run of an extractor.' }),
    from: z.iso.date().nullable().meta({ description: 'The first day of a range that was asked for; null otherwise.' }),
    to: z.iso.date().nullable().meta({ description: 'The last day of a range that was asked for; null otherwise.' }),
    jobs: z
      .strictObject({
        queued: counted('Jobs that begin as soon as a worker is free.'),
        running: counted('Jobs that a worker has taken.'),
        waiting: counted('Jobs that wait: for the tax authority, after a failed attempt, or for a connection that is active.'),
        succeeded: counted('Jobs that ended successfully.'),
        failed: counted('Jobs that failed.'),
        total: counted('All of them.'),
      })
      .meta({ id: 'RunJobCounts', description: 'The jobs that the run created, joined or found finished.' }),
    outcome: z
      .enum(RUN_OUTCOMES)
      .nullable()
      .meta({
        description:
          'How it ended; null while jobs are open. `cancelled`: it was cancelled, and all of its jobs were withdrawn; of a cancelled run with jobs ' +
          'that went on, how these ended. `nothing`: the run asked for no job.',
      }),
    error_class: z
      .string()
      .nullable()
      .meta({ description: 'The most frequent reason why downloads failed or are failing; null when none failed.' }),
    completed_at: Instant.nullable().meta({
      description:
        'When its last job ended, or it was cancelled, if all of its jobs were withdrawn; null while jobs are open, and when it asked for none.',
    }),
  })
  .meta({ id: 'RunProgress' })
export type RunProgress = z.infer<typeof RunProgress>

export const RunJob = JobState.extend({ fiscal_entity_id: Id('fe') }).meta({
  id: 'RunJob',
  description: 'A download that a run asked for, as `GET /v1/fiscal-entities/{fiscal_entity_id}/sync-jobs` shows it with what it brought.',
})
export type RunJob = z.infer<typeof RunJob>

export const RunJobQuery = SyncJobQuery
export type RunJobQuery = z.infer<typeof RunJobQuery>

export const CancelledRun = RunProgress.extend({
  withdrawn_jobs: counted('Number of downloads that were withdrawn.'),
}).meta({ id: 'CancelledRun' })
export type CancelledRun = z.infer<typeof CancelledRun>

export const ExtractionDraft = z
  .strictObject({
    data_source_keys: z
      .array(z.string().max(64))
      .min(1)
      .max(50)
      .meta({ description: 'The data sources to download. They must be enabled for the connection.' }),
    from: GivenDay.meta({
      description: 'The first day, from 2018-01-01 on. Whole months are downloaded; the window begins on this day.',
    }),
    to: GivenDay.optional().meta({ description: 'The last day; by default today. Later months are not downloaded.' }),
  })
  .meta({ id: 'ExtractionDraft' })
export type ExtractionDraft = z.infer<typeof ExtractionDraft>

export const RunPath = z.strictObject({ run_id: Id('run') })

export const RunQuery = z.strictObject(Paging)
export type RunQuery = z.infer<typeof RunQuery>
