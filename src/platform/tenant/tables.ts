import { sql } from 'drizzle-orm'
import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { instant } from '../db/columns.ts'
import { SUSPENSIONS } from './tenant.ts'

export const organizations = sqliteTable(
  'organizations',
  {
    id: text().primaryKey(),
    name: text().notNull(),
    contact_email: text(),
    logo_url: text(),
    timezone: text().notNull(),
    plan: text().notNull(),
    /** Number of seats where it differs from the plan's. */
    rfc_allowance: integer(),
    trial_ends_at: instant(),
    /** The address to which the trial of the sign-up belongs, in its normal form; null when the trial was granted. */
    trial_email: text(),
    /** When the address of the sign-up was confirmed: at the sign-up where the deployment sends no mail, and null until it is. */
    email_confirmed_at: instant(),
    /** Why billing paused the connections; they change in the commit that writes it. */
    suspension: text({ enum: SUSPENSIONS }),
    /** The last local month, `YYYY-MM`, that was invoiced or found to owe nothing; null before the first run. */
    billed_month: text(),
    /** Number of extractors. Every insert and delete of an extractor updates it, because each request reads it for limit and window. */
    extractor_count: integer().notNull(),
    /** When it got an extractor while it had none, so that everything was visible before; null when that never happened. */
    extractors_since: instant(),
    /** The Monday, `YYYY-MM-DD`, of its last digest by mail; empty before the first. */
    digest_on: text().notNull().default(''),
    /** The number n of EVENTS_n, chosen once. */
    events_shard: integer().notNull(),
    created_at: instant().notNull(),
  },
  (table) => [
    // The daily issue of invoices: unbilled organizations of a time zone.
    index('organizations_billed').on(table.timezone, table.billed_month),
    // The digests of a Monday: the organizations of a time zone that had none.
    index('organizations_digest').on(table.timezone, table.digest_on),
    // The review of ended trials, every quarter of an hour.
    index('organizations_trial').on(table.trial_ends_at).where(sql`plan = 'diagnostic' and suspension is null`),
    // The daily review of suspended organizations.
    index('organizations_suspended').on(table.suspension).where(sql`suspension is not null`),
  ],
)
