import { askersOf } from '../../visibility/askers.ts'

/** An open job: its RFC, and who asked for it, also those that wait for a login, as a JSON array. Null when there is none. */
export const openJob = (ledger: D1Database, entity: number, source: string, month: string) =>
  ledger
    .prepare(
      `select (select json_group_array(value) from (select value from json_each(${askersOf('s')}) union select key from json_each(s.carried)))
           as organizations, s.job_id, (select rfc from entities where entity = s.entity) as rfc
         from sync_jobs s where s.entity = ?1 and s.source = ?2 and s.month = ?3 and s.open = 1 order by s.job_id desc limit 1`,
    )
    .bind(entity, source, month)
    .first<{ organizations: string; job_id: string; rfc: string }>()

export interface OverFetch {
  fetch: number
  entity: number
  source: string
  month: string
  files: string
  is_open: number
}

/** Fetches that are over and whose jobs have ended, or sleep although they could go on; with whether the job is open. */
export const overFetches = async (ledger: D1Database, now: number, limit: number) =>
  (
    await ledger
      .prepare(
        `select f.fetch, f.entity, f.source, f.month, f.files, s.job_id is not null as is_open
         from fetches f indexed by fetches_over
         left join sync_jobs s on s.entity = f.entity and s.source = f.source and s.month = f.month and s.open = 1
         where f.state in ('complete', 'failed') and (s.job_id is null or (s.not_before > ?1 and s.error_class is null)) limit ?2`,
      )
      .bind(now, limit)
      .all<OverFetch>()
  ).results

/** Makes an open job due now, unless it waits for a login or after an error. */
export const wakeStatements = (
  ledger: D1Database,
  { entity, source, month }: { entity: number; source: string; month: string },
): D1PreparedStatement[] => [
  ledger
    .prepare('update sync_jobs set not_before = 0 where entity = ?1 and source = ?2 and month = ?3 and open = 1 and error_class is null')
    .bind(entity, source, month),
  ledger.prepare('update sync_work set due_at = 0 where entity = ?1 and due_at > 0').bind(entity),
]
