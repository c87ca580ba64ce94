import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { cfdi } from '../../cfdi/tables.ts'
import { all } from '../../platform/db/statement.ts'
import { isVisible, type Partition, type ScopedLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import { extractions, syncJobs } from '../jobs/tables.ts'
import { ATTEMPTS, askedAgainAt, ENDED_BEFORE, isRowOf, leaseAndConversation } from '../progress-store.ts'
import type { CoveredSource } from './contract.ts'

/** The latest job of a source and month that the organization's runs created or joined. */
export interface LatestJob {
  source: string
  month: string
  open: 0 | 1
  attempts: number
  error_class: string | null
  wait_until: number | null
  not_before: number
  /** When the authority is asked again about a job that waits for it. */
  asked_again_at: number | null
  rejected_count: number
  /** When the first of its runs requested it, in milliseconds, and the attempts that had ended before. */
  requested_at: number
  attempts_before: number
  /**
   * Its rejections with a UUID that is not stored, as a JSON array of `[uuid, code]`, and those with a stored one. Only where asked for.
   */
  unknown?: string
  known?: string
}

const [s, e] = [alias(syncJobs, 's'), alias(extractions, 'e')]
const [c, own] = [alias(cfdi, 'c'), alias(cfdi, 'own')]

/** The `[uuid, code]` of a job's rejections, for stored documents or for others. */
const rejectedOf = (isStored: boolean): SQL =>
  sql`(select json_group_array(json_array(r.value->>'uuid', r.value->>'code')) from json_each(iif(${s.open}, null, ${s.rejected_files})) r
    where r.value->>'uuid' is not null
      and ${isStored ? sql`` : sql`not `}exists (
        select 1 from ${cfdi} ${c} where ${c.entity} = ${s.entity} and ${c.uuid} = r.value->>'uuid'))`

/** Selects the latest own job of each source and month of a range. `now` in milliseconds. */
export const latestJobs = (
  { organization_id, entity }: ScopedLedger,
  { first, last, source, now }: { first: string; last: string; source?: CoveredSource | undefined; now: number },
  withRejected = false,
): SQL =>
  sql`select ${s.source}, ${s.month}, ${s.open}, ${ATTEMPTS} as attempts, ${s.error_class}, ${s.wait_until}, ${s.not_before},
      ${askedAgainAt(now)} as asked_again_at, ${s.rejected_count}, j.requested_at, j.attempts_before
      ${withRejected ? sql`, ${rejectedOf(false)} as unknown, ${rejectedOf(true)} as known` : sql``}
    from (
      select source, month, job_id, requested_at, attempts_before, max(last_run) from (
        select x.key as source, m.value as month, j.key as job_id, max(${e.run_id}) as last_run, min(${e.requested_at}) as requested_at,
          min(${ENDED_BEFORE}) as attempts_before
        from ${extractions} ${e}, json_each(${e.jobs}) j, json_each(j.value) x, json_each(x.value) m
        where ${e.organization_id} = ${organization_id} and ${e.entity} = ${entity} and m.value >= ${first} and m.value <= ${last}
          and (${source ?? null} is null or x.key = ${source ?? null})
        group by x.key, m.value, j.key)
      group by source, month) j
    cross join ${syncJobs} ${s} on ${isRowOf(entity)} ${leaseAndConversation(entity, now)}`

/** A document of which only the metadata is stored. */
export interface MissingXmlRow {
  uuid: string
  issued_at: number
  utc_offset: number
  fecha: string
  estatus: 'vigente' | 'cancelado'
  kind: 'cfdi' | 'retenciones'
  beyond_limits: 'lines' | 'xml' | null
}

/** Selects the documents of a month that are visible without XML, by when they were issued. It reads the month. */
export const missingXmlRows = (
  partition: Partition,
  {
    direction,
    since,
    until,
    days,
    after,
    limit,
  }: {
    direction: 0 | 1
    /** In seconds: no document of the month was issued before the one or after the other. */
    since: number
    until: number
    /** Its literal days: from the first, up to a text that sorts after the last. */
    days: readonly [first: string, after: string]
    after: readonly [issued_at: number, uuid: string]
    limit: number
  },
): SQL =>
  sql`select ${own.uuid}, ${own.issued_at}, ${own.utc_offset}, ${own.fecha}, ${own.estatus}, ${own.kind}, ${own.beyond_limits}
    from ${cfdi} ${own} indexed by cfdi_dirc
    where ${own.entity} = ${partition.number} and ${own.direction} = ${sql.raw(String(direction))} and ${own.cancelled} in (0, 1)
      and ${own.issued_at} >= ${Math.max(since, after[0])} and ${own.issued_at} <= ${until} and ${own.version} is null
      and (${own.issued_at}, ${own.uuid}) > (${after[0]}, ${after[1]})
      and ${all([isVisible(partition, 'own'), sql`${own.fecha} >= ${days[0]}`, sql`${own.fecha} < ${days[1]}`])}
    order by ${own.issued_at}, ${own.uuid} limit ${sql.raw(String(limit))}`
