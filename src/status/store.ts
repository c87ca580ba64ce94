import { type SQL, sql } from 'drizzle-orm'
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
    await prepared(
      ledger,
      sql`update status_doubts set due_at = ${until} where entity = ${entity} and uuid in (
          select uuid from status_doubts where entity = ${entity} and due_at <= ${now} order by due_at limit ${limit})
        returning entity, uuid, due_at, doubt`,
    ).all<Doubt>()
  ).results

const isTaken = ({ entity, uuid, due_at }: Doubt): SQL => sql`entity = ${entity} and uuid = ${uuid} and due_at = ${due_at}`

/** Ends a doubt, unless there is a new one since it was taken. */
export const endDoubt = (ledger: D1Database, taken: Doubt): D1PreparedStatement =>
  prepared(ledger, sql`delete from status_doubts where ${isTaken(taken)}`)

/** Puts a doubt off. */
export const putOff = (ledger: D1Database, taken: Doubt, until: number): D1PreparedStatement =>
  prepared(ledger, sql`update status_doubts set due_at = ${until} where ${isTaken(taken)}`)

/** The partitions with doubts that are due, at most a thousand doubts. */
export const doubtedPartitions = async (ledger: D1Database, now: number): Promise<number[]> => {
  const due = prepared(ledger, sql`select entity from status_doubts where due_at <= ${now} order by due_at limit 1000`)
  return [...new Set((await due.all<{ entity: number }>()).results.map(({ entity }) => entity))]
}
