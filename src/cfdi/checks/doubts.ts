import { jsonChunks } from '../../platform/db/commit.ts'
import type { statusDoubts } from './tables.ts'

/** A document about whose status something is left to do. */
export type Doubt = typeof statusDoubts.$inferSelect

const HOUR_MS = 3_600_000

/** The next time, in milliseconds, at which the daily work begins. All doubts are then due together, whoever asked when. */
export const nextDaily = (now: number): number => {
  const begins = 10 * HOUR_MS
  return (Math.floor((now - begins) / (24 * HOUR_MS)) + 1) * 24 * HOUR_MS + begins
}

/** Adds doubts. Of two about a document the earlier time counts, and that it was found to be cancelled. */
export const addDoubts = (ledger: D1Database, doubts: readonly Doubt[]): D1PreparedStatement[] =>
  jsonChunks(doubts.map(({ entity, uuid, due_at, doubt }) => [entity, uuid, due_at, doubt])).map((json) =>
    ledger
      .prepare(
        `insert into status_doubts (entity, uuid, due_at, doubt) select value->>0, value->>1, value->>2, value->>3 from json_each(?1) where true
         on conflict do update set due_at = min(due_at, excluded.due_at), doubt = iif(doubt = 'found', doubt, excluded.doubt)`,
      )
      .bind(json),
  )
