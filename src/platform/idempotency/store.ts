import { and, eq, isNull, sql } from 'drizzle-orm'
import type { KeyClaim } from '../context.ts'
import { commit, type Database, type Statement } from '../db/commit.ts'
import { idempotencyKeys as keys } from './tables.ts'

/** What stands under a key. */
export type Held = Pick<typeof keys.$inferSelect, 'token' | 'fingerprint' | 'state' | 'resource_id' | 'answer'>

/** What a request asks for. Times are milliseconds of the real clock, but for `now` and `forgotten`. */
export interface KeyRequest extends Omit<KeyClaim, 'begun'> {
  /** Under each of the keys that hash them, the current one first. */
  fingerprints: readonly string[]
  asked_at: number
  lease_until: number
  now: Date
  /** Keys made up to then are as good as unknown. */
  forgotten: Date
}

type Holder = Pick<KeyClaim, 'organization_id' | 'key' | 'token'>

const one = ({ organization_id, key }: Pick<KeyClaim, 'organization_id' | 'key'>) =>
  and(eq(keys.organization_id, organization_id), eq(keys.key, key))
const held = (claim: Holder) => and(one(claim), eq(keys.token, claim.token))

/**
 * Takes a key that is free, forgotten, or held for the same request under a lease that has ended; and reads who has it then. What a
 * request that died under it had begun to make stays there.
 */
export async function claimKey(db: Database, claim: KeyRequest): Promise<Held> {
  const { fingerprints, asked_at, lease_until, now, forgotten, organization_id, key, token } = claim
  const columns = {
    fingerprint: fingerprints[0]!,
    token,
    lease_until: new Date(lease_until),
    state: 'running',
    resource_id: null,
    answer: null,
    created_at: now,
  } as const
  const [, found] = await commit<Held>(db.$client, [
    db
      .insert(keys)
      .values({ organization_id, key, ...columns })
      .onConflictDoUpdate({
        target: [keys.organization_id, keys.key],
        set: { ...columns, resource_id: sql`iif(${keys.created_at} <= ${forgotten.getTime()}, null, ${keys.resource_id})` },
        setWhere: sql`${keys.created_at} <= ${forgotten.getTime()} or (${keys.state} = 'running' and ${keys.lease_until} <= ${asked_at}
          and ${keys.fingerprint} in (select value from json_each(${JSON.stringify(fingerprints)})))`,
      }),
    db.select().from(keys).where(one(claim)),
  ])
  return found!.results[0]!
}

/**
 * Says, in the commit of a change, that it is done, or that it has begun and can be gone on with. Refuses its whole batch with a guard
 * violation unless the request still has the key: an insert, because an update of a row that is gone refuses nothing. It always meets
 * the row that it read.
 */
export const mark = (db: Database, { organization_id, key, token }: KeyClaim, resource_id: string, how: 'done' | 'running') =>
  db.$client
    .prepare(
      `insert into idempotency_keys (organization_id, key, fingerprint, token, lease_until, state, resource_id, created_at)
       values (?1, ?2, '', ?3, 0, (
         select iif(state = 'running', ?5, state) from idempotency_keys where organization_id = ?1 and key = ?2 and token = ?3), ?4, 0)
       on conflict (organization_id, key) do update set state = excluded.state, resource_id = coalesce(resource_id, excluded.resource_id)`,
    )
    .bind(organization_id, key, token, resource_id, how)

export const keepAnswer = (db: Database, claim: KeyClaim, answer: string) =>
  db.update(keys).set({ state: 'answered', answer }).where(held(claim))

/** Frees a key under which nothing has changed; what has begun under it waits for who asks again. */
export const freeKey = (db: Database, claim: KeyClaim): Statement[] => [
  db.delete(keys).where(and(held(claim), eq(keys.state, 'running'), isNull(keys.resource_id))),
  db
    .update(keys)
    .set({ lease_until: new Date(0) })
    .where(and(held(claim), eq(keys.state, 'running'))),
]

/** Removes so many that are forgotten, and tells how many there were. */
export const removeForgotten = async (db: Database, forgotten: Date, limit: number): Promise<number> =>
  (
    await db.$client
      .prepare(
        `delete from idempotency_keys where (organization_id, key) in
           (select organization_id, key from idempotency_keys where created_at <= ? limit ?)`,
      )
      .bind(forgotten.getTime(), limit)
      .run()
  ).meta.changes
