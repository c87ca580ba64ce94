import { index, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { instant } from '../db/columns.ts'

export const idempotencyKeys = sqliteTable(
  'idempotency_keys',
  {
    organization_id: text('organization_id').notNull(),
    key: text('key').notNull(),
    /** Keyed hash of method, path and body: a body can hold a secret that is short enough to be guessed. */
    fingerprint: text('fingerprint').notNull(),
    /** Of the request that may carry it out: another one may only when its lease has ended. */
    token: text('token').notNull(),
    lease_until: instant('lease_until').notNull(),
    /** running: nothing has changed yet, or it has begun what `resource_id` names. done: the change is committed, with this row. answered: so is what was answered. */
    state: text('state', { enum: ['running', 'done', 'answered'] }).notNull(),
    /** What was changed, or is begun. */
    resource_id: text('resource_id'),
    /** Sealed under a key that only the api_secret that was presented gives. */
    answer: text('answer'),
    created_at: instant('created_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.key] }),
    // The daily removal of those that are a day old.
    index('idempotency_keys_created').on(table.created_at),
  ],
)
