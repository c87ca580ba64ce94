import { type SQL, sql } from 'drizzle-orm'
import type { Database } from '../../../platform/db/commit.ts'
import { assertThat } from '../../../platform/db/guard.ts'
import { bare, prepared } from '../../../platform/db/statement.ts'
import { organizations } from '../../../platform/tenant/tables.ts'
import type { Suspension } from '../../../platform/tenant/tenant.ts'
import { connections } from '../../../taxpayers/tables.ts'
import type { Subscription } from './status.ts'
import { trials } from './tables.ts'

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
  const row = await prepared(
    db.$client,
    sql`select ${SUBSCRIPTION}, ${countConnections(TAKES_SEAT, exceptRfc)} as seats_used,
      ${countConnections(EVER_CONNECTED, exceptRfc)} as ever_connected
      from ${organizations} where ${id} = ${organization_id}`,
  ).first<Raw<StoredSubscription>>()
  return row ? parsed(row) : undefined
}

/** The subscriptions of several organizations. */
export const listSubscriptions = async (db: Database, organization_ids: readonly string[]): Promise<ListedSubscription[]> =>
  (
    await prepared(
      db.$client,
      sql`select ${id}, ${SUBSCRIPTION} from ${organizations} where ${id} in (select value from json_each(${JSON.stringify(organization_ids)}))`,
    ).all<Raw<ListedSubscription>>()
  ).results.map(parsed)

/** The name of the guard that refuses a change whose payment event or operator command was applied before. */
export const APPLIED_ONCE = 'billing.applied_once'

/** Refuses its batch unless the statements before it leave this subscription, and the stored suspension is still this one. */
export const assertSubscription = (
  db: Database,
  organization_id: string,
  read: Subscription,
  suspended: Suspension | null,
): D1PreparedStatement =>
  assertThat(
    db.$client,
    sql`exists (select 1 from ${organizations} where ${id} = ${organization_id} and ${plan} = ${read.plan}
      and ${rfc_allowance} is ${read.rfc_allowance} and ${trial_ends_at} is ${read.trial_ends_at?.getTime() ?? null}
      and ${suspension} is ${suspended} and ${OLDEST_DUE} is ${read.oldest_due})`,
    'subscription.unchanged',
  )

/** Refuses its batch unless each of these subscriptions and suspensions is as it was read. */
export const assertSubscriptions = (db: Database, rows: readonly ListedSubscription[]): D1PreparedStatement => {
  const read = rows.map((row) => [
    row.id,
    row.plan,
    row.rfc_allowance,
    row.trial_ends_at?.getTime() ?? null,
    row.suspension,
    row.oldest_due,
  ])
  return assertThat(
    db.$client,
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
export const assertSeat = (
  db: Database,
  organization_id: string,
  seat: { plan: string; rfc: string; allowance: number | null; isTrial: boolean },
): D1PreparedStatement =>
  assertThat(
    db.$client,
    sql`exists (select 1 from ${organizations} where ${id} = ${organization_id} and ${suspension} is null and ${plan} = ${seat.plan}
      ${seat.isTrial ? sql`and not ${IS_TRIAL_USED}` : undefined}
      and (${seat.allowance} is null
        or ${countConnections(seat.isTrial ? EVER_CONNECTED : TAKES_SEAT, seat.rfc)} < ${seat.allowance}))`,
    'subscription.free_seat',
  )

/** Uses the trial of the organization's e-mail address, unless it is used already. */
export const recordTrial = (db: Database, organization_id: string, now: Date): D1PreparedStatement =>
  prepared(
    db.$client,
    sql`insert into ${trials} ${[trials.email, trials.organization_id, trials.started_at].map(bare)}
      select ${trial_email}, ${id}, ${now.getTime()} from ${organizations} where ${id} = ${organization_id} and ${trial_email} is not null
        on conflict do nothing`,
  )
