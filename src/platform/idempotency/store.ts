import { and, eq, isNull, type SQL, sql } from 'drizzle-orm'
import type { KeyClaim } from '../context.ts'
import { commit, type Database, type Statement } from '../db/commit.ts'
import { assertThat } from '../db/guard.ts'
import { bare, changesOf } from '../db/statement.ts'
import type { Day } from '../time/calendar.ts'
import { keptAnswers as kept, idempotencyKeys as keys } from './tables.ts'

/** The row of a key, with the token of the request that has claimed it. */
export type ClaimedKey = Pick<typeof keys.$inferSelect, 'token' | 'fingerprint' | 'state' | 'resource_id' | 'answer'> & {
  /** Whether an earlier request had claimed the key, and its lease ended. */
  isRepeated: boolean
}

/** A request for a key. Times are milliseconds of the service's clock. */
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
/** The row of a request that has changed nothing. */
const unchangedRow = (claim: Token) => and(claimedRow(claim), eq(keys.state, 'running'), isNull(keys.resource_id))

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

const isClaimed = (claim: Token): SQL => sql`exists (select 1 from ${keys} where ${claimedRow(claim)})`

/** Refuses its batch unless the request still has its claim on the key. */
export const assertClaimed = (claim: KeyClaim): Statement => assertThat(isClaimed(claim), CLAIMED)

/** Records in the commit of a change that the change is done, or that it has begun and can be continued. */
export const markKey = (db: Database, claim: KeyClaim, resource_id: string, state: 'done' | 'running'): Statement =>
  db
    .update(keys)
    .set({
      state: sql`iif(${keys.state} = 'running', ${state}, ${keys.state})`,
      resource_id: sql`coalesce(${keys.resource_id}, ${resource_id})`,
    })
    .where(claimedRow(claim))

/** The bytes of an organization's answers that were kept on a day, as an expression. */
export const bytesKept = (organization_id: string, day: Day): SQL =>
  sql`select iif(${kept.day} < ${day}, 0, ${kept.bytes}) from ${kept} where ${kept.organization_id} = ${organization_id}`

/** The most bytes of answers that are kept of an organization and day. */
interface AnswerRoom {
  day: Day
  most: number
}

interface SealedAnswer {
  /** Null when it may not be kept. */
  whole: string | null
  /** What is kept instead. */
  brief: string
  isRefusal: boolean
}

/**
 * Keeps an answer and counts it. When it does not fit into the room of the day, a refusal that has changed nothing releases its key, and of
 * any other answer `brief` is kept. The first two statements change nothing when another request has claimed the key.
 */
export function keepAnswer(
  db: Database,
  claim: KeyClaim,
  { whole, brief, isRefusal }: SealedAnswer,
  { day, most }: AnswerRoom,
): Statement[] {
  const { organization_id } = claim
  const bytes = whole?.length ?? 0
  const fits = whole === null ? sql`0` : sql`coalesce((${bytesKept(organization_id, day)}), 0) + ${bytes} <= ${most}`
  const releasing = db.delete(keys).where(and(unchangedRow(claim), isRefusal ? sql`not (${fits})` : sql`0`))
  const keeping = db
    .update(keys)
    .set({
      state: 'answered',
      answer: sql`iif(${fits}, ${whole}, ${brief})`,
      resource_id: sql`coalesce(${keys.resource_id}, ${claim.changed ?? null})`,
    })
    .where(claimedRow(claim))
  if (whole === null) return [releasing, keeping]
  // The count is that of the statements before, so that the answer fits here exactly when it fitted there.
  const counting = sql`insert into ${kept} ${[kept.organization_id, kept.day, kept.bytes].map(bare)}
      select ${organization_id}, ${day}, ${bytes} where ${isClaimed(claim)}
      on conflict do update set ${bare(kept.bytes)} = iif(${kept.day} < excluded.day, 0, ${kept.bytes}) + excluded.bytes,
        ${bare(kept.day)} = max(${kept.day}, excluded.day)
      where iif(${kept.day} < excluded.day, 0, ${kept.bytes}) + excluded.bytes <= ${most}`
  return [releasing, keeping, counting]
}

/**
 * Releases a key whose request has changed nothing. If the request has begun a change, only its lease ends, so that a repetition continues
 * the change.
 */
export const releaseKey = (db: Database, claim: KeyClaim): Statement[] => [
  db.delete(keys).where(unchangedRow(claim)),
  db
    .update(keys)
    .set({ lease_until: new Date(0) })
    .where(and(claimedRow(claim), eq(keys.state, 'running'))),
]

/** Deletes up to `limit` expired keys. Returns how many it deleted. */
export const deleteExpired = (db: Database, expired_at: Date, limit: number): Promise<number> =>
  changesOf(
    db.$client,
    sql`delete from ${keys} where ${[keys.organization_id, keys.key]} in
           (select ${keys.organization_id}, ${keys.key} from ${keys}
             where ${keys.created_at} <= ${expired_at.getTime()} limit ${limit})`,
  )
