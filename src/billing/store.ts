import { and, asc, desc, eq, isNull, lt, lte, or, sql } from 'drizzle-orm'
import { organizations } from '../account/tables.ts'
import type { Database } from '../db/commit.ts'
import type { Suspension, Terms } from './standing.ts'
import { billingCustomers, invoices, operatorOrders, providerEvents } from './tables.ts'

export type InvoiceRow = typeof invoices.$inferSelect

/** What an organization's standing follows from, as it is stored, and how many seats it holds. */
export interface StoredTerms extends Terms {
  suspension: Suspension | null
  /** Connections that hold a seat: active ones, and those whose CIEC has become invalid. */
  held: number
  /** Connections that are not drafts, paused ones included. */
  connected: number
}

/** What the standing of an organization follows from, and what was made of it. */
export type ReviewedTerms = Terms & { id: string; suspension: Suspension | null }

const HOLDS = `state in ('active', 'invalid_ciec')`
const CONNECTED = `state in ('active', 'invalid_ciec') or (state = 'paused' and paused_from is not 'draft')`
const OLDEST_DUE = `(select min(due_on) from invoices where organization_id = organizations.id and status = 'open')`
const counted = (which: string): string =>
  `(select count(*) from connections where organization_id = organizations.id and rfc is not ?2 and (${which}))`
const TERMS = `plan, rfc_allowance, trial_ends_at, timezone, suspension, ${OLDEST_DUE} as oldest_due`

type Raw<T extends Terms> = Omit<T, 'trial_ends_at'> & { trial_ends_at: number | null }

const termsOf = <T extends Terms>(row: Raw<T>) => ({
  ...row,
  trial_ends_at: row.trial_ends_at === null ? null : new Date(row.trial_ends_at),
})

/** The organization's terms; seats are counted without those of one RFC. Undefined when there is no such organization. */
export async function findTerms(db: Database, organization_id: string, rfc: string | null = null): Promise<StoredTerms | undefined> {
  const row = await db.$client
    .prepare(`select ${TERMS}, ${counted(HOLDS)} as held, ${counted(CONNECTED)} as connected from organizations where id = ?1`)
    .bind(organization_id, rfc)
    .first<Raw<StoredTerms>>()
  return row ? termsOf(row) : undefined
}

/** What the standing of several organizations follows from. */
export const listTerms = async (db: Database, organization_ids: readonly string[]): Promise<ReviewedTerms[]> =>
  (
    await db.$client
      .prepare(`select id, ${TERMS} from organizations where id in (select value from json_each(?1))`)
      .bind(JSON.stringify(organization_ids))
      .all<Raw<ReviewedTerms>>()
  ).results.map(termsOf)

/**
 * Refuses its whole batch with a guard violation, by making a count null, unless what comes before it in the batch has left these terms,
 * and the suspension is still the one that was read: what was decided on holds when it is committed.
 */
