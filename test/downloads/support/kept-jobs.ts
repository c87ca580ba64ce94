import type { SliceCounts } from '../../../src/taxpayers/visibility/slice-counts.ts'

/** A job as a row, past the front door. */
export interface KeptJob {
  entity: number
  source: string
  month: string
  job_id: string
  organizations: readonly string[]
  brought: readonly SliceCounts[]
  status?: 'queued' | 'succeeded' | 'failed'
  finished_at?: number
  created_at?: number
}

export const keepJobs = async (ledger: D1Database, jobs: readonly KeptJob[]): Promise<void> => {
  const rows = jobs.map((job) => ({ status: 'succeeded', finished_at: 0, created_at: 0, ...job }))
  await ledger
    .prepare(
      `insert into sync_jobs (entity, source, month, job_id, organizations, open, error_class, as_of, not_before, attempts, created_after,
         finished_after, created_count, updated_count, cancelled_count, rejected_count, brought)
       select value->>'entity', value->>'source', value->>'month', value->>'job_id', value->'organizations', value->>'status' = 'queued',
         iif(value->>'status' = 'failed', 'internal_error', null), 0, 0, 1, value->>'created_at', iif(value->>'status' = 'queued', null, (value->>'finished_at') - (value->>'created_at')), 0, 0, 0, 0,
         value->'brought' from json_each(?)`,
    )
    .bind(JSON.stringify(rows))
    .run()
}
