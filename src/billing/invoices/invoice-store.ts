import { and, desc, eq, lt, sql } from 'drizzle-orm'
import type { Database } from '../../platform/db/commit.ts'
import type { Suspension } from '../../platform/tenant.ts'
import { invoices } from '../tables.ts'

export type InvoiceRow = typeof invoices.$inferSelect

/** The organization's invoice of this id. */
export const one = (organization_id: string, invoice_id: string) =>
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
  row: Omit<InvoiceRow, 'sequence' | 'status' | 'paid_at' | 'provider_ref' | 'tell_at' | 'pdf_url'>,
): D1PreparedStatement =>
  db.$client
    .prepare(
      `insert into invoices (
         invoice_id, organization_id, sequence, period, subtotal, tax, total, currency, status, issued_at, due_on, rule_ref, review_at, tell_at)
       select ?1, ?2, (select coalesce(max(sequence), 0) + 1 from invoices where organization_id = ?2), ?3, ?4, ?5, ?6, ?7, 'open', ?8, ?9, ?10, ?11, ?8
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

/** Zones that organizations are in: one seek each, whatever the number of organizations. */
export const organizationZones = async (db: Database): Promise<string[]> =>
  (
    await db.$client
      .prepare(
        `with recursive zone (timezone) as (
           select min(timezone) from organizations
           union all select (select min(timezone) from organizations where timezone > zone.timezone) from zone where timezone is not null)
         select timezone from zone where timezone is not null`,
      )
      .raw<[string]>()
  ).flat()

export interface Unbilled {
  id: string
  plan: string
  suspension: Suspension | null
  billed_month: string | null
  active_rfcs: number
}

const UNBILLED = `select id, plan, suspension, billed_month,
    (select count(*) from connections where organization_id = organizations.id and state = 'active') as active_rfcs
  from organizations indexed by organizations_billed where timezone = ?1 and`

/** A page of the organizations of a zone whose month has not been looked at, with the RFCs that are active now. */
export const findUnbilled = async (db: Database, timezone: string, month: string, limit: number): Promise<Unbilled[]> =>
  (
    await db.$client
      .prepare(`${UNBILLED} billed_month is null union all ${UNBILLED} billed_month < ?2 limit ?3`)
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
