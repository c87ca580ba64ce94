import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { Database } from '../../../platform/db/commit.ts'
import { prepared } from '../../../platform/db/statement.ts'
import { organizations } from '../../../platform/tenant/tables.ts'

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
  const [invoices, trials, owing] = await db.$client.batch<{ at: number; key: string; id: string }>([
    prepared(
      db.$client,
      sql`select review_at as at, invoice_id as key, organization_id as id from invoices indexed by invoices_review
        where status = 'open' and review_at is not null and review_at <= ${now.getTime()}
          and (review_at, invoice_id) > (${after[0]}, ${after[1]})
        order by review_at, invoice_id limit ${limit}`,
    ),
    prepared(
      db.$client,
      sql`select ${o.trial_ends_at} as at, ${o.id} as key, ${o.id} from ${organizations} ${o} indexed by organizations_trial
        where ${o.plan} = 'diagnostic' and ${o.suspension} is null and ${o.trial_ends_at} <= ${now.getTime()}
          and (${o.trial_ends_at}, ${o.id}) > (${after[2]}, ${after[3]})
        order by ${o.trial_ends_at}, ${o.id} limit ${limit}`,
    ),
    ...(after === FIRST_EXPIRED ? [prepared(db.$client, sql`${OWES_NOTHING(due)} order by ${o.id} limit ${limit}`)] : []),
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
export const clearReviews = (db: Database, organization_ids: readonly string[], now: Date): D1PreparedStatement =>
  prepared(
    db.$client,
    sql`update invoices set review_at = null
       where organization_id in (select value from json_each(${JSON.stringify(organization_ids)})) and status = 'open'
         and review_at <= ${now.getTime()}`,
  )

/** Has the end of a grace period acted upon again, because the suspension that it began has ended before. */
export const restoreReview = (
  db: Database,
  organization_id: string,
  { due_on, grace_until }: { due_on: string; grace_until: Date },
): D1PreparedStatement =>
  prepared(
    db.$client,
    sql`update invoices set review_at = ${grace_until.getTime()}
       where organization_id = ${organization_id} and status = 'open' and due_on = ${due_on} and review_at is null`,
  )

/** Organizations whose stored suspension may differ from what their subscription implies, in the order of their ids, behind `after`. */
export const findStaleSuspensions = async (
  db: Database,
  { now, due, after, limit }: { now: Date; due: string; after: string; limit: number },
): Promise<string[]> =>
  (
    await prepared(
      db.$client,
      sql`select id from (
           select ${o.id} from invoices i indexed by invoices_due cross join ${organizations} ${o} on ${o.id} = i.organization_id
             where i.status = 'open' and i.due_on <= ${due} and ${o.suspension} is not 'payment'
           union select ${o.id} from ${organizations} ${o} indexed by organizations_trial
             where ${o.plan} = 'diagnostic' and ${o.suspension} is null and ${o.trial_ends_at} <= ${now.getTime()}
           union select ${o.id} from ${organizations} ${o} indexed by organizations_suspended
             where ${o.suspension} is not null and ${o.suspension} = 'trial'
               and (${o.plan} <> 'diagnostic' or ${o.trial_ends_at} is null or ${o.trial_ends_at} > ${now.getTime()})
           union ${OWES_NOTHING(due)}
         ) where +id > ${after} order by id limit ${limit}`,
    ).raw<[string]>()
  ).flat()
