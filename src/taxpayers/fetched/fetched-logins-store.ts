import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { Database } from '../../platform/db/commit.ts'
import { bare, changesOf, prepared, rowsOf } from '../../platform/db/statement.ts'
import { connections, fiscalEntities } from '../tables.ts'

const [c, f] = [alias(connections, 'c'), alias(fiscalEntities, 'f')]

/** Connections whose stored CIEC is to be verified by a fetcher now: drafts, invalid ones, and those whose login counts. */
export const dueForFetcher = (db: Database, now: number, limit: number) =>
  rowsOf<{ organization_id: string; fiscal_entity_id: string; connection: number; due_at: number; version: number }>(
    db.$client,
    sql`select ${c.organization_id}, ${c.fiscal_entity_id}, ${c.connection}, ${c.ciec_verify_at} as due_at, ${f.ciec_version} as version
        from ${connections} ${c} indexed by connections_unverified join ${fiscalEntities} ${f} on ${f.entity} = ${c.entity}
        where ${c.ciec_verify_at} <= ${now} and ${c.ciec} is not null
          and (${c.state} in ('draft', 'invalid_ciec', 'active') or (${c.state} = 'paused' and ${c.paused_from} = 'active'))
        order by ${c.ciec_verify_at} limit ${limit}`,
  )

/** Moves the verification of a CIEC, unless it was moved since. Returns whether it did. */
export const moveVerification = async (db: Database, connection: number, from: number, to: number, attempts: 0 | 1): Promise<boolean> =>
  (await changesOf(
    db.$client,
    sql`update ${connections} set ${bare(connections.ciec_verify_at)} = ${to},
        ${bare(connections.ciec_verify_attempts)} = ${connections.ciec_verify_attempts} + ${attempts}
        where ${connections.connection} = ${connection} and ${connections.ciec_verify_at} = ${from} and ${connections.ciec} is not null`,
  )) > 0

/** The connection whose CIEC was leased until an instant; null when another one was stored, or the lease taken again, since. */
export const findLeased = (db: Database, connection: number, until: number) =>
  prepared(
    db.$client,
    sql`select ${connections.organization_id}, ${connections.fiscal_entity_id}, ${connections.state},
      ${connections.ciec_verify_attempts} as attempts from ${connections}
      where ${connections.connection} = ${connection} and ${connections.ciec_verify_at} = ${until} and ${connections.ciec} is not null
        and ${connections.state} <> 'unlinked'`,
  ).first<{ organization_id: string; fiscal_entity_id: string; state: string; attempts: number }>()
