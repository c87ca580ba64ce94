import { sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { flag, instant } from '../platform/db/columns.ts'

/** Where an organization wants to be told. Kept after its deletion until its log is cleared. */
export const webhooks = sqliteTable(
  'webhooks',
  {
    /** What its deliveries know it by. */
    webhook: integer('webhook').primaryKey({ autoIncrement: true }),
    webhook_id: text('webhook_id').notNull(),
    organization_id: text('organization_id').notNull(),
    name: text('name').notNull(),
    type: text('type', { enum: ['custom'] }),
    url: text('url').notNull(),
    event_keys: text('event_keys', { mode: 'json' }).$type<string[]>().notNull(),
    is_enabled: flag('is_enabled').notNull(),
    /** Counts the secrets that it has had. */
    secret_version: integer('secret_version').notNull(),
    /** The two digests of its secret, each wrapped (secret.ts). */
    digests: text('digests', { mode: 'json' }).$type<{ a: string; b: string }>().notNull(),
    /** The last four characters of the secret. */
    secret_hint: text('secret_hint').notNull(),
    /** The same of the secret that a commit will put in its place. */
    next_digests: text('next_digests', { mode: 'json' }).$type<{ a: string; b: string }>(),
    next_hint: text('next_hint'),
    /** Deliveries in a row that ended without being received. */
    undelivered: integer('undelivered').notNull(),
    created_at: instant('created_at').notNull(),
    updated_at: instant('updated_at').notNull(),
    deleted_at: instant('deleted_at'),
  },
  (table) => [
    // Everything that names one.
    uniqueIndex('webhooks_id').on(table.webhook_id),
    // GET /webhooks, and who is told of an event.
    index('webhooks_organization').on(table.organization_id, table.webhook).where(sql`deleted_at is null`),
    // The sweep: logs to be cleared.
    index('webhooks_deleted').on(table.deleted_at).where(sql`deleted_at is not null`),
  ],
)

/** What an organization is told of. `body` is what every attempt of every delivery sends, byte for byte. */
export const events = sqliteTable(
  'events',
  {
    organization_id: text('organization_id').notNull(),
    /** Its place in the organization's feed: grows with every event, and is never less than the milliseconds since 1970 at which it came. */
    seq: integer('seq').notNull(),
    event_id: text('event_id').notNull(),
    key: text('key').notNull(),
    fiscal_entity_id: text('fiscal_entity_id'),
    body: text('body').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.seq] }),
    // The same fact relayed again; GET /events/{id}.
    uniqueIndex('events_id').on(table.event_id),
  ],
)

export const DELIVERY_STATUSES = ['pending', 'delivered', 'failed', 'lost'] as const
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number]

/** One attempt at a delivery; its number is its place in the list, from 1. */
export interface AttemptRecord {
  /** Milliseconds since 1970. */
  at: number
  duration_ms: number
  status_code: number | null
  error: string | null
  response_body: string | null
}

/** An event on its way to an endpoint. */
export const deliveries = sqliteTable(
  'deliveries',
  {
    webhook: integer('webhook').notNull(),
    seq: integer('seq').notNull(),
    /** 0, then one more for each time that it was asked for again. */
    redelivery: integer('redelivery').notNull(),
    event_key: text('event_key').notNull(),
    status: text('status', { enum: DELIVERY_STATUSES }).notNull(),
    /** When the next attempt is due, milliseconds. */
    due_at: integer('due_at').notNull(),
    /** Who makes an attempt now, and until when nobody else may. */
    token: text('token'),
    lease_until: integer('lease_until'),
    attempts: text('attempts', { mode: 'json' }).$type<AttemptRecord[]>().notNull(),
    created_at: integer('created_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.webhook, table.seq, table.redelivery] }),
    // The next to attempt; what the sweep looks at.
    index('deliveries_pending').on(table.webhook, table.due_at).where(sql`status = 'pending'`),
    // Those of the log that did not arrive, to be listed and sent again.
    index('deliveries_undelivered').on(table.webhook, table.seq).where(sql`status in ('failed', 'lost')`),
  ],
)
