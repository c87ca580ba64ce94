import { type SQL, sql } from 'drizzle-orm'
import { assertThat } from '../db/guard.ts'
import { bare, changesOf, readColumn } from '../db/statement.ts'
import { receipts } from './tables.ts'

/** An organization's Idempotency-Key. */
interface Key {
  organization_id: string
  key: string
}

/** The name of the guard in `leaveReceipt`. */
export const UNUSED = 'idempotency_key.unused'

const found = ({ organization_id, key }: Key, expired_at: Date) =>
  sql<string>`select ${receipts.resource_id} from ${receipts} where ${receipts.organization_id} = ${organization_id} and ${receipts.key} = ${key}
    and ${receipts.created_at} > ${expired_at.getTime()}`

/** Records in the commit of a change that the key is used. Refuses the commit of a second change with the key. */
export const leaveReceipt = (key: Key, resource_id: string, now: Date, expired_at: Date): SQL[] => [
  assertThat(sql`not exists (${found(key, expired_at)})`, UNUSED),
  sql`insert or replace into ${receipts} ${[receipts.organization_id, receipts.key, receipts.resource_id, receipts.created_at].map(bare)}
      values (${key.organization_id}, ${key.key}, ${resource_id}, ${now.getTime()})`,
]

/** Returns the resource that was changed under a key; null without one. */
export const findReceipt = async (d1: D1Database, key: Key, expired_at: Date): Promise<string | null> =>
  (await readColumn(d1, found(key, expired_at)))[0] ?? null

/** Deletes up to `limit` expired receipts. Returns how many it deleted. */
export const deleteReceipts = (d1: D1Database, expired_at: Date, limit: number): Promise<number> =>
  changesOf(
    d1,
    sql`delete from ${receipts} where ${[receipts.organization_id, receipts.key]} in
        (select ${receipts.organization_id}, ${receipts.key} from ${receipts} where ${receipts.created_at} <= ${expired_at.getTime()}
          limit ${limit})`,
  )
