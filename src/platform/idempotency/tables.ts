import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { instant } from '../db/columns.ts'

export const idempotencyKeys = sqliteTable(
  'idempotency_keys',
  {
    organization_id: text().notNull(),
    key: text().notNull(),
    /** Keyed hash of method, path, query and body, because a body can contain a secret that is short enough to be guessed. */
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
    /** Sealed with a key that is derived from the caller's api_secret: the answer, or what is known of one that was not kept. */
    answer: text(),
    created_at: instant().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.key] }),
    // The daily deletion of expired keys.
    index('idempotency_keys_created').on(table.created_at),
  ],
)

/** How much of the answers of an organization was kept on a day. One row for each organization that has sent a key. */
export const keptAnswers = sqliteTable('kept_answers', {
  organization_id: text().primaryKey(),
  /** The local day, `YYYY-MM-DD`. */
  day: text().notNull(),
  /** Of the answers as they are stored. */
  bytes: integer().notNull(),
})
