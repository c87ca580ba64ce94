import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { commit, type Database } from '../../../platform/db/commit.ts'
import { assertThat } from '../../../platform/db/guard.ts'
import { bare, readColumn, readFirst, readRows } from '../../../platform/db/statement.ts'
import { organizations } from '../../../platform/tenant/tables.ts'
import type { Suspension } from '../../../platform/tenant/tenant.ts'
import { connections } from '../../../taxpayers/tables.ts'
import { trials } from '../../tables.ts'
import type { Subscription } from './status.ts'

/** An organization's subscription as it is stored, with the connections that count against it. */
export interface StoredSubscription extends Subscription {
  suspension: Suspension | null
  /** Connections that take a seat: active ones, and those without a valid CIEC or e.firma. */
  seats_used: number
  /** RFCs that were ever connected with a CIEC or an e.firma, unlinked ones included. */
  ever_connected: number
}

/** A subscription among several, with the id of its organization. */
export type ListedSubscription = Subscription & { id: string; suspension: Suspension | null }

const { id, plan, rfc_allowance, trial_ends_at, trial_email, timezone, suspension } = organizations
const { state, paused_from, first_active_at } = connections

const TAKES_SEAT = sql`${state} in ('active', 'invalid_ciec')`
const EVER_CONNECTED = sql`${first_active_at} is not null or ${state} in ('active', 'invalid_ciec')
  or (${state} = 'paused' and ${paused_from} is not 'draft')`
const OLDEST_DUE = sql`(select min(due_on) from invoices where organization_id = ${id} and status = 'open')`
const IS_TRIAL_USED = sql`exists (
  select 1 from ${trials} where ${trials.email} = ${trial_email} and ${trials.organization_id} <> ${id})`
const SUBSCRIPTION = sql`${plan}, ${rfc_allowance}, ${trial_ends_at}, ${IS_TRIAL_USED} as is_trial_used, ${timezone}, ${suspension},
  ${OLDEST_DUE} as oldest_due`

const countConnections = (condition: SQL, exceptRfc: string | null): SQL =>
  sql`(select count(*) from ${connections}
    where ${connections.organization_id} = ${id} and ${connections.rfc} is not ${exceptRfc} and (${condition}))`

type Raw<T extends Subscription> = Omit<T, 'trial_ends_at' | 'is_trial_used'> & { trial_ends_at: number | null; is_trial_used: number }

const parsed = <T extends Subscription>(row: Raw<T>) => ({
  ...row,
  trial_ends_at: row.trial_ends_at === null ? null : new Date(row.trial_ends_at),
  is_trial_used: row.is_trial_used === 1,
})

/**
 * The organization's subscription; connections are counted without the one to `exceptRfc`. Undefined when there is no such organization.
 */
export async function findSubscription(
  db: Database,
  organization_id: string,
  exceptRfc: string | null = null,
): Promise<StoredSubscription | undefined> {
  const row = await readFirst(
    db.$client,
    sql<Raw<StoredSubscription>>`select ${SUBSCRIPTION}, ${countConnections(TAKES_SEAT, exceptRfc)} as seats_used,
      ${countConnections(EVER_CONNECTED, exceptRfc)} as ever_connected
      from ${organizations} where ${id} = ${organization_id}`,
  )
  return row ? parsed(row) : undefined
}

/** The subscriptions of several organizations. */
export const listSubscriptions = async (db: Database, organization_ids: readonly string[]): Promise<ListedSubscription[]> =>
  (
    await readRows<Raw<ListedSubscription>>(
      db.$client,
      sql`select ${id}, ${SUBSCRIPTION} from ${organizations} where ${id} in (select value from json_each(${JSON.stringify(organization_ids)}))`,
    )
  ).map(parsed)

/** The name of the guard that refuses a change whose payment event or operator command was applied before. */
export const APPLIED_ONCE = 'billing.applied_once'

/** Refuses its batch unless the statements before it leave this subscription, and the stored suspension is still this one. */
export const assertSubscription = (id: string, read: Subscription, suspension: Suspension | null): SQL =>
  assertSubscriptions([{ ...read, id, suspension }])

/** Refuses its batch unless each of these subscriptions and suspensions is as it was read. */
export const assertSubscriptions = (rows: readonly ListedSubscription[]): SQL => {
  const read = rows.map((row) => [
    ...[row.id, row.plan, row.rfc_allowance, row.trial_ends_at?.getTime() ?? null, row.suspension, row.oldest_due],
  ])
  return assertThat(
    sql`${rows.length} = (
      select count(*) from json_each(${JSON.stringify(read)}) j cross join ${organizations}
      where ${id} = j.value->>0 and ${plan} = j.value->>1 and ${rfc_allowance} is j.value->>2 and ${trial_ends_at} is j.value->>3
        and ${suspension} is j.value->>4 and ${OLDEST_DUE} is j.value->>5)`,
    'subscription.unchanged',
  )
}

/**
 * Refuses its batch unless the organization is not suspended and its other RFCs leave a seat of the plan free; a null allowance is
 * without limit. In the trial, every other RFC that was ever connected counts, and no other organization may have used the trial.
 */
