import { jsonChunks } from '../platform/db/commit.ts'
import type { CancellationBody } from './cancellation-events.ts'

/** A cancellation as it was found; `body` is a CancellationBody as JSON. */
export interface FoundCancellation {
  found_at: number
  uuid: string
  body: string
}

/** Keeps cancellations, for the commit of the change. `found_at` in milliseconds. */
export const insertCancellations = (
  ledger: D1Database,
  entity: number,
  bodies: readonly CancellationBody[],
  found_at: number,
): D1PreparedStatement[] =>
  jsonChunks(bodies).map((json) =>
    ledger
      .prepare(
        `insert into cancellations (entity, found_at, uuid, body)
         select ?1, ?2, value->>'cfdi_uuid', value from json_each(?3) where true on conflict do nothing`,
      )
      .bind(entity, found_at, json),
  )

/** A page of an RFC's cancellations behind a place, oldest first. */
export const findCancellations = async (
  ledger: D1Database,
  entity: number,
  after: readonly [found_at: number, uuid: string],
  limit: number,
): Promise<FoundCancellation[]> =>
  (
    await ledger
      .prepare(
        `select found_at, uuid, body from cancellations where entity = ?1 and (found_at, uuid) > (?2, ?3) order by found_at, uuid limit ?4`,
      )
      .bind(entity, ...after, limit)
      .all<FoundCancellation>()
  ).results
