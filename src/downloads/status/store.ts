import { type SQL, sql } from 'drizzle-orm'
import type { StatusCheck } from '../../cfdi/checks/checks.ts'
import type { Recheck } from '../../cfdi/checks/rechecks.ts'
import { cfdi, statusRechecks } from '../../cfdi/tables.ts'
import { bare, readColumn } from '../../platform/db/statement.ts'

const { status_checks } = cfdi
const { entity, uuid, due_at, recheck } = statusRechecks

/** Keeps the check of an organization in the row of a document. With `before`, only while that is its check. */
export const keepCheck = (
  document: Pick<Recheck, 'entity' | 'uuid'>,
  fiscal_entity_id: string,
  check: StatusCheck,
  before: StatusCheck | null = null,
): SQL =>
  sql`update ${cfdi} set ${bare(status_checks)} =
          json_set(coalesce(${status_checks}, '{}'), ${`$."${fiscal_entity_id}"`}, json(${JSON.stringify(check)}))
        where ${cfdi.entity} = ${document.entity} and ${cfdi.uuid} = ${document.uuid}
          and (${before?.[0] ?? null} is null or ${status_checks} -> ${fiscal_entity_id} ->> 0 = ${before?.[0] ?? null})`

/** Takes the rechecks of a partition that are due, the first ones, until an instant: then they are due again. */
export const takeRechecks = (partition: number, now: number, until: number, limit: number): SQL<Recheck> =>
  sql<Recheck>`update ${statusRechecks} set ${bare(due_at)} = ${until} where ${entity} = ${partition} and ${uuid} in (
          select ${uuid} from ${statusRechecks} where ${entity} = ${partition} and ${due_at} <= ${now} order by ${due_at} limit ${limit})
        returning ${sql.join([entity, uuid, due_at, recheck].map(bare), sql`, `)}`

const isTaken = (taken: Recheck): SQL => sql`${entity} = ${taken.entity} and ${uuid} = ${taken.uuid} and ${due_at} = ${taken.due_at}`

/** Ends a recheck, unless there is a new one since it was taken. */
export const endRecheck = (taken: Recheck): SQL => sql`delete from ${statusRechecks} where ${isTaken(taken)}`

export const putOff = (taken: Recheck, until: number): SQL =>
  sql`update ${statusRechecks} set ${bare(due_at)} = ${until} where ${isTaken(taken)}`

/** The partitions with rechecks that are due, at most a thousand rechecks. */
export const partitionsToRecheck = async (ledger: D1Database, now: number): Promise<number[]> => {
  const due = sql<number>`select ${entity} from ${statusRechecks} where ${due_at} <= ${now} order by ${due_at} limit 1000`
  return [...new Set(await readColumn(ledger, due))]
}
