import { sql } from 'drizzle-orm'
import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { flag, instant } from '../../platform/db/columns.ts'
import type { CfdiType, EventKey } from '../catalog/payload-contract.ts'

/** Endpoints of organizations. A deleted one is kept until its delivery log is cleared. */
export const webhooks = sqliteTable(
  'webhooks',
  {
    /** The number by which deliveries refer to the endpoint. */
    webhook: integer().primaryKey({ autoIncrement: true }),
    webhook_id: text().notNull(),
    organization_id: text().notNull(),
    name: text().notNull(),
    type: text({ enum: ['custom'] }),
    url: text().notNull(),
    event_keys: text({ mode: 'json' }).$type<EventKey[]>().notNull(),
    /** The fiscal entities whose events the endpoint gets, in UUID form, as events name them; null for all. */
    fiscal_entity_uuids: text({ mode: 'json' }).$type<string[]>(),
    /** The direction and the types of CFDI of the events that the endpoint gets, among those that state one; null for all. */
    direction: text({ enum: ['issued', 'received'] }),
    cfdi_types: text({ mode: 'json' }).$type<CfdiType[]>(),
    /** How many deliveries it takes in a minute, null for any number, and up to when those so far use that up, in milliseconds since 1970. */
    max_per_minute: integer(),
    paced_until: integer().notNull().default(0),
    /** The name of the customer's own header; null without one. */
    header_name: text(),
    /** `version:base64`, the key's version and the nonce and ciphertext (endpoints.ts). */
    header_value: text(),
    is_enabled: flag().notNull(),
    /** 1 for the first secret, and one more with every rotation that was committed. */
    secret_version: integer().notNull(),
    /** The two digests of the current secret, each wrapped (endpoints.ts). */
    digests: text({ mode: 'json' }).$type<{ a: string; b: string }>().notNull(),
    /** The last four characters of the current secret. */
    secret_hint: text().notNull(),
    /** The digests and the hint of the next secret; null unless a rotation waits for its commit. */
    next_digests: text({ mode: 'json' }).$type<{ a: string; b: string }>(),
    next_hint: text(),
    /** Number of deliveries in a row that ended undelivered. */
    undelivered: integer().notNull(),
    created_at: instant().notNull(),
    updated_at: instant().notNull(),
    deleted_at: instant(),
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
