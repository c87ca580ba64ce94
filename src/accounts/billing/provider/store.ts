import { eq, type SQL, sql } from 'drizzle-orm'
import type { Database } from '../../../platform/db/commit.ts'
import { assertThat } from '../../../platform/db/guard.ts'
import { billingCustomers, providerEvents } from '../../tables.ts'
import { APPLIED_ONCE } from '../subscription/store.ts'

export type ProviderEventRow = typeof providerEvents.$inferSelect

/** The provider's reference of an organization's customer record. */
export const findCustomerRef = async (db: Database, organization_id: string): Promise<string | undefined> =>
  (await db.select().from(billingCustomers).where(eq(billingCustomers.organization_id, organization_id)).limit(1))[0]?.customer_ref

/** Stores the reference, unless the organization has one. */
export const insertCustomer = (db: Database, row: typeof billingCustomers.$inferSelect) =>
  db.insert(billingCustomers).values(row).onConflictDoNothing()

/** Whether an event about this invoice or checkout was recorded. */
export const isPaymentRecorded = async (db: Database, subject: string): Promise<boolean> =>
  (await db.select().from(providerEvents).where(eq(providerEvents.subject, subject)).limit(1)).length > 0

/** Refuses its batch when this event, or another one about the same payment, was recorded. */
export const assertPaymentUnrecorded = ({ event_id, subject }: ProviderEventRow): SQL =>
  assertThat(
    sql`not exists (select 1 from ${providerEvents} where ${providerEvents.event_id} = ${event_id}) and not exists (select 1
      from ${providerEvents} where ${providerEvents.subject} = ${subject})`,
    APPLIED_ONCE,
  )

export const insertProviderEvent = (db: Database, row: ProviderEventRow) => db.insert(providerEvents).values(row)
