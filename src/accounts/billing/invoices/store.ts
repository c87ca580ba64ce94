import { and, desc, eq, lt, lte, type SQL, sql } from 'drizzle-orm'
import type { Database } from '../../../platform/db/commit.ts'
import { assertThat } from '../../../platform/db/guard.ts'
import { bare, readColumn, readRows } from '../../../platform/db/statement.ts'
import { organizations } from '../../../platform/tenant/tables.ts'
import { connections } from '../../../taxpayers/tables.ts'
import { invoices } from '../../tables.ts'

export type InvoiceRow = typeof invoices.$inferSelect

/** The condition for one invoice of the organization. */
const oneInvoice = (organization_id: string, invoice_id: string) =>
  and(eq(invoices.invoice_id, invoice_id), eq(invoices.organization_id, organization_id))

export const findInvoice = async (db: Database, organization_id: string, invoice_id: string): Promise<InvoiceRow | undefined> =>
  (await db.select().from(invoices).where(oneInvoice(organization_id, invoice_id)).limit(1))[0]

export const listInvoiceRows = (db: Database, organization_id: string, before: number | undefined, limit: number) =>
  db
    .select()
    .from(invoices)
    .where(and(eq(invoices.organization_id, organization_id), before === undefined ? undefined : lt(invoices.sequence, before)))
    .orderBy(desc(invoices.sequence))
    .limit(limit)

/** The organization's open invoices, oldest first. */
export const listOpenInvoices = (db: Database, organization_id: string) =>
  db
    .select()
    .from(invoices)
    .where(and(eq(invoices.organization_id, organization_id), eq(invoices.status, 'open')))
    .orderBy(invoices.due_on)

const COLUMNS = [
  ...[invoices.invoice_id, invoices.organization_id, invoices.sequence, invoices.period],
  ...[invoices.subtotal, invoices.tax, invoices.total, invoices.currency, invoices.status],
  ...[invoices.issued_at, invoices.due_on, invoices.rule_ref, invoices.review_at, invoices.send_at],
].map(bare)

/** Adds an open invoice under the organization's next number; does nothing when the month has an invoice from a price list already. */
export const insertInvoice = (row: Omit<InvoiceRow, 'sequence' | 'status' | 'paid_at' | 'provider_ref' | 'send_at' | 'pdf_url'>): SQL =>
  sql`insert into ${invoices} ${COLUMNS}
      select ${row.invoice_id}, ${row.organization_id},
        (select coalesce(max(${invoices.sequence}), 0) + 1 from ${invoices} where ${invoices.organization_id} = ${row.organization_id}),
        ${row.period}, ${row.subtotal}, ${row.tax}, ${row.total}, ${row.currency}, 'open', ${row.issued_at.getTime()}, ${row.due_on},
        ${row.rule_ref}, ${row.review_at?.getTime() ?? null}, ${row.issued_at.getTime()}
      where true on conflict do nothing`

/** Refuses its batch unless the invoice is open. */
export const assertInvoiceOpen = ({ organization_id, invoice_id }: InvoiceRow): SQL =>
  assertThat(
    sql`exists (select 1 from ${invoices} where ${invoices.invoice_id} = ${invoice_id} and ${invoices.organization_id} = ${organization_id}
      and ${invoices.status} = 'open')`,
    'invoice.open',
  )

export const markPaid = (db: Database, { organization_id, invoice_id }: InvoiceRow, now: Date) =>
  db.update(invoices).set({ status: 'paid', paid_at: now }).where(oneInvoice(organization_id, invoice_id))

/** Open invoices that are due to be sent to the payment provider, the longest waiting first. */
export const listUnsentInvoices = (db: Database, now: Date, limit: number) =>
  db
    .select()
    .from(invoices)
    .where(and(sql`${invoices.status} = 'open'`, lte(invoices.send_at, now)))
    .orderBy(invoices.send_at)
    .limit(limit)

/** Postpones the next attempt, unless a concurrent attempt has succeeded or has already postponed it. */
export const postponeSending = (db: Database, { organization_id, invoice_id, send_at: attempted }: InvoiceRow, send_at: Date) =>
  db
    .update(invoices)
    .set({ send_at })
    .where(and(oneInvoice(organization_id, invoice_id), eq(invoices.send_at, attempted!)))

export const markSent = (db: Database, { organization_id, invoice_id }: InvoiceRow, pdf_url: string | null) =>
  db.update(invoices).set({ send_at: null, pdf_url }).where(oneInvoice(organization_id, invoice_id))

export const setProviderRef = (db: Database, { organization_id, invoice_id }: InvoiceRow, provider_ref: string) =>
  db.update(invoices).set({ provider_ref }).where(oneInvoice(organization_id, invoice_id))

/**
 * The invoice with this reference at the provider, or else with this id: the provider may know the invoice before its reference is stored
 * here.
 */
export const findInvoiceAtProvider = async (db: Database, provider_ref: string, invoice_id: string | undefined) => {
  const [referenced] = await db.select().from(invoices).where(eq(invoices.provider_ref, provider_ref)).limit(1)
  if (referenced || invoice_id === undefined) return referenced
  return (await db.select().from(invoices).where(eq(invoices.invoice_id, invoice_id)).limit(1))[0]
}

const { id, plan, suspension, billed_month, timezone } = organizations

/** The time zones of all organizations. Seeks once for each zone, however many organizations there are. */
export const organizationZones = (db: Database): Promise<string[]> =>
  readColumn(
    db.$client,
    sql<string>`with recursive zone (timezone) as (
           select min(${timezone}) from ${organizations}
           union all select (select min(${timezone}) from ${organizations} where ${timezone} > zone.timezone) from zone where timezone is not null)
         select timezone from zone where timezone is not null`,
  )

/** An organization whose current month is still to be invoiced. */
export type UnbilledOrganization = Pick<typeof organizations.$inferSelect, 'id' | 'plan' | 'suspension' | 'billed_month'> & {
  active_rfcs: number
}

const unbilled = (zone: string): SQL => sql`select ${id}, ${plan}, ${suspension}, ${billed_month},
    (select count(*) from ${connections} where ${connections.organization_id} = ${id} and ${connections.state} = 'active') as active_rfcs
  from ${organizations} indexed by organizations_billed where ${timezone} = ${zone} and`

/** A page of the unbilled organizations of a time zone, with the number of their active RFCs. */
export const findUnbilled = (db: Database, zone: string, month: string, limit: number): Promise<UnbilledOrganization[]> =>
  readRows<UnbilledOrganization>(
    db.$client,
    sql`${unbilled(zone)} ${billed_month} is null union all ${unbilled(zone)} ${billed_month} < ${month} limit ${limit}`,
  )

/** Refuses its batch when the organization was billed since, or when its plan or suspension changed. */
export const assertStillUnbilled = (found: UnbilledOrganization): SQL =>
  assertThat(
    sql`exists (select 1 from ${organizations} where ${id} = ${found.id} and ${billed_month} is ${found.billed_month}
      and ${plan} = ${found.plan} and ${suspension} is ${found.suspension})`,
    'organization.unbilled',
  )

/** Marks the month as billed, or as found to owe nothing. */
export const markBilled = (found: UnbilledOrganization, month: string): SQL =>
  sql`update ${organizations} set ${bare(billed_month)} = ${month} where ${id} = ${found.id}`
