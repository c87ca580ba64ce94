import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { fetches } from '../../authority/fetcher/tables.ts'
import type { System } from '../../platform/context.ts'
import { commit } from '../../platform/db/commit.ts'
import { bare } from '../../platform/db/statement.ts'
import { INTO_OUTBOX, wakeRelay } from '../../platform/outbox/outbox.ts'
import { outbox } from '../../platform/outbox/tables.ts'
import { clock } from '../../platform/time/clock.ts'
import { requestersOf } from '../../taxpayers/visibility/jobs.ts'
import { ASKED_FOR, isJob } from '../jobs/key.ts'
import { extractions, syncJobs, syncWork } from '../jobs/tables.ts'
import { ENDED_JOBS, ENDED_RUNS, JOBS_OF_WORK, OPEN_RUNS, united } from '../lease-store.ts'

/**
 * Withdraws the downloads of a run that have not begun and that nobody else wants, of these RFCs. The jobs of an RFC on which a worker
 * works now stay. Returns how many, and how many of them had been tried. A repetition withdraws nothing more. One call for each ledger.
 */
export async function withdrawJobs(
  system: System,
  { organization_id, run_id }: { organization_id: string; run_id: string },
  rfcs: readonly { shard: number; entity: number }[],
): Promise<{ withdrawn: number; tried: number }> {
  let [withdrawn, tried] = [0, 0]
  for (const [shard, own] of Map.groupBy(rfcs, (one) => one.shard)) {
    const ledger = system.settings.ledgers[shard]!
    const entities = own.map(({ entity }) => entity)
    const [deleted] = await commit<{ was_tried: 0 | 1 }>(ledger, withdrawStatements(organization_id, run_id, entities, clock.now()))
    withdrawn += deleted!.results.length
    tried += deleted!.results.filter(({ was_tried }) => was_tried === 1).length
    if (deleted!.results.length > 0) await wakeRelay(system, shard)
  }
  return { withdrawn, tried }
}

const [s, l, o, own] = [alias(syncJobs, 's'), alias(syncWork, 'l'), alias(extractions, 'o'), alias(extractions, 'own')]
const f = alias(fetches, 'f')

/** The extractions `o` of the organization `a` that ask for the job. */
const ASKING = sql`from ${extractions} ${o} cross join json_each(${o.jobs} -> ${s.job_id} -> ${s.source}) w
  where ${o.organization_id} = a.value and ${o.entity} = ${s.entity} and w.value = ${s.month}`
/** The jobs of an extraction, and the condition that the row of one is kept. */
const ITS_JOBS = sql`json_each(${extractions.jobs}) j, json_each(j.value) x, json_each(x.value) m`
const KEPT = sql`exists (select 1 from ${syncJobs} ${s} where ${isJob(s, extractions.entity, ASKED_FOR)})`

/**
 * The batch that cancels what a run asked for: it withdraws its jobs that have not begun and that nobody else wants, and hands extractions
 * that end with it to the relay. The first result has a row for each job, with whether anything of it was tried.
 */
