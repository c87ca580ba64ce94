import { sql } from 'drizzle-orm'
import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { instant } from '../../platform/db/columns.ts'

/** The mails that ask to confirm the e-mail address of a sign-up, each with a link of its own. They are kept for two days. */
export const confirmations = sqliteTable(
  'email_confirmations',
  {
    confirmation_id: text().primaryKey(),
    organization_id: text().notNull(),
    email: text().notNull(),
    /** The address in its normal form, by which the mails to one mailbox are counted. */
    address: text().notNull(),
    /** The network from which it was asked for, as a keyed hash (platform/network.ts). */
    network: text().notNull(),
    /** Key version and HMAC-SHA256 of the token in hex; null before the mail is written. The token itself is not stored. */
    digest: text(),
    /** When the link ends; null before the mail is written. */
    expires_at: instant(),
    sent_at: instant(),
    attempts: integer().notNull().default(0),
    token: text(),
    lease_until: integer().notNull().default(0),
    created_at: instant().notNull(),
  },
  (table) => [
    // Confirming by the token.
    uniqueIndex('email_confirmations_digest').on(table.digest).where(sql`digest is not null`),
    // Counting the mails to an address.
    index('email_confirmations_address').on(table.address, table.created_at),
    // The sweep: mails that were not sent.
    index('email_confirmations_unsent').on(table.lease_until).where(sql`sent_at is null`),
  ],
)
