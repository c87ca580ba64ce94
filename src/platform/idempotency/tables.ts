import { index, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { instant } from '../db/columns.ts'

export const idempotencyKeys = sqliteTable(
  'idempotency_keys',
  {
    organization_id: text().notNull(),
    key: text().notNull(),
    /** Keyed hash of method, path and body, because a body can contain a secret that is short enough to be guessed. */
    fingerprint: text().notNull(),
    /** The request that has claimed the key. Another request can claim it only after the lease has ended. */
    token: text().notNull(),
    lease_until: instant().notNull(),
    /**
     * running: nothing has changed, or the change that `resource_id` names has begun. done: the change is committed. answered: its answer
     * is kept too.
     */
    state: text({ enum: ['running', 'done', 'answered'] }).notNull(),
    /** The resource that the request made, changed or began to make. */
    resource_id: text(),
    /** Sealed with a key that is derived from the caller's api_secret. */
    answer: text(),
    created_at: instant().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.key] }),
    // The daily deletion of expired keys.
    index('idempotency_keys_created').on(table.created_at),
  ],
)