export const assertSeat = (organization_id: string, seat: { plan: string; rfc: string; allowance: number | null; isTrial: boolean }): SQL =>
  assertThat(
    sql`exists (select 1 from ${organizations} where ${id} = ${organization_id} and ${suspension} is null and ${plan} = ${seat.plan}
      ${seat.isTrial ? sql`and not ${IS_TRIAL_USED}` : undefined}
      and (${seat.allowance} is null
        or ${countConnections(seat.isTrial ? EVER_CONNECTED : TAKES_SEAT, seat.rfc)} < ${seat.allowance}))`,
    'subscription.free_seat',
  )

/** Uses the trial of the organization's e-mail address, unless it is used already. */
export const recordTrial = (organization_id: string, now: Date): SQL =>
  sql`insert into ${trials} ${[trials.email, trials.organization_id, trials.started_at].map(bare)}
      select ${trial_email}, ${id}, ${now.getTime()} from ${organizations} where ${id} = ${organization_id} and ${trial_email} is not null
        on conflict do nothing`

// The folder of invoices imports this one, so that their table is named by words.
const o = alias(organizations, 'o')

/** Where the next page of expired organizations begins: behind this grace period and its invoice, and this trial and its organization. */
export type ExpiryCursor = readonly [review_at: number, invoice_id: string, trial_ends_at: number, organization_id: string]

/** The first page of expired organizations. */
export const FIRST_EXPIRED: ExpiryCursor = [0, '', 0, '']

/** Organizations that are suspended for an invoice and owe none whose grace period has ended by a day. */
const OWES_NOTHING = (due: string) => sql`select ${o.id} from ${organizations} ${o} indexed by organizations_suspended
  where ${o.suspension} is not null and ${o.suspension} = 'payment' and not exists (
    select 1 from invoices i where i.organization_id = ${o.id} and i.status = 'open' and i.due_on <= ${due})`

/**
 * A page of the organizations whose grace period or trial has ended, at most `limit` of each; `next` is null on the last page. The first page
 * has also those that are suspended for an invoice of which the grace period has not ended by the day `due`: a cron came with a later time.
 */
export async function findExpired(
  db: Database,
  { now, due }: { now: Date; due: string },
  after: ExpiryCursor,
  limit: number,
): Promise<{ ids: string[]; next: ExpiryCursor | null }> {
  const [invoices, trials, owing] = await commit<{ at: number; key: string; id: string }>(db.$client, [
    sql`select review_at as at, invoice_id as key, organization_id as id from invoices indexed by invoices_review
        where status = 'open' and review_at is not null and review_at <= ${now.getTime()}
          and (review_at, invoice_id) > (${after[0]}, ${after[1]})
        order by review_at, invoice_id limit ${limit}`,
    sql`select ${o.trial_ends_at} as at, ${o.id} as key, ${o.id} from ${organizations} ${o} indexed by organizations_trial
        where ${o.plan} = 'diagnostic' and ${o.suspension} is null and ${o.trial_ends_at} <= ${now.getTime()}
          and (${o.trial_ends_at}, ${o.id}) > (${after[2]}, ${after[3]})
        order by ${o.trial_ends_at}, ${o.id} limit ${limit}`,
    ...(after === FIRST_EXPIRED ? [sql`${OWES_NOTHING(due)} order by ${o.id} limit ${limit}`] : []),
  ])
  const pages = [invoices!.results, trials!.results]
  const [lastInvoice, lastTrial] = pages.map((page) => page.at(-1))
  const next = [lastInvoice?.at ?? after[0], lastInvoice?.key ?? after[1], lastTrial?.at ?? after[2], lastTrial?.key ?? after[3]] as const
  return {
    ids: [...new Set([...pages.flat(), ...(owing?.results ?? [])].map(({ id }) => id))],
    next: pages.some((page) => page.length === limit) ? next : null,
  }
}

/** Marks the ended grace periods of these organizations as acted upon. */
export const clearReviews = (organization_ids: readonly string[], now: Date): SQL =>
  sql`update invoices set review_at = null
       where organization_id in (select value from json_each(${JSON.stringify(organization_ids)})) and status = 'open'
         and review_at <= ${now.getTime()}`

/** Has the end of a grace period acted upon again, because the suspension that it began has ended before. */
export const restoreReview = (organization_id: string, { due_on, grace_until }: { due_on: string; grace_until: Date }): SQL =>
  sql`update invoices set review_at = ${grace_until.getTime()}
       where organization_id = ${organization_id} and status = 'open' and due_on = ${due_on} and review_at is null`

/** Organizations whose stored suspension may differ from what their subscription implies, in the order of their ids, behind `after`. */
export const findStaleSuspensions = (
  db: Database,
  { now, due, after, limit }: { now: Date; due: string; after: string; limit: number },
): Promise<string[]> =>
  readColumn(
    db.$client,
    sql<string>`select id from (
           select ${o.id} from invoices i indexed by invoices_due cross join ${organizations} ${o} on ${o.id} = i.organization_id
             where i.status = 'open' and i.due_on <= ${due} and ${o.suspension} is not 'payment'
           union select ${o.id} from ${organizations} ${o} indexed by organizations_trial
             where ${o.plan} = 'diagnostic' and ${o.suspension} is null and ${o.trial_ends_at} <= ${now.getTime()}
           union select ${o.id} from ${organizations} ${o} indexed by organizations_suspended
             where ${o.suspension} is not null and ${o.suspension} = 'trial'
               and (${o.plan} <> 'diagnostic' or ${o.trial_ends_at} is null or ${o.trial_ends_at} > ${now.getTime()})
           union ${OWES_NOTHING(due)}
         ) where +id > ${after} order by id limit ${limit}`,
  )
