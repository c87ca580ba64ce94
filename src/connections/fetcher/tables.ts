import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/** Signatures of requests for a lease, kept while their timestamps are good: none of them gets another one. */
export const fetcherSignatures = sqliteTable(
  'fetcher_signatures',
  {
    /** The MAC in hexadecimal. */
    mac: text('mac').primaryKey(),
    /** When its timestamp is good no more, in milliseconds since 1970. */
    until: integer('until').notNull(),
  },
  (table) => [
    // Forgetting.
    index('fetcher_signatures_until').on(table.until),
  ],
)