export function withdrawStatements(organization_id: string, run_id: string, entities: readonly number[], now: number): SQL[] {
  const json = JSON.stringify(entities)
  const isThisRun = sql`(${o.organization_id} = ${organization_id} and ${o.run_id} = ${run_id})`
  const isFree = sql`not exists (
    select 1 from ${syncWork} ${l} where ${l.entity} = ${s.entity} and ${l.token} is not null and ${l.lease_until} >= ${now})`
  // No fetcher brings what the job waits for, or has brought it.
  const isUnfetched = sql`not exists (
    select 1 from ${fetches} ${f} where ${f.entity} = ${s.entity} and ${f.source} = ${s.source} and ${f.month} = ${s.month}
      and ${f.leased_at} >= ${s.created_at} and ((${f.state} = 'leased' and ${f.due_at} > ${now}) or ${f.state} = 'complete'))`
  // A job that has not begun, and that only this run and cancelled ones ask for. An organization whose run is forgotten wants it.
  const isUnwanted = sql`${s.open} = 1 and ${s.is_claimed} = 0 and ${s.deferred} = '{}' and ${isFree} and ${isUnfetched}
    and not exists (
      select 1 from json_each(${requestersOf(s)}) a where exists (select 1 ${ASKING} and ${o.is_cancelled} = 0 and not ${isThisRun})
        or not exists (select 1 ${ASKING} and (${o.is_cancelled} = 1 or ${isThisRun})))`
  const ofRun = sql`${extractions.organization_id} = ${organization_id} and ${extractions.entity} in (select value from json_each(${json}))
    and ${extractions.run_id} = ${run_id}`
  // Runs that were cancelled before, of any organization, and that still waited for the jobs.
  const cancelledBefore = sql`${extractions.is_cancelled} = 1 and not (${ofRun})
    and ${[extractions.organization_id, extractions.entity, extractions.run_id]} in (
      select r.value->>0, ${l.entity}, r.value->>1
      from json_each(${json}) e cross join ${syncWork} ${l} on ${l.entity} = e.value cross join json_each(${l.runs}) r)`
  const sharesWithdrawn = sql`exists (
    select 1 from ${ITS_JOBS}
    cross join ${extractions} ${own}
      on ${own.organization_id} = ${organization_id} and ${own.entity} = ${extractions.entity} and ${own.run_id} = ${run_id}
    cross join json_each(${own.jobs} -> j.key -> x.key) w
    where w.value = m.value and not (${KEPT}))`
  const free = sql`${syncWork.entity} in (select value from json_each(${json})) and (${syncWork.token} is null or ${syncWork.lease_until} < ${now})`
  const forget = (which: SQL) => sql`update ${extractions} set ${bare(extractions.is_range)} = 1, ${bare(extractions.jobs)} = coalesce((
      select jsonb_group_object(id, jsonb(sources)) from (
        select id, json_group_object(source, json(months)) as sources from (
          select j.key as id, x.key as source, json_group_array(m.value) as months from ${ITS_JOBS} where ${KEPT} group by 1, 2)
        group by id)), jsonb('{}'))
    where ${which}`
  return [
    // What is left of the extraction does not say how far everything is downloaded.
    sql`delete from ${syncJobs} as ${s} where ${[s.entity, s.source, s.month, s.job_id]} in (
          select ${extractions.entity}, x.key, m.value, j.key from ${extractions}, ${ITS_JOBS} where ${ofRun}) and ${isUnwanted}
        returning ${bare(s.attempts)} > 0 or ${bare(s.wait_until)} is not null or ${bare(s.started_at)} is not null as was_tried`,
    // Earlier cancelled runs come first, as long as the run's own still names the deleted jobs.
    forget(sql`${cancelledBefore} and ${sharesWithdrawn}`),
    forget(sql`${ofRun} and exists (select 1 from ${ITS_JOBS} where not (${KEPT}))`),
    sql`update ${extractions} set ${bare(extractions.is_cancelled)} = 1 where ${ofRun} and ${extractions.is_cancelled} = 0`,
    sql`update ${syncWork} set ${bare(syncWork.jobs)} = (select json_group_array(json(j.value)) from ${JOBS_OF_WORK}) where ${free}`,
    sql`${INTO_OUTBOX}
        select entity, ${ENDED_JOBS}, ${ENDED_JOBS}, null, ended, ${now}
        from (select ${syncWork.entity}, (${ENDED_RUNS}) as ended from ${syncWork} where ${free}) where ended <> '[]'
        on conflict do update set ${bare(outbox.body)} = ${united(outbox, bare(outbox.body))}`,
    sql`update ${syncWork} set ${bare(syncWork.runs)} = (${OPEN_RUNS}) where ${free}`,
    sql`delete from ${syncWork} where ${free} and ${syncWork.jobs} = '[]'`,
  ]
}
