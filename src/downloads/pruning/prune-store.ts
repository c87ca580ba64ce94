import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { entities } from '../../cfdi/tables.ts'
import { bare } from '../../platform/db/statement.ts'
import { outbox } from '../../platform/outbox/tables.ts'
import { requestersOf } from '../../taxpayers/visibility/jobs.ts'
import { ASKED_FOR, isJob } from '../jobs/key.ts'
import { cancellations, extractions, syncJobs, syncWork } from '../jobs/tables.ts'

/** Returns the next partitions whose number without its sign, modulo `parts`, is `part`, in ascending order. */
export const entitiesOfPart = (part: number, parts: number, after: number, limit: number): SQL<number> => {
  const { entity } = entities
  return sql<number>`select ${entity} from ${entities} where ${entity} > ${after} and abs(${entity}) % ${parts} = ${part}
    order by ${entity} limit ${limit}`
}

const [s, k, e, l] = [alias(syncJobs, 's'), alias(syncJobs, 'k'), alias(extractions, 'e'), alias(extractions, 'l')]

/** The organizations that the entity's jobs name. */
const known = (entity: number): SQL => sql`(
  select distinct o.value as organization_id from ${syncJobs} ${s}, json_each(${requestersOf(s)}) o where ${s.entity} = ${entity})`

/** A job of an entity as one value: `not in` walks the whole list for each job when it compares several. */
const keyOf = (source: SQLWrapper, month: SQLWrapper, job_id: SQLWrapper): SQL => sql`${source} || ' ' || ${month} || ' ' || ${job_id}`
const keyOfRow = ({ source, month, job_id }: typeof s | typeof k): SQL => keyOf(source, month, job_id)

/**
 * The jobs that finished before an instant and that no extraction refers to, without the newest of each source and month. Only organizations
 * that its jobs name can have such extractions.
 */
const obsolete = (entity: number, before: number): SQL => sql`obsolete as materialized (
  select ${s.source}, ${s.month}, ${s.job_id}, ${s.brought} from ${syncJobs} ${s}
  where ${s.entity} = ${entity} and ${s.open} = 0 and ${s.finished_at} < ${before}
    and ${s.job_id} < (
      select max(${k.job_id}) from ${syncJobs} ${k} where ${k.entity} = ${s.entity} and ${k.source} = ${s.source} and ${k.month} = ${s.month})
    and ${keyOfRow(s)} not in (
      select ${keyOf(...ASKED_FOR)}
      from ${known(entity)} known
      cross join ${extractions} ${e} on ${e.organization_id} = known.organization_id and ${e.entity} = ${entity}
      cross join json_each(${e.jobs}) j cross join json_each(j.value) x cross join json_each(x.value) m))`

const KEY = [syncJobs.source, syncJobs.month, syncJobs.job_id]

/**
 * Deletes the entity's jobs that finished before an instant and in which nothing changed for any of their organizations: each has, since
 * the last job that brought something, another job that succeeded, from which later counts continue (counts-store.ts). The newest job of
 * each source and month stays, and so does all while a job is not relayed.
 */
export const deleteQuietJobs = (entity: number, before: number): SQL =>
  sql`with jobs as materialized (
          select ${s.source}, ${s.month}, ${s.job_id}, ${s.status}, ${requestersOf(s)} as organizations, ${s.finished_at},
            ${s.status} = 'succeeded' and ${s.brought} = '[]'
              and ${s.created_count} + ${s.updated_count} + ${s.cancelled_count} + ${s.rejected_count} = 0 as is_quiet,
            max(iif(${s.brought} <> '[]' or ${s.created_count} > 0, ${s.job_id}, null)) over (
              partition by ${s.source}, ${s.month} order by ${s.job_id} rows between unbounded preceding and 1 preceding) as changed
          from ${syncJobs} ${s} where ${s.entity} = ${entity} and ${s.created_at} < ${before}),
        named as materialized (
          select j.source, j.month, o.value as organization_id, j.job_id, lag(j.job_id)
            over (partition by j.source, j.month, o.value order by j.job_id) as previous
          from jobs j cross join json_each(j.organizations) o where j.status = 'succeeded')
        delete from ${syncJobs} where ${syncJobs.entity} = ${entity} and ${KEY} in (
          select j.source, j.month, j.job_id from jobs j
          where j.is_quiet and j.finished_at < ${before}
            and j.job_id < (
              select max(${k.job_id}) from ${syncJobs} ${k} where ${k.entity} = ${entity} and ${k.source} = j.source and ${k.month} = j.month)
            and ${keyOf(sql`j.source`, sql`j.month`, sql`j.job_id`)} not in (
              select ${keyOf(sql`n.source`, sql`n.month`, sql`n.job_id`)} from named n join jobs k using (source, month, job_id)
              where coalesce(n.previous, '') < coalesce(k.changed, '0')))
          and not exists (select 1 from ${outbox} where ${outbox.entity} = ${entity} and ${outbox.kind} = 'jobs')
          and not exists (select 1 from ${syncWork} where ${syncWork.entity} = ${entity} and ${syncWork.token} is not null)`

