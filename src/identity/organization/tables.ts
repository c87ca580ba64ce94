import { sql } from 'drizzle-orm'
import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { instant } from '../../platform/db/columns.ts'
import { SUSPENSIONS } from '../../platform/tenant.ts'

export const organizations = sqliteTable(
  'organizations',
  {
    id: text('id').primaryKey(),
    name: text('name').notNull(),
    contact_email: text('contact_email'),
    logo_url: text('logo_url'),
    timezone: text('timezone').notNull(),
    plan: text('plan').notNull(),
    /** Seats, where they differ from the plan's. */
    rfc_allowance: integer('rfc_allowance'),
    trial_ends_at: instant('trial_ends_at'),
    /** Why its connections are paused without its asking: their states follow in the commit that writes it. */
    suspension: text('suspension', { enum: SUSPENSIONS }),
    /** The last local month, `YYYY-MM`, whose invoice was issued or found not to be due; null before the first look. */
    billed_month: text('billed_month'),
    /** Kept by every insert and delete of an extractor, in its commit: the limit and the window ask for it on every request. */
    extractor_count: integer('extractor_count').notNull(),
    created_at: instant('created_at').notNull(),
  },
  (table) => [
    // The daily issue of invoices: a page of those of a zone whose month is new.
    index('organizations_billed').on(table.timezone, table.billed_month),
    // The look of every quarter of an hour at whose trial is over.
    index('organizations_trial').on(table.trial_ends_at).where(sql`plan = 'diagnostic' and suspension is null`),
    // The daily look at who is suspended for no reason any more.
    index('organizations_suspended').on(table.suspension).where(sql`suspension is not null`),
  ],
)
