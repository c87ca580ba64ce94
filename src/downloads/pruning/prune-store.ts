import { askersOf } from '../../visibility/askers.ts'

/** Returns the next partitions whose number without its sign, modulo `turns`, is `turn`, in ascending order. */
export const entitiesOfTurn = async (ledger: D1Database, turn: number, turns: number, after: number, limit: number): Promise<number[]> =>
  (
    await ledger
      .prepare('select entity from entities where entity > ?1 and abs(entity) % ?2 = ?3 order by entity limit ?4')
      .bind(after, turns, turn, limit)
      .raw<[number]>()
  ).flat()

/** The organizations that the entity's jobs name. */
const KNOWN = `(select distinct o.value as organization_id from sync_jobs s, json_each(${askersOf('s')}) o where s.entity = ?1)`

/** A job of an entity as one value: `not in` walks the whole list for each job when it compares several. */
const keyOf = (job: string): string => `${job}.source || ' ' || ${job}.month || ' ' || ${job}.job_id`

/**
 * The jobs that finished before an instant, ?2, and that no extraction refers to, without the newest of each source and month. Only
 * organizations that its jobs name can have such extractions.
 */
const OBSOLETE = `obsolete as materialized (
  select source, month, job_id, brought from sync_jobs s
  where entity = ?1 and open = 0 and finished_at < ?2
    and job_id < (select max(job_id) from sync_jobs k where k.entity = s.entity and k.source = s.source and k.month = s.month)
    and ${keyOf('s')} not in (
      select x.key || ' ' || m.value || ' ' || j.key
      from ${KNOWN} known
      cross join extractions e on e.organization_id = known.organization_id and e.entity = ?1
      cross join json_each(e.jobs) j cross join json_each(j.value) x cross join json_each(x.value) m))`

/**
 * Deletes the entity's jobs that finished before an instant and in which nothing changed for any of their organizations: each has, since
 * the last job that brought something, another job that succeeded, from which later counts go on (counts-store.ts). The newest job of each
 * source and month stays, and so does all while a job is not relayed.
 */
export const deleteQuietJobs = (ledger: D1Database, entity: number, before: number): D1PreparedStatement =>
  ledger
    .prepare(
      `with jobs as materialized (
         select source, month, job_id, status, ${askersOf('sync_jobs')} as organizations, finished_at,
           status = 'succeeded' and brought = '[]' and created_count + updated_count + cancelled_count + rejected_count = 0 as is_quiet,
           max(iif(brought <> '[]' or created_count > 0, job_id, null))
             over (partition by source, month order by job_id rows between unbounded preceding and 1 preceding) as changed
         from sync_jobs where entity = ?1 and created_at < ?2),
       named as materialized (
         select j.source, j.month, o.value as organization_id, j.job_id, lag(j.job_id)
           over (partition by j.source, j.month, o.value order by j.job_id) as previous
         from jobs j cross join json_each(j.organizations) o where j.status = 'succeeded')
       delete from sync_jobs where entity = ?1 and (source, month, job_id) in (
         select j.source, j.month, j.job_id from jobs j
         where j.is_quiet and j.finished_at < ?2
           and j.job_id < (select max(job_id) from sync_jobs k where k.entity = ?1 and k.source = j.source and k.month = j.month) and ${keyOf('j')} not in (
           select ${keyOf('n')} from named n join jobs k using (source, month, job_id)
           where coalesce(n.previous, '') < coalesce(k.changed, '0')))
         and not exists (select 1 from outbox where entity = ?1 and kind = 'jobs')
         and not exists (select 1 from sync_work where entity = ?1 and token is not null)`,
    )
    .bind(entity, before)

/**
 * Deletes extractions from before an instant whose jobs are all forgotten, once a later extraction of the organization has a watermark for
 * each of their sources.
 */
export const deleteQuietExtractions = (ledger: D1Database, entity: number, before: number): D1PreparedStatement =>
  ledger
    .prepare(
      `delete from extractions where (organization_id, entity, run_id) in (
         select e.organization_id, e.entity, e.run_id
         from ${KNOWN} known
         cross join extractions e on e.organization_id = known.organization_id and e.entity = ?1
         where e.requested_at < ?2
           and not exists (
             select 1 from json_each(e.jobs) j cross join json_each(j.value) x cross join json_each(x.value) m
             cross join sync_jobs s on s.entity = ?1 and s.source = x.key and s.month = m.value and s.job_id = j.key)
           and not exists (
             select 1 from json_each(e.jobs) j cross join json_each(j.value) x where not exists (
               select 1 from extractions l
               where l.organization_id = e.organization_id and l.entity = ?1 and l.run_id > e.run_id
                 and exists (select 1 from json_each(l.jobs) i where i.value -> x.key is not null)
                 and not exists (
                   select 1 from json_each(l.jobs) i cross join json_each(i.value -> x.key) m
                   cross join sync_jobs s on s.entity = ?1 and s.source = x.key and s.month = m.value and s.job_id = i.key
                   where s.status <> 'succeeded'))))`,
    )
    .bind(entity, before)

/**
 * Deletes the jobs that finished before an instant and that no extraction refers to. What each brought, counted by day, moves to the next
 * job of its source and month that stays, because later counts are sums over all jobs (counts-store.ts).
 */
export const deleteJobs = (ledger: D1Database, entity: number, before: number): D1PreparedStatement[] => [
  ledger
    .prepare(
      `with ${OBSOLETE},
       moved as materialized (
         select s.source, s.month,
           (select min(job_id) from sync_jobs k where k.entity = ?1 and k.source = s.source and k.month = s.month and k.job_id > s.job_id
              and ${keyOf('k')} not in (select ${keyOf('o')} from obsolete o)) as heir,
           (select json_group_array(json(iif(stored > last, json_array(what, day, count, first, last, stored),
              json_array(what, day, count, first, last)))) from (
              select c.value->>0 as what, c.value->>1 as day, sum(c.value->>2) as count, min(c.value->>3) as first, max(c.value->>4) as last,
                max(c.value->>5) as stored
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