/**
 * Deletes extractions from before an instant whose jobs are all forgotten, once a later extraction of the organization has a watermark for
 * each of their sources.
 */
export const deleteQuietExtractions = (entity: number, before: number): SQL =>
  sql`delete from ${extractions} where ${[extractions.organization_id, extractions.entity, extractions.run_id]} in (
          select ${e.organization_id}, ${e.entity}, ${e.run_id}
          from ${known(entity)} known
          cross join ${extractions} ${e} on ${e.organization_id} = known.organization_id and ${e.entity} = ${entity}
          where ${e.requested_at} < ${before}
            and not exists (
              select 1 from json_each(${e.jobs}) j cross join json_each(j.value) x cross join json_each(x.value) m
              cross join ${syncJobs} ${s} on ${isJob(s, entity, ASKED_FOR)})
            and not exists (
              select 1 from json_each(${e.jobs}) j cross join json_each(j.value) x where not exists (
                select 1 from ${extractions} ${l}
                where ${l.organization_id} = ${e.organization_id} and ${l.entity} = ${entity} and ${l.run_id} > ${e.run_id}
                  and exists (select 1 from json_each(${l.jobs}) i where i.value -> x.key is not null)
                  and not exists (
                    select 1 from json_each(${l.jobs}) i cross join json_each(i.value -> x.key) m
                    cross join ${syncJobs} ${s} on ${isJob(s, entity, [sql`x.key`, sql`m.value`, sql`i.key`])}
                    where ${s.status} <> 'succeeded'))))`

/**
 * Deletes the jobs that finished before an instant and that no extraction refers to. The results of each, counted by day, move to the next
 * job of its source and month that stays, because later counts are sums over all jobs (counts-store.ts).
 */
export const deleteJobs = (entity: number, before: number): SQL[] => [
  sql`with ${obsolete(entity, before)},
        moved as materialized (
          select s.source, s.month,
            (select min(${k.job_id}) from ${syncJobs} ${k}
              where ${k.entity} = ${entity} and ${k.source} = s.source and ${k.month} = s.month and ${k.job_id} > s.job_id
                and ${keyOfRow(k)} not in (select ${keyOf(sql`o.source`, sql`o.month`, sql`o.job_id`)} from obsolete o)) as heir,
            (select json_group_array(json(iif(stored > last, json_array(what, day, count, first, last, stored),
               json_array(what, day, count, first, last)))) from (
               select c.value->>0 as what, c.value->>1 as day, sum(c.value->>2) as count, min(c.value->>3) as first, max(c.value->>4) as last,
                 max(c.value->>5) as stored
               from json_each(s.brought) b cross join json_each(b.value) c group by 1, 2)) as slice
          from obsolete s where s.brought <> '[]')
        update ${syncJobs} set ${bare(syncJobs.brought)} = (
          select json_group_array(json(value)) from (
            select value from json_each(${syncJobs.brought})
            union all
            select slice from moved s where s.source = ${syncJobs.source} and s.month = ${syncJobs.month} and s.heir = ${syncJobs.job_id}))
        where ${syncJobs.entity} = ${entity} and ${KEY} in (select source, month, heir from moved)`,
  sql`with ${obsolete(entity, before)}
        delete from ${syncJobs} where ${syncJobs.entity} = ${entity} and ${KEY} in (select source, month, job_id from obsolete)`,
]

/** Deletes an entity's cancellations that were found before an instant. */
export const deleteCancellations = (entity: number, before: number): SQL =>
  sql`delete from ${cancellations} where ${cancellations.entity} = ${entity} and ${cancellations.found_at} < ${before}`