export const holdTerms = (
  db: Database,
  organization_id: string,
  { plan, rfc_allowance, trial_ends_at, oldest_due }: Terms,
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
export const holdSeat = (
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

const one = (organization_id: string, invoice_id: string) =>
  and(eq(invoices.invoice_id, invoice_id), eq(invoices.organization_id, organization_id))

export const findInvoice = async (db: Database, organization_id: string, invoice_id: string): Promise<InvoiceRow | undefined> =>
  (await db.select().from(invoices).where(one(organization_id, invoice_id)).limit(1))[0]

export const listInvoiceRows = (db: Database, organization_id: string, before: number | undefined, limit: number) =>
  db
    .select()
    .from(invoices)
    .where(and(eq(invoices.organization_id, organization_id), before === undefined ? undefined : lt(invoices.sequence, before)))
    .orderBy(desc(invoices.sequence))
    .limit(limit)

/** The organization's open invoices, oldest first. */
export const listOpen = (db: Database, organization_id: string) =>
  db
    .select()
    .from(invoices)
    .where(and(eq(invoices.organization_id, organization_id), eq(invoices.status, 'open')))
    .orderBy(invoices.due_on)

/** Adds an open invoice under the organization's next number; a month that has one by the same kind of rule keeps that. */
export const insertInvoice = (
  db: Database,
  row: Omit<InvoiceRow, 'sequence' | 'status' | 'paid_at' | 'provider_ref' | 'tell_at'>,
): D1PreparedStatement =>
  db.$client
    .prepare(
      `insert into invoices (
         invoice_id, organization_id, sequence, period, subtotal, tax, total, currency, status, issued_at, due_on, rule_ref, review_at)
       select ?1, ?2, (select coalesce(max(sequence), 0) + 1 from invoices where organization_id = ?2), ?3, ?4, ?5, ?6, ?7, 'open', ?8, ?9, ?10, ?11
       where true on conflict do nothing`,
    )
    .bind(
      row.invoice_id,
      row.organization_id,
      row.period,
      ...[row.subtotal, row.tax, row.total, row.currency],
      row.issued_at.getTime(),
      row.due_on,
      row.rule_ref,
      row.review_at?.getTime() ?? null,
    )

/** Marks an invoice paid; refuses its whole batch, by making the status null, when it is not open any more. */
export const markPaid = (db: Database, { organization_id, invoice_id }: InvoiceRow, now: Date) =>
  db.update(invoices).set({ status: sql`case when status = 'open' then 'paid' end`, paid_at: now }).where(one(organization_id, invoice_id))

/** Organizations whose grace or trial has ended, in no order; some perhaps twice. */
export const findExpired = async (db: Database, now: Date, limit: number): Promise<string[]> =>
  (
    await db.$client
      .prepare(
        `select organization_id from invoices indexed by invoices_review where status = 'open' and review_at is not null and review_at <= ?1
         union all select id from organizations indexed by organizations_trial
           where plan = 'diagnostic' and suspension is null and trial_ends_at <= ?1
         limit ?2`,
      )
      .bind(now.getTime(), limit)
      .raw<[string]>()
  ).flat()

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
           select o.id from invoices i cross join organizations o on o.id = i.organization_id
             where i.status = 'open' and i.due_on <= ?2 and o.suspension is not 'payment'
           union select id from organizations where plan = 'diagnostic' and suspension is null and trial_ends_at <= ?1
           union select id from organizations where suspension is not null and suspension = 'trial'
             and (plan <> 'diagnostic' or trial_ends_at is null or trial_ends_at > ?1)
           union select o.id from organizations o where o.suspension is not null and o.suspension = 'payment'
             and not exists (select 1 from invoices i where i.organization_id = o.id and i.status = 'open' and i.due_on <= ?2)
         ) where id > ?3 order by id limit ?4`,
      )
      .bind(now.getTime(), due, after, limit)
      .raw<[string]>()
  ).flat()

/** Zones that organizations are in. */
export const organizationZones = async (db: Database): Promise<string[]> =>
  (await db.selectDistinct({ timezone: organizations.timezone }).from(organizations)).map(({ timezone }) => timezone)

export interface Unbilled {
  id: string
  plan: string
  suspension: Suspension | null
  billed_month: string | null
  active_rfcs: number
}

/** A page of the organizations of a zone whose month has not been looked at, with the RFCs that are active now. */
export const findUnbilled = async (db: Database, timezone: string, month: string, limit: number): Promise<Unbilled[]> =>
  (
    await db.$client
      .prepare(
        `select id, plan, suspension, billed_month,
           (select count(*) from connections where organization_id = organizations.id and state = 'active') as active_rfcs
         from organizations where timezone = ?1 and (billed_month is null or billed_month < ?2) limit ?3`,
      )
      .bind(timezone, month, limit)
      .all<Unbilled>()
  ).results

/** The month has been looked at; refuses its whole batch, by making a count null, when somebody else was faster or the terms changed. */
export const closeMonth = (db: Database, { id, plan, suspension, billed_month }: Unbilled, month: string): D1PreparedStatement =>
  db.$client
    .prepare(
      `update organizations set billed_month = ?2,
         extractor_count = case when billed_month is ?3 and plan = ?4 and suspension is ?5 then extractor_count end
       where id = ?1`,
    )
    .bind(id, month, billed_month, plan, suspension)

/** Open invoices that the provider has not been told of and that it is time to tell, those that never were tried first. */
export const untoldInvoices = (db: Database, now: Date, limit: number) =>
  db
    .select()
    .from(invoices)
    .where(and(eq(invoices.status, 'open'), isNull(invoices.provider_ref), or(isNull(invoices.tell_at), lte(invoices.tell_at, now))))
    .orderBy(asc(invoices.tell_at))
    .limit(limit)

export const tellAgain = (db: Database, { organization_id, invoice_id }: InvoiceRow, tell_at: Date) =>
  db.update(invoices).set({ tell_at }).where(one(organization_id, invoice_id))

export const setProviderRef = (db: Database, { organization_id, invoice_id }: InvoiceRow, provider_ref: string) =>
  db.update(invoices).set({ provider_ref }).where(one(organization_id, invoice_id))

/** The invoice that the provider calls so, or else one of this id: the provider may know it before its name for it is kept here. */
export const findPaidInvoice = async (db: Database, provider_ref: string, invoice_id: string | undefined) => {
  const named = await db.select().from(invoices).where(eq(invoices.provider_ref, provider_ref)).limit(1)
  if (named[0] || invoice_id === undefined) return named[0]
  return (await db.select().from(invoices).where(eq(invoices.invoice_id, invoice_id)).limit(1))[0]
}

export const findCustomer = async (db: Database, organization_id: string): Promise<string | undefined> =>
  (await db.select().from(billingCustomers).where(eq(billingCustomers.organization_id, organization_id)).limit(1))[0]?.customer_ref

export const keepCustomer = (db: Database, row: typeof billingCustomers.$inferSelect) =>
  db.insert(billingCustomers).values(row).onConflictDoNothing()

/** Refuses its whole batch with a unique violation when the event, or another about the same payment, was there before. */
export const insertEvent = (db: Database, row: typeof providerEvents.$inferSelect) => db.insert(providerEvents).values(row)

export type OrderRow = typeof operatorOrders.$inferSelect

export const openOrders = (db: Database, limit: number) =>
  db.select().from(operatorOrders).where(isNull(operatorOrders.done_at)).orderBy(asc(operatorOrders.created_at)).limit(limit)

export const finishOrder = (db: Database, { order_id }: OrderRow, done_at: Date, refused: string | null = null) =>
  db.update(operatorOrders).set({ done_at, refused }).where(eq(operatorOrders.order_id, order_id))
