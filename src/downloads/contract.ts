import * as z from 'zod'
import { Id, Instant, Paging } from '../platform/http/shapes.ts'
import { JOB_STATUSES } from './jobs/tables.ts'

export const SyncJob = z
  .strictObject({
    job_id: Id('job').meta({ description: 'The identifier that this connection has for the job.' }),
    data_source_key: z.string(),
    period: z.string().nullable().meta({ description: 'The month, `YYYY-MM`; null for document sources.' }),
    status: z.enum(JOB_STATUSES).meta({
      description:
        'All jobs of the RFC that a worker has taken are `running`; it does one after the other. A job is `waiting` after an attempt that ' +
        'failed, which error_class and next_attempt_at tell more of, while the tax authority prepares what it was asked for, and while the ' +
        'connection is not active, even if it goes on for others.',
    }),
    attempts: z.int().meta({ description: 'Attempts since the organization’s own run asked for the job.' }),
    created_count: z.int().meta({
      description:
        'Number of documents that are new to your organization since its previous successful job of this source and month, as in the ' +
        'event. For CFDIs, this and the next two counts cover only the visibility window. Until a job succeeds, they cover its own ' +
        'download.',
    }),
    updated_count: z.int().meta({ description: 'Number of CFDIs from before the previous job that have got their XML since then.' }),
    cancelled_count: z
      .int()
      .meta({ description: 'Number of CFDIs from before the previous job that have been found cancelled since then.' }),
    rejected_count: z.int().meta({
      description: 'Number of files, and of rows of metadata, that could not be kept. The window does not limit it.',
    }),
    rejected_files: z
      .array(z.strictObject({ name: z.string(), line: z.int().nullable(), code: z.string() }).meta({ id: 'RejectedFile' }))
      .meta({
        description:
          'The first 100 of them, once the job has finished, without those whose documents the window hides. A row of metadata has the ' +
          'line on which it begins. The month of a job that has any is not complete.',
      }),
    error_class: z.string().nullable().meta({
      description: 'Why the last attempt failed: invalid_credentials, login_failed, sat_unavailable, rate_limited or internal_error.',
    }),
    last_code: z.string().nullable().meta({
      description: 'error_class with a sentence. The coverage of the month has it too, unless the tax authority gave a code.',
    }),
    next_attempt_at: Instant.nullable().meta({
      description: 'When the next attempt begins, of a job that waits after a failed attempt or for the tax authority; otherwise null.',
    }),
    created_at: Instant.meta({
      description: 'When the first of the organization’s runs asked for the job. No other time of it is earlier.',
    }),
    started_at: Instant.nullable(),
    finished_at: Instant.nullable(),
  })
  .meta({ id: 'SyncJob' })
export type SyncJob = z.infer<typeof SyncJob>

/** A job without its results. */
export const JobState = SyncJob.omit({
  created_count: true,
  updated_count: true,
  cancelled_count: true,
  rejected_count: true,
  rejected_files: true,
})
export type JobState = z.infer<typeof JobState>

export const SyncJobQuery = z.strictObject({ ...Paging, status: z.enum(JOB_STATUSES).optional() })
export type SyncJobQuery = z.infer<typeof SyncJobQuery>
