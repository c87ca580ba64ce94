import { and, eq, isNull, sql } from 'drizzle-orm'
import type { KeyClaim } from '../context.ts'
import { commit, type Database, type Statement } from '../db/commit.ts'
import { assertThat } from '../db/guard.ts'
import { prepared } from '../db/statement.ts'
import { idempotencyKeys as keys } from './tables.ts'

/** The row of a key, with the token of the request that has claimed it. */
export type ClaimedKey = Pick<typeof keys.$inferSelect, 'token' | 'fingerprint' | 'state' | 'resource_id' | 'answer'> & {
  /** Whether an earlier request had claimed the key, and its lease ended. */
  isRepeated: boolean
}

/** A request for a key. Times are milliseconds of the real clock, except `now` and `expired_at`. */
export interface KeyRequest extends Omit<KeyClaim, 'begun'> {
  /** The request's fingerprint under each hashing key, the current key first. */
  fingerprints: readonly string[]
  asked_at: number
  lease_until: number
  now: Date
  /** A key created at or before this instant is free. */
  expired_at: Date
}

type Token = Pick<KeyClaim, 'organization_id' | 'key' | 'token'>

const rowOf = ({ organization_id, key }: Omit<Token, 'token'>) => and(eq(keys.organization_id, organization_id), eq(keys.key, key))
const claimedRow = (claim: Token) => and(rowOf(claim), eq(keys.token, claim.token))

/**
 * Claims a key that is free or expired, or whose claim is for the same request under a lease that has ended; returns which request has it.
 * The resource that an interrupted request began to make stays in the row.
 */
export async function claimKey(db: Database, request: KeyRequest): Promise<ClaimedKey> {
  const { fingerprints, asked_at, lease_until, now, expired_at, organization_id, key, token } = request
  const columns = {
    fingerprint: fingerprints[0]!,
    token,
    lease_until: new Date(lease_until),
    state: 'running',
    resource_id: null,
    answer: null,
    created_at: now,
  } as const
  const [before, after] = await commit<ClaimedKey & { created_at: number }>(db.$client, [
    db.select().from(keys).where(rowOf(request)),
    db
      .insert(keys)
      .values({ organization_id, key, ...columns })
      .onConflictDoUpdate({
        target: [keys.organization_id, keys.key],
        set: { ...columns, resource_id: sql`iif(${keys.created_at} <= ${expired_at.getTime()}, null, ${keys.resource_id})` },
        setWhere: sql`${keys.created_at} <= ${expired_at.getTime()} or (${keys.state} = 'running' and ${keys.lease_until} <= ${asked_at}
          and ${keys.fingerprint} in (select value from json_each(${JSON.stringify(fingerprints)})))`,
      })
      .returning(),
  ])
  const [[earlier], [claimed]] = [before!.results, after!.results]
  return { ...(claimed ?? earlier!), isRepeated: !!claimed && !!earlier && earlier.created_at > expired_at.getTime() }
}

/** The name of the guard in `assertClaimed`. */
export const CLAIMED = 'idempotency_key.claimed'

/** Refuses its batch unless the request still has its claim on the key. */
export const assertClaimed = (db: Database, { organization_id, key, token }: KeyClaim): Statement =>
  assertThat(
    db.$client,
    sql`exists (select 1 from ${keys} where ${keys.organization_id} = ${organization_id}
      and ${keys.key} = ${key} and ${keys.token} = ${token})`,
    CLAIMED,
  )

/** Records in the commit of a change that the change is done, or that it has begun and can be continued. */
export const markKey = (db: Database, claim: KeyClaim, resource_id: string, state: 'done' | 'running'): Statement =>
  db
    .update(keys)
    .set({
      state: sql`iif(${keys.state} = 'running', ${state}, ${keys.state})`,
      resource_id: sql`coalesce(${keys.resource_id}, ${resource_id})`,
    })
    .where(claimedRow(claim))

export const keepAnswer = (db: Database, claim: KeyClaim, answer: string): Statement =>
  db
    .update(keys)
    .set({ state: 'answered', answer, resource_id: sql`coalesce(${keys.resource_id}, ${claim.changed ?? null})` })
    .where(claimedRow(claim))

/**
 * Releases a key whose request has changed nothing. If the request has begun a change, only its lease ends, so that a repetition continues
 * the change.
 */
export const releaseKey = (db: Database, claim: KeyClaim): Statement[] => [
  db.delete(keys).where(and(claimedRow(claim), eq(keys.state, 'running'), isNull(keys.resource_id))),
  db
    .update(keys)
    .set({ lease_until: new Date(0) })
    .where(and(claimedRow(claim), eq(keys.state, 'running'))),
]

/** Deletes up to `limit` expired keys. Returns how many it deleted. */
export const deleteExpired = async (db: Database, expired_at: Date, limit: number): Promise<number> =>
  (
    await prepared(
      db.$client,
      sql`delete from ${keys} where ${[keys.organization_id, keys.key]} in
           (select ${keys.organization_id}, ${keys.key} from ${keys}
             where ${keys.created_at} <= ${expired_at.getTime()} limit ${limit})`,
    ).run()
  ).meta.changes
