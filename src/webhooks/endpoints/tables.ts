import { sql } from 'drizzle-orm'
import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { flag, instant } from '../../platform/db/columns.ts'
import type { EventKey } from '../catalog/contract.ts'

/** Endpoints of organizations. A deleted one is kept until its delivery log is cleared. */
export const webhooks = sqliteTable(
  'webhooks',
  {
    /** The number by which deliveries refer to the endpoint. */
    webhook: integer('webhook').primaryKey({ autoIncrement: true }),
    webhook_id: text('webhook_id').notNull(),
    organization_id: text('organization_id').notNull(),
    name: text('name').notNull(),
    type: text('type', { enum: ['custom'] }),
    url: text('url').notNull(),
    event_keys: text('event_keys', { mode: 'json' }).$type<EventKey[]>().notNull(),
    is_enabled: flag('is_enabled').notNull(),
    /** 1 for the first secret, and one more with every rotation that was committed. */
    secret_version: integer('secret_version').notNull(),
    /** The two digests of the current secret, each wrapped (secret.ts). */
    digests: text('digests', { mode: 'json' }).$type<{ a: string; b: string }>().notNull(),
    /** The last four characters of the current secret. */
    secret_hint: text('secret_hint').notNull(),
    /** The digests and the hint of the next secret; null unless a rotation waits for its commit. */
    next_digests: text('next_digests', { mode: 'json' }).$type<{ a: string; b: string }>(),
    next_hint: text('next_hint'),
    /** Number of deliveries in a row that ended undelivered. */
    undelivered: integer('undelivered').notNull(),
    created_at: instant('created_at').notNull(),
    updated_at: instant('updated_at').notNull(),
    deleted_at: instant('deleted_at'),
  },
  (table) => [
    // Requests that name a webhook.
    uniqueIndex('webhooks_id').on(table.webhook_id),
    // GET /webhooks; the endpoints that subscribe to an event.
    index('webhooks_organization').on(table.organization_id, table.webhook).where(sql`deleted_at is null`),
    // The sweep: logs to clear.
    index('webhooks_deleted').on(table.deleted_at).where(sql`deleted_at is not null`),
  ],
)
