import { sql } from 'drizzle-orm'
import type { Database } from '../../platform/db/commit.ts'
import { prepared } from '../../platform/db/statement.ts'

/** Connections whose stored CIEC is to be verified by a fetcher now: drafts, invalid ones, and those whose login counts. */
export const dueForFetcher = async (db: Database, now: number, limit: number) =>
  (
    await prepared(
      db.$client,
      sql`select c.organization_id, c.fiscal_entity_id, c.connection, c.ciec_verify_at as due_at, f.ciec_version as version
        from connections c indexed by connections_unverified join fiscal_entities f on f.entity = c.entity
        where c.ciec_verify_at <= ${now} and c.ciec is not null
          and (c.state in ('draft', 'invalid_ciec', 'active') or (c.state = 'paused' and c.paused_from = 'active'))
        order by c.ciec_verify_at limit ${limit}`,
    ).all<{ organization_id: string; fiscal_entity_id: string; connection: number; due_at: number; version: number }>()
  ).results

/** Moves the verification of a CIEC, unless it was moved since. Returns whether it was the one to do so. */
export const moveVerification = async (db: Database, connection: number, from: number, to: number, attempts: 0 | 1): Promise<boolean> =>
  (
    await prepared(
      db.$client,
      sql`update connections set ciec_verify_at = ${to}, ciec_verify_attempts = ciec_verify_attempts + ${attempts}
        where connection = ${connection} and ciec_verify_at = ${from} and ciec is not null`,
    ).run()
  ).meta.changes > 0

/** The connection whose CIEC was leased until an instant; null when another one was stored since, or the lease was taken anew. */
export const findLeased = (db: Database, connection: number, until: number) =>
  prepared(
    db.$client,
    sql`select organization_id, fiscal_entity_id, state, ciec_verify_attempts as attempts from connections
      where connection = ${connection} and ciec_verify_at = ${until} and ciec is not null and state <> 'unlinked'`,
  ).first<{ organization_id: string; fiscal_entity_id: string; state: string; attempts: number }>()
