import { type SQL, sql } from 'drizzle-orm'
import { jsonChunks } from '../../platform/db/commit.ts'
import { bare } from '../../platform/db/statement.ts'
import { statusRechecks } from '../tables.ts'

/** A document about whose status something is left to do. */
export type Recheck = typeof statusRechecks.$inferSelect

const HOUR_MS = 3_600_000

/** The next time, in milliseconds, at which the daily work begins. All rechecks are then due together, whoever asked when. */
export const nextDaily = (now: number): number => {
  const begins = 10 * HOUR_MS
  return (Math.floor((now - begins) / (24 * HOUR_MS)) + 1) * 24 * HOUR_MS + begins
}

const { entity, uuid, due_at, recheck } = statusRechecks
const [DUE_AT, RECHECK] = [bare(due_at), bare(recheck)]

/** Adds rechecks. Of two about a document, the earlier time counts, and `found` stays. */
export const addRechecks = (rechecks: readonly Recheck[]): SQL[] =>
  jsonChunks(rechecks.map((one) => [one.entity, one.uuid, one.due_at, one.recheck])).map(
    (json) =>
      sql`insert into ${statusRechecks} (${bare(entity)}, ${bare(uuid)}, ${DUE_AT}, ${RECHECK})
        select value->>0, value->>1, value->>2, value->>3 from json_each(${json}) where true
        on conflict do update set ${DUE_AT} = min(${due_at}, excluded.${DUE_AT}), ${RECHECK} = iif(${recheck} = 'found', ${recheck}, excluded.${RECHECK})`,
  )
