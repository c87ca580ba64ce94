import { type SQL, sql } from 'drizzle-orm'
import { commit, connect } from '../../../platform/db/commit.ts'
import { bare, changesOf } from '../../../platform/db/statement.ts'
import { RowLease } from '../../../platform/work/lease.ts'
import type { PlannedRequest } from './rules/plan.ts'
import type { AuthorityRequest, CfdiSource } from './rules/requests.ts'
import { authorityConversations as conversations, authorityRequests as requests } from './tables.ts'

export type ConversationRow = Pick<typeof conversations.$inferSelect, 'due_at' | 'busy_until' | 'refused' | 'failures'>

type StoredRequest = Omit<AuthorityRequest, 'months' | 'packages'> & { months: string; packages: string }

const readRequest = ({ months, packages, ...row }: StoredRequest): AuthorityRequest => ({
  ...row,
  months: JSON.parse(months) as string[],
  packages: JSON.parse(packages) as AuthorityRequest['packages'],
})

/** The conversation about a taxpayer, and its requests: all of them, or those for a source. One call. */
export async function readConversation(ledger: D1Database, entity: number, source: CfdiSource | null = null) {
  const { due_at, busy_until, refused, failures } = conversations
  const isAsked = source === null ? sql`` : sql`and ${requests.source} = ${source}`
  const [conversation, asked] = await commit<unknown>(ledger, [
    sql`select ${due_at}, ${busy_until}, ${refused}, ${failures} from ${conversations} where ${conversations.entity} = ${entity}`,
    sql`select * from ${requests} where ${requests.entity} = ${entity} ${isAsked} order by ${requests.n}`,
  ])
  return {
    conversation: (conversation!.results[0] ?? null) as ConversationRow | null,
    requests: (asked!.results as StoredRequest[]).map(readRequest),
  }
}

const DUE_AT = bare(conversations.due_at)

/** Makes the conversation due at an instant, unless it is earlier. Returns whether that changed anything. */
export const makeDue = async (ledger: D1Database, entity: number, due_at: number): Promise<boolean> =>
  (await changesOf(
    ledger,
    sql`insert into ${conversations} (${bare(conversations.entity)}, ${DUE_AT}) values (${entity}, ${due_at})
        on conflict do update set ${DUE_AT} = excluded.${DUE_AT} where ${conversations.due_at} is null or ${conversations.due_at} > excluded.${DUE_AT}`,
  )) > 0

/** The lease of a worker on a conversation. Only its holder writes what belongs to it. */
export const conversationLease = new RowLease<{ entity: number }>(conversations, ['entity'], { until: conversations.busy_until })

/** What a worker holds: a conversation. */
export interface ConversationLease {
  entity: number
  token: string
  /** When the conversation continues if this worker dies. */
  due_at: number
}

/** Takes the conversation when it is due and nobody holds it. A check that finds a request still waiting writes nothing else. */
export const takeLease = async (
  ledger: D1Database,
  { entity, token, due_at }: ConversationLease,
  now: number,
  busy_until: number,
): Promise<boolean> =>
  (
    await connect(ledger)
      .update(conversations)
      .set({ token, due_at, busy_until })
      .where(sql`${conversations.entity} = ${entity} and ${conversations.due_at} <= ${now} and ${conversations.busy_until} <= ${now}`)
  ).meta.changes > 0

/** Changes when the conversation continues if the worker of a session dies, unless somebody has made it due earlier. */
export const moveLease = (lease: ConversationLease, next: number): SQL =>
  sql`update ${conversations} set ${DUE_AT} = ${next} where ${conversationLease.isLeased(lease)} and ${conversations.due_at} is ${lease.due_at}`

/**
 * Releases the lease: the conversation continues at an instant, or earlier if somebody has made it due earlier; never when that is null.
 * Returns when, and undefined when somebody else holds it.
 */
export async function releaseLease(
  ledger: D1Database,
  lease: ConversationLease,
  next: number | null,
  failures: number,
): Promise<number | null | undefined> {
  const { due_at } = conversations
  const [ended] = await connect(ledger)
    .update(conversations)
    .set({
      busy_until: 0,
      token: null,
      failures,
      due_at: sql`iif(${due_at} is ${lease.due_at}, ${next}, coalesce(min(${due_at}, ${next}), ${due_at}, ${next}))`,
    })
    .where(conversationLease.isLeased(lease))
    .returning({ due_at })
  return ended?.due_at
}

const PLANNED = [
  ...[requests.entity, requests.n, requests.family, requests.source, requests.kind, requests.first, requests.last, requests.months],
  ...[requests.state, requests.asked_at, requests.attempts],
].map(bare)

/** Inserts requests that are to be made from an instant on. */
export const insertRequests = (
  entity: number,
  planned: readonly PlannedRequest[],
  { asked_at, attempts }: { asked_at: number; attempts: number },
): SQL[] =>
  planned.map(
    ({ family, source, kind, first, last, months }) =>
      sql`insert into ${requests} ${PLANNED} values (${entity},
        (select coalesce(max(${requests.n}), 0) + 1 from ${requests} where ${requests.entity} = ${entity}),
        ${family}, ${source}, ${kind}, ${first}, ${last}, ${JSON.stringify(months)}, 'planned', ${asked_at}, ${attempts})`,
  )

type Changes = Partial<Omit<AuthorityRequest, 'entity' | 'n' | 'family' | 'source' | 'kind' | 'months'>>

export const updateRequest = (entity: number, n: number, changes: Changes): SQL => {
  const names = Object.keys(changes) as (keyof Changes)[]
  const set = names.map((name) => sql`${bare(requests[name])} = ${name === 'packages' ? JSON.stringify(changes.packages) : changes[name]}`)
  return sql`update ${requests} set ${sql.join(set, sql`, `)} where ${requests.entity} = ${entity} and ${requests.n} = ${n}`
}

/** Notes which certificate the authority has refused, or forgets it. */
export const noteRefusal = (entity: number, refused: string | null): SQL =>
  sql`update ${conversations} set ${bare(conversations.refused)} = ${refused} where ${conversations.entity} = ${entity}`
