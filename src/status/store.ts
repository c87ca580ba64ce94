import { sql } from 'drizzle-orm'
import type { StatusCheck } from '../cfdi/checks/checks.ts'
import type { Doubt } from '../cfdi/checks/doubts.ts'
import { prepared } from '../platform/db/statement.ts'

/** Keeps the check of an organization in the row of a document. With `before`, only while that is its check. */
export const keepCheck = (
  ledger: D1Database,
  { entity, uuid }: Pick<Doubt, 'entity' | 'uuid'>,
  fiscal_entity_id: string,
  check: StatusCheck,
  before: StatusCheck | null = null,
): D1PreparedStatement =>
  prepared(
    ledger,
    sql`update cfdi set status_checks = json_set(coalesce(status_checks, '{}'), ${`$."${fiscal_entity_id}"`}, json(${JSON.stringify(check)}))
        where entity = ${entity} and uuid = ${uuid} and (${before?.[0] ?? null} is null or status_checks -> ${fiscal_entity_id} ->> 0 = ${before?.[0] ?? null})`,
  )

/** Takes the doubts of a partition that are due, the first ones, until an instant: then they are due again. */
export const takeDoubts = async (ledger: D1Database, entity: number, now: number, until: number, limit: number): Promise<Doubt[]> =>
  (
    await ledger
      .prepare(
        `update status_doubts set due_at = ?3 where entity = ?1 and uuid in (
           select uuid from status_doubts where entity = ?1 and due_at <= ?2 order by due_at limit ?4) returning entity, uuid, due_at, doubt`,
      )
      .bind(entity, now, until, limit)
      .all<Doubt>()
  ).results

const TAKEN = 'entity = ?1 and uuid = ?2 and due_at = ?3'

/** Ends a doubt, unless there is a new one since it was taken. */
export const endDoubt = (ledger: D1Database, { entity, uuid, due_at }: Doubt): D1PreparedStatement =>
  ledger.prepare(`delete from status_doubts where ${TAKEN}`).bind(entity, uuid, due_at)

/** Puts a doubt off. */
export const putOff = (ledger: D1Database, { entity, uuid, due_at }: Doubt, until: number): D1PreparedStatement =>
  ledger.prepare(`update status_doubts set due_at = ?4 where ${TAKEN}`).bind(entity, uuid, due_at, until)

/** The partitions with doubts that are due, at most a thousand doubts. */
export const doubtedPartitions = async (ledger: D1Database, now: number): Promise<number[]> => {
  const due = ledger.prepare('select entity from status_doubts where due_at <= ?1 order by due_at limit 1000').bind(now)
  return [...new Set((await due.all<{ entity: number }>()).results.map(({ entity }) => entity))]
}
