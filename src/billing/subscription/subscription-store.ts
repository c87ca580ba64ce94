import { eq } from 'drizzle-orm'
import { organizations } from '../../identity/organization/tables.ts'
import type { Database } from '../../platform/db/commit.ts'
import type { Suspension } from '../../platform/tenant.ts'
import type { Subscription } from './status.ts'

/** What an organization's standing follows from, as it is stored, and how many seats it holds. */
export interface StoredSubscription extends Subscription {
  suspension: Suspension | null
  /** Connections that hold a seat: active ones, and those whose CIEC has become invalid. */
  held: number
  /** Connections that are not drafts, paused ones included. */
  connected: number
}

/** What the standing of an organization follows from, and what was made of it. */
export type ReviewedSubscription = Subscription & { id: string; suspension: Suspension | null }

const HOLDS = `state in ('active', 'invalid_ciec')`
const CONNECTED = `state in ('active', 'invalid_ciec') or (state = 'paused' and paused_from is not 'draft')`
const OLDEST_DUE = `(select min(due_on) from invoices where organization_id = organizations.id and status = 'open')`
const counted = (which: string): string =>
  `(select count(*) from connections where organization_id = organizations.id and rfc is not ?2 and (${which}))`
const TERMS = `plan, rfc_allowance, trial_ends_at, timezone, suspension, ${OLDEST_DUE} as oldest_due`

type Raw<T extends Subscription> = Omit<T, 'trial_ends_at'> & { trial_ends_at: number | null }

const termsOf = <T extends Subscription>(row: Raw<T>) => ({
  ...row,
  trial_ends_at: row.trial_ends_at === null ? null : new Date(row.trial_ends_at),
})

/** The organization's terms; seats are counted without those of one RFC. Undefined when there is no such organization. */
export async function findSubscription(
  db: Database,
  organization_id: string,
  rfc: string | null = null,
): Promise<StoredSubscription | undefined> {
  const row = await db.$client
    .prepare(`select ${TERMS}, ${counted(HOLDS)} as held, ${counted(CONNECTED)} as connected from organizations where id = ?1`)
    .bind(organization_id, rfc)
    .first<Raw<StoredSubscription>>()
  return row ? termsOf(row) : undefined
}

/** What the standing of several organizations follows from. */
export const listSubscriptions = async (db: Database, organization_ids: readonly string[]): Promise<ReviewedSubscription[]> =>
  (
    await db.$client
      .prepare(`select id, ${TERMS} from organizations where id in (select value from json_each(?1))`)
      .bind(JSON.stringify(organization_ids))
      .all<Raw<ReviewedSubscription>>()
  ).results.map(termsOf)

/**
 * Refuses its whole batch with a guard violation, by making a count null, unless what comes before it in the batch has left these terms,
 * and the suspension is still the one that was read: what was decided on holds when it is committed.
 */
export const assertSubscription = (
  db: Database,
  organization_id: string,
  { plan, rfc_allowance, trial_ends_at, oldest_due }: Subscription,
  suspension: Suspension | null,
): D1PreparedStatement =>
  db.$client
    .prepare(
      `update organizations set extractor_count = case
         when plan = ?2 and rfc_allowance is ?3 and trial_ends_at is ?4 and suspension is ?5 and ${OLDEST_DUE} is ?6
         then extractor_count end
       where id = ?1`,
    )
    .bind(organization_id, plan, rfc_allowance, trial_ends_at?.getTime() ?? null, suspension, oldest_due)

/** Refuses its whole batch likewise, unless the organization is not suspended and other RFCs leave a seat of the plan free; null is without limit. */
export const assertSeat = (
  db: Database,
  organization_id: string,
  { plan, rfc, allowance, isTrial }: { plan: string; rfc: string; allowance: number | null; isTrial: boolean },
): D1PreparedStatement =>
  db.$client
    .prepare(
      `update organizations set extractor_count = case
         when suspension is null and plan = ?3 and (?4 is null or ${counted(isTrial ? CONNECTED : HOLDS)} < ?4) then extractor_count end
       where id = ?1`,
    )
    .bind(organization_id, rfc, plan, allowance)

export const setSuspension = (db: Database, organization_id: string, suspension: Suspension | null) =>
  db.update(organizations).set({ suspension }).where(eq(organizations.id, organization_id))

/** The last invoice and the last trial that were looked at: when they end, and their ids. */
export type ReviewPosition = readonly [review_at: number, invoice_id: string, trial_ends_at: number, organization_id: string]

/** A page of the organizations whose grace or trial has ended, behind what was looked at; `looked` is null when there are no more. */
export async function findExpired(
  db: Database,
  now: Date,
  looked: ReviewPosition,
  limit: number,
): Promise<{ ids: string[]; looked: ReviewPosition | null }> {
  const prepare = (sql: string, at: number, id: string) => db.$client.prepare(sql).bind(now.getTime(), at, id, limit)
  const [owing, trials] = await db.$client.batch<{ at: number; key: string; id: string }>([
    prepare(
      `select review_at as at, invoice_id as key, organization_id as id from invoices indexed by invoices_review
       where status = 'open' and review_at is not null and review_at <= ?1 and (review_at, invoice_id) > (?2, ?3)
       order by review_at, invoice_id limit ?4`,
      looked[0],
      looked[1],
    ),
    prepare(
      `select trial_ends_at as at, id as key, id from organizations indexed by organizations_trial
       where plan = 'diagnostic' and suspension is null and trial_ends_at <= ?1 and (trial_ends_at, id) > (?2, ?3)
       order by trial_ends_at, id limit ?4`,
      looked[2],
      looked[3],
    ),
  ])
  const pages = [owing!.results, trials!.results]
  const [last, lastTrial] = pages.map((page) => page.at(-1))
  const next = [last?.at ?? looked[0], last?.key ?? looked[1], lastTrial?.at ?? looked[2], lastTrial?.key ?? looked[3]] as const
  return {
    ids: [...new Set(pages.flat().map(({ id }) => id))],
    looked: pages.some((page) => page.length === limit) ? next : null,
  }
}

/** The ends of these organizations' graces have been acted upon. */
export const forgetReviews = (db: Database, organization_ids: readonly string[], now: Date): D1PreparedStatement =>
  db.$client
    .prepare(
      `update invoices set review_at = null
       where organization_id in (select value from json_each(?1)) and status = 'open' and review_at <= ?2`,
    )
    .bind(JSON.stringify(organization_ids), now.getTime())

/** Organizations whose stored suspension may not be what their terms say, in the order of their ids, after one of them. */
export const findUnsettled = async (
  db: Database,
  { now, due, after, limit }: { now: Date; due: string; after: string; limit: number },
): Promise<string[]> =>
  (
    await db.$client
      .prepare(
        `select id from (
           select o.id from invoices i indexed by invoices_due cross join organizations o on o.id = i.organization_id
             where i.status = 'open' and i.due_on <= ?2 and o.suspension is not 'payment'
           union select id from organizations indexed by organizations_trial
             where plan = 'diagnostic' and suspension is null and trial_ends_at <= ?1
           union select id from organizations indexed by organizations_suspended where suspension is not null and suspension = 'trial'
             and (plan <> 'diagnostic' or trial_ends_at is null or trial_ends_at > ?1)
           union select o.id from organizations o indexed by organizations_suspended where o.suspension is not null and o.suspension = 'payment'
             and not exists (select 1 from invoices i where i.organization_id = o.id and i.status = 'open' and i.due_on <= ?2)
         ) where +id > ?3 order by id limit ?4`,
      )
      .bind(now.getTime(), due, after, limit)
      .raw<[string]>()
  ).flat()
