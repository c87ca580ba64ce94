import { sql } from 'drizzle-orm'
import { assertThat } from '../../../platform/db/guard.ts'
import type { PlannedRequest } from './rules/plan.ts'
import type { AuthorityRequest, CfdiSource } from './rules/requests.ts'

export interface ConversationRow {
  due_at: number | null
  busy_until: number
  refused: string | null
  failures: number
}

type StoredRequest = Omit<AuthorityRequest, 'months' | 'packages'> & { months: string; packages: string }

const readRequest = ({ months, packages, ...row }: StoredRequest): AuthorityRequest => ({
  ...row,
  months: JSON.parse(months) as string[],
  packages: JSON.parse(packages) as AuthorityRequest['packages'],
})

/** The conversation about a taxpayer, and its requests: all of them, or those for a source. One call. */
export async function readConversation(ledger: D1Database, entity: number, source: CfdiSource | null = null) {
  const [conversation, requests] = await ledger.batch<unknown>([
    ledger.prepare('select due_at, busy_until, refused, failures from authority_conversations where entity = ?').bind(entity),
    ledger.prepare('select * from authority_requests where entity = ?1 and (?2 is null or source = ?2) order by n').bind(entity, source),
  ])
  return {
    conversation: (conversation!.results[0] ?? null) as ConversationRow | null,
    requests: (requests!.results as StoredRequest[]).map(readRequest),
  }
}

/** Makes the conversation due at an instant, unless it is earlier. Returns whether that changed anything. */
export const makeDue = async (ledger: D1Database, entity: number, due_at: number): Promise<boolean> =>
  (
    await ledger
      .prepare(
        `insert into authority_conversations (entity, due_at) values (?1, ?2)
         on conflict do update set due_at = excluded.due_at where due_at is null or due_at > excluded.due_at`,
      )
      .bind(entity, due_at)
      .run()
  ).meta.changes > 0

/** A turn of the worker that holds the conversation. */
export interface Turn {
  entity: number
  token: string
  /** When the conversation goes on if this worker dies. */
  due_at: number
}

/** Takes the conversation when it is due and nobody holds it. A check that finds a request still waiting writes nothing else. */
export const takeTurn = async (ledger: D1Database, { entity, token, due_at }: Turn, now: number, busy_until: number): Promise<boolean> =>
  (
    await ledger
      .prepare(
        'update authority_conversations set token = ?2, due_at = ?3, busy_until = ?5 where entity = ?1 and due_at <= ?4 and busy_until <= ?4',
      )
      .bind(entity, token, due_at, now, busy_until)
      .run()
  ).meta.changes > 0

export const extendTurn = (ledger: D1Database, { entity, token }: Turn, busy_until: number) =>
  ledger
    .prepare('update authority_conversations set busy_until = ?3 where entity = ?1 and token = ?2')
    .bind(entity, token, busy_until)
    .run()

/** Changes when the conversation goes on if the worker of a turn dies, unless somebody made it due earlier meanwhile. */
export const moveTurn = (ledger: D1Database, { entity, token, due_at }: Turn, next: number): D1PreparedStatement =>
  ledger
    .prepare('update authority_conversations set due_at = ?4 where entity = ?1 and token = ?2 and due_at is ?3')
    .bind(entity, token, due_at, next)

/**
 * Ends a turn: the conversation goes on at an instant, or earlier when somebody made it due meanwhile; never when that is null. Returns when,
 * and undefined when somebody else holds it.
 */
export async function endTurn(
  ledger: D1Database,
  { entity, token, due_at }: Turn,
  next: number | null,
  failures: number,
): Promise<number | null | undefined> {
  const { results } = await ledger
    .prepare(
      `update authority_conversations set busy_until = 0, token = null, failures = ?5,
         due_at = iif(due_at is ?3, ?4, coalesce(min(due_at, ?4), due_at, ?4))
       where entity = ?1 and token = ?2 returning due_at`,
    )
    .bind(entity, token, due_at, next, failures)
    .all<{ due_at: number | null }>()
  return results.length === 0 ? undefined : results[0]!.due_at
}

/** The guard of what only the holder of a conversation writes. */
export const HELD_GUARD = 'authority_conversation.held'

/** Commits statements unless somebody else holds the conversation. */
export const commitTurn = (ledger: D1Database, { entity, token }: Turn, statements: readonly D1PreparedStatement[]) =>
  ledger.batch([
    assertThat(ledger, sql`exists (select 1 from authority_conversations where entity = ${entity} and token = ${token})`, HELD_GUARD),
    ...statements,
  ])

/** Inserts requests that are to be made from an instant on. */
export const insertRequests = (
  ledger: D1Database,
  entity: number,
  planned: readonly PlannedRequest[],
  { asked_at, attempts }: { asked_at: number; attempts: number },
): D1PreparedStatement[] =>
  planned.map(({ family, source, kind, first, last, months }) =>
    ledger
      .prepare(
        `insert into authority_requests (entity, n, family, source, kind, first, last, months, state, asked_at, attempts)
         values (?1, (select coalesce(max(n), 0) + 1 from authority_requests where entity = ?1), ?2, ?3, ?4, ?5, ?6, ?7, 'planned', ?8, ?9)`,
      )
      .bind(entity, family, source, kind, first, last, JSON.stringify(months), asked_at, attempts),
  )

type Changes = Partial<
  Pick<
    AuthorityRequest,
    'first' | 'last' | 'state' | 'request_id' | 'code' | 'message' | 'announced' | 'packages' | 'asked_at' | 'attempts'
  >
>

/** Changes a request. */
export const updateRequest = (ledger: D1Database, entity: number, n: number, changes: Changes): D1PreparedStatement => {
  const names = Object.keys(changes) as (keyof Changes)[]
  const values = names.map((name) => (name === 'packages' ? JSON.stringify(changes.packages) : (changes[name] as string | number | null)))
  return ledger
    .prepare(`update authority_requests set ${names.map((name, i) => `${name} = ?${i + 3}`).join(', ')} where entity = ?1 and n = ?2`)
    .bind(entity, n, ...values)
}

/** Notes which certificate the authority has refused, or forgets it. */
export const noteRefusal = (ledger: D1Database, entity: number, refused: string | null): D1PreparedStatement =>
  ledger.prepare('update authority_conversations set refused = ?2 where entity = ?1').bind(entity, refused)
