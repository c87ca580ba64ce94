/** Returns the next partitions whose number without its sign, modulo `turns`, is `turn`, in ascending order. */
export const entitiesOfTurn = async (ledger: D1Database, turn: number, turns: number, after: number, limit: number): Promise<number[]> =>
  (
    await ledger
      .prepare('select entity from entities where entity > ?1 and abs(entity) % ?2 = ?3 order by entity limit ?4')
      .bind(after, turns, turn, limit)
      .raw<[number]>()
  ).flat()

const SAME_CELL = 'k.entity = s.entity and k.source = s.source and k.month = s.month'

/**
 * The entity's jobs that finished before an instant and that no extraction refers to, without the newest of each source and month. Only
 * organizations that its jobs name can have such extractions.
 */
const OBSOLETE = `obsolete as materialized (
  select source, month, job_id, brought from sync_jobs s
  where entity = ?1 and open = 0 and finished_at < ?2
    and job_id < (select max(job_id) from sync_jobs k where ${SAME_CELL})
    and job_id not in (
      select m.value
      from (select distinct o.value as organization_id from sync_jobs s, json_each(s.organizations) o where s.entity = ?1) known
      cross join extractions e on e.organization_id = known.organization_id and e.entity = ?1
      cross join json_each(e.jobs) x
      cross join json_each(x.value) m))`

/**
 * Deletes these jobs. What each brought, counted by day, moves to the next job of its source and month that stays, because later counts are
 * sums over all jobs (counts-store.ts).
 */
export const deleteJobs = (ledger: D1Database, entity: number, before: number): D1PreparedStatement[] => [
  ledger
    .prepare(
      `with ${OBSOLETE},
       moved as materialized (
         select s.source, s.month,
           (select min(job_id) from sync_jobs k where k.entity = ?1 and k.source = s.source and k.month = s.month and k.job_id > s.job_id
              and k.job_id not in (select job_id from obsolete)) as heir,
           (select json_group_array(json_array(what, day, count, first, last)) from (
              select c.value->>0 as what, c.value->>1 as day, sum(c.value->>2) as count, min(c.value->>3) as first, max(c.value->>4) as last
              from json_each(s.brought) b cross join json_each(b.value) c group by 1, 2)) as slice
         from obsolete s where s.brought <> '[]')
       update sync_jobs set brought = (
         select json_group_array(json(value)) from (
           select value from json_each(sync_jobs.brought)
           union all
           select slice from moved s where s.source = sync_jobs.source and s.month = sync_jobs.month and s.heir = sync_jobs.job_id))
       where entity = ?1 and (source, month, job_id) in (select source, month, heir from moved)`,
    )
    .bind(entity, before),
  ledger
    .prepare(
      `with ${OBSOLETE}
       delete from sync_jobs where entity = ?1 and (source, month, job_id) in (select source, month, job_id from obsolete)`,
    )
    .bind(entity, before),
]

/** Deletes an entity's cancellations that were found before an instant. */
export const deleteCancellations = (ledger: D1Database, entity: number, before: number): D1PreparedStatement =>
  ledger.prepare('delete from cancellations where entity = ?1 and found_at < ?2').bind(entity, before)
