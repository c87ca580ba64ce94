import { and, eq, lte, or, type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { Database } from '../../platform/db/commit.ts'
import { bare, changesOf, readRows } from '../../platform/db/statement.ts'
import { ciecAttempts, connections, fiscalEntities } from '../tables.ts'

const [a, c, f, n] = [alias(ciecAttempts, 'a'), alias(connections, 'c'), alias(fiscalEntities, 'f'), alias(ciecAttempts, 'n')]

export type AttemptRow = typeof ciecAttempts.$inferSelect

/** At most so many attempts in so many milliseconds. */
export interface AttemptLimit {
  attempts: number
  milliseconds: number
}

/** What strangers may send of refused CIECs for an RFC in so many milliseconds. */
export interface StrangerLimits {
  milliseconds: number
  /** All of them, and those of one network. */
  all: number
  /** All of them, when each further one is the first of its organization and of its network. */
  most: number
  network: number
  /** Those of one network, for the first CIEC of an organization. */
  networkOfFirst: number
}

const { attempt_id, organization_id, rfc, kind, network, is_stranger, state, attempted_at } = ciecAttempts
const COLUMNS = [attempt_id, organization_id, rfc, kind, network, is_stranger, state, attempted_at].map(bare)

/** Inserts an attempt, unless a limit is reached. Returns whether it was inserted. */
export const insertAttempt = async (
  db: Database,
  row: AttemptRow,
  limits: { ofOrganization: AttemptLimit; ofStrangers: StrangerLimits },
): Promise<boolean> => {
  const { ofOrganization, ofStrangers } = limits
  const since = ({ milliseconds }: { milliseconds: number }): SQL => sql`${attempted_at} > ${row.attempted_at.getTime() - milliseconds}`
  const counted = sql`${rfc} = ${row.rfc} and ${kind} = ${row.kind}`
  const own = sql`(select count(*) from ${ciecAttempts}
    where ${counted} and ${organization_id} = ${row.organization_id} and ${since(ofOrganization)})`
  const admitted = sql`exists (select 1 from (
      select count(*) as every, count(*) filter (where ${organization_id} = ${row.organization_id}) as own,
        count(*) filter (where ${network} = ${row.network}) as near
      from ${ciecAttempts} where ${counted} and ${is_stranger} = 1 and ${since(ofStrangers)})
    where (every < ${ofStrangers.all} or (own = 0 and near = 0 and every < ${ofStrangers.most}))
      and (near < ${ofStrangers.network} or (own = 0 and near < ${ofStrangers.networkOfFirst})))`
  const inserted = await changesOf(
    db.$client,
    sql`insert into ${ciecAttempts} ${COLUMNS}
      select ${row.attempt_id}, ${row.organization_id}, ${row.rfc}, ${row.kind}, ${row.network}, ${Number(row.is_stranger)}, ${row.state},
        ${row.attempted_at.getTime()}
      where ${own} < ${ofOrganization.attempts}
        and ${row.kind === 'ciec' && row.is_stranger ? admitted : sql`true`}`,
  )
  return inserted > 0
}

/** The attempts that may count against one by this organization, in no order. */
export const attemptsAgainst = (db: Database, row: AttemptRow) =>
  db
    .select()
    .from(ciecAttempts)
    .where(
      and(
        eq(rfc, row.rfc),
        eq(kind, row.kind),
        or(eq(organization_id, row.organization_id), row.is_stranger ? eq(is_stranger, true) : undefined),
      ),
    )

export const deleteAttempt = (db: Database, id: string) => db.delete(ciecAttempts).where(eq(attempt_id, id))

export const refuseAttempt = (db: Database, id: string) => db.update(ciecAttempts).set({ state: 'refused' }).where(eq(attempt_id, id))

export const deleteAttempts = (db: Database, until: Date) => db.delete(ciecAttempts).where(lte(attempted_at, until))

/** A connection to an RFC for which others sent wrong CIECs or e.firmas, and the time of the attempt that causes its alert. */
export interface GuessedRow extends Pick<typeof connections.$inferSelect, 'organization_id' | 'fiscal_entity_id' | 'rfc'> {
  events_shard: number
  attempted_at: number
}

/**
 * Finds the connections for whose RFC so many CIECs and e.firmas of other organizations had been refused by one attempt, or by each that is stored: the
 * active and paused ones, those that were paused as drafts excepted. What was sent at about the same time counts.
 */
export const findGuessed = (
  db: Database,
  { attempts, milliseconds }: AttemptLimit,
  within: number,
  attempt_id?: string,
): Promise<GuessedRow[]> =>
  readRows<GuessedRow>(
    db.$client,
    sql`select ${c.organization_id}, o.events_shard, ${c.fiscal_entity_id}, ${a.rfc}, ${a.attempted_at}
        from ${ciecAttempts} ${a} cross join ${fiscalEntities} ${f} on ${f.rfc} = ${a.rfc}
        cross join ${connections} ${c} indexed by connections_entity on ${c.entity} = ${f.entity}
          and (${c.state} = 'active' or (${c.state} = 'paused' and ${c.paused_from} <> 'draft'))
        cross join organizations o on o.id = ${c.organization_id}
        where ${a.state} = 'refused' and ${attempt_id === undefined ? sql`true` : sql`${a.attempt_id} = ${attempt_id}`} and (
          select count(*) from ${ciecAttempts} ${n} where ${n.rfc} = ${a.rfc} and ${n.organization_id} <> ${c.organization_id}
            and ${n.state} = 'refused'
            and ${n.attempted_at} > ${a.attempted_at} - ${milliseconds}
              and ${n.attempted_at} <= ${a.attempted_at} + ${within}) >= ${attempts}`,
  )
