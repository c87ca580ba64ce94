import type { syncJobs } from './tables.ts'

export type JobRow = typeof syncJobs.$inferSelect

/** Selects source, month and job of the organization's extractions of an entity. */
const CELLS = `select x.key as source, m.key as month, m.value as job_id
  from extractions e, json_each(e.jobs) x, json_each(x.value) m
  where e.organization_id = ?1 and e.entity = ?2`

/** Counts the latest job of each source and month by status. `last` is the latest `finished_at` in milliseconds. */
export const jobCounts = async (ledger: D1Database, organization_id: string, entity: number) =>
  (
    await ledger
      .prepare(
        `select s.status, count(*) as n, max(s.finished_at) as last
         from (select source, month, max(job_id) as job_id from (${CELLS}) group by source, month) c
         cross join sync_jobs s on s.entity = ?2 and s.source = c.source and s.month = c.month and s.job_id = c.job_id
         group by s.status`,
      )
      .bind(organization_id, entity)
      .all<{ status: string; n: number; last: number | null }>()
  ).results

/** A page of the organization's jobs, newest first. */
export const jobsOfOrganization = async (
  ledger: D1Database,
  organization_id: string,
  entity: number,
  { before, status, limit }: { before: string | null; status: string | null; limit: number },
) =>
  (
    await ledger
      .prepare(
        `select s.* from (select distinct source, month, job_id from (${CELLS}) where ?3 is null or job_id < ?3) c
         cross join sync_jobs s on s.entity = ?2 and s.source = c.source and s.month = c.month and s.job_id = c.job_id
         where ?4 is null or s.status = ?4
         order by s.job_id desc limit ?5`,
      )
      .bind(organization_id, entity, before, status, limit)
      .all<JobRow>()
  ).results
