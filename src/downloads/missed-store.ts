import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { jsonChunks } from '../platform/db/commit.ts'
import { bare, prepared } from '../platform/db/statement.ts'
import type { CancellationBody } from './cancellation-events.ts'
import { askedJobs, extractionsOf } from './counts/boundaries-store.ts'
import { cancellations, extractions, syncJobs, syncWork } from './jobs/tables.ts'
import { JOBS_OF_WORK } from './lease-store.ts'
import type { Job } from './store.ts'

const [s, e] = [alias(syncJobs, 's'), alias(extractions, 'e')]

/** A cancellation as it was found; `body` is a CancellationBody as JSON. */
export interface FoundCancellation {
  found_at: number
  uuid: string
  body: string
}

/**
 * Makes the JSON object of the instants at which organizations first requested a job: `{organization_id: milliseconds}`. Their earlier runs
 * were served by earlier jobs of the source and month; what this one finds is the first that they see of what only the later runs reached.
 */
export const requestsOf = (job: Job): SQL => sql`(
  select json_group_object(organization_id, instant) from (
    select ${e.organization_id}, min(${e.instant}) as instant from ${extractionsOf(job)} group by ${e.organization_id}))`

/**
 * Reads since which run, in milliseconds, each organization has waited for downloads that end with this one: for the job itself, or if it did
 * not ask for that, for others that are open.
 */
export async function waitingSince(
  ledger: D1Database,
  { entity, source, month, job_id }: Pick<Job, 'entity' | 'source' | 'month' | 'job_id'>,
): Promise<Map<string, number>> {
  const isThis = sql`${s.source} = ${source} and ${s.month} = ${month} and ${s.job_id} = ${job_id}`
  const statement = prepared(
    ledger,
    sql`select ${e.organization_id}, coalesce(min(iif(${isThis}, ${e.instant}, null)), min(${e.instant})) as since
      from ${syncWork} cross join ${JOBS_OF_WORK} ${askedJobs} where ${syncWork.entity} = ${entity} and ${s.open} = 1 group by 1`,
  )
  return new Map(await statement.raw<[string, number]>())
}

/** Keeps cancellations, for the commit of the change. `found_at` in milliseconds; `body` makes the stored body of the one in `value`. */
export const insertCancellations = (
  ledger: D1Database,
  entity: number,
  bodies: readonly Omit<CancellationBody, 'requested'>[],
  found_at: number,
  body: SQL,
): D1PreparedStatement[] =>
  jsonChunks(bodies).map((json) =>
    prepared(
      ledger,
      sql`insert into ${cancellations} ${[cancellations.entity, cancellations.found_at, cancellations.uuid, cancellations.body].map(bare)}
          select ${entity}, ${found_at}, value->>'cfdi_uuid', ${body} from json_each(${json}) where true on conflict do nothing`,
    ),
  )

/** A page of an RFC's cancellations behind a place, oldest first. */
export const findCancellations = async (
  ledger: D1Database,
  entity: number,
  after: readonly [found_at: number, uuid: string],
  limit: number,
): Promise<FoundCancellation[]> => {
  const { found_at, uuid } = cancellations
  const statement = prepared(
    ledger,
    sql`select ${found_at}, ${uuid}, ${cancellations.body} from ${cancellations}
        where ${cancellations.entity} = ${entity} and ${[found_at, uuid]} > ${[...after]} order by ${found_at}, ${uuid} limit ${limit}`,
  )
  return (await statement.all<FoundCancellation>()).results
}
