import { sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { flag, instant } from '../platform/db/columns.ts'
import type { CfdiType, EventKey } from './catalog/payload-contract.ts'

/**
 * The feed of each organization. Queries use an event's key and body, and the approximate time of its insertion in its identifier, so that
 * almost every event is one row without an index.
 */
export const events = sqliteTable(
  'events',
  {
    organization_id: text().notNull(),
    /** The event's position in the feed. It grows with every event, and is at least the time of the insertion in milliseconds since 1970. */
    seq: integer().notNull(),
    /** The payload, as stored-body.ts keeps it. Every attempt of every delivery sends the same bytes. */
    body: text().notNull(),
    /**
     * Set for a cancellation, which several outbox events can report, and for an event whose place is not near the time in its identifier.
     */
    event_id: text(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.seq] }),
    // Refuses a cancellation that is reported twice; finds late events.
    uniqueIndex('events_id').on(table.event_id).where(sql`event_id is not null`),
  ],
)

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

export const DELIVERY_STATUSES = ['pending', 'delivered', 'failed', 'lost'] as const
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number]

/** One attempt of a delivery. Its number is its position in the list, from 1. */
export interface AttemptRecord {
  /** When the attempt began, in milliseconds since 1970. */
  at: number
  duration_ms: number
  status_code: number | null
  error: string | null
  response_body: string | null
}

/** Deliveries: an event to be sent to an endpoint, with its attempts. */
export const deliveries = sqliteTable(
  'deliveries',
  {
    webhook: integer().notNull(),
    seq: integer().notNull(),
    /** 0 for the first delivery of the event to the endpoint, and one more for each redelivery. */
    redelivery: integer().notNull(),
    event_key: text().notNull(),
    status: text({ enum: DELIVERY_STATUSES }).notNull(),
    /** When the next attempt is due, or when the delivery ended, in milliseconds since 1970. */
    due_at: integer().notNull(),
    /** The consumer that claimed the delivery, and until when no other may. */
    token: text(),
    lease_until: integer(),
    attempts: text({ mode: 'json' }).$type<AttemptRecord[]>().notNull(),
    created_at: integer().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.webhook, table.seq, table.redelivery] }),
    // The deliveries to attempt next; the sweep.
    index('deliveries_pending').on(table.webhook, table.due_at).where(sql`status = 'pending'`),
    // The delivery log by status failed or lost; redelivery.
    index('deliveries_undelivered').on(table.webhook, table.seq).where(sql`status in ('failed', 'lost')`),
  ],
)

/** Events of organizations with many endpoints, which have no delivery yet to the endpoints from this one on. */
export const fanOuts = sqliteTable(
  'fan_outs',
  {
    organization_id: text().notNull(),
    /** The number of the next endpoint. */
    webhook: integer().notNull(),
    /** The event's position in the feed of the organization. */
    seq: integer().notNull(),
  },
  (table) => [primaryKey({ columns: [table.organization_id, table.webhook, table.seq] })],
)

/** How far `cfdi.new` has told an organization of the documents of an RFC. There is a row once an endpoint has wanted it. */
export const newDocuments = sqliteTable(
  'new_documents',
  {
    organization_id: text().notNull(),
    /** The fiscal entity in UUID form, as events name it. */
    fiscal_entity: text().notNull(),
    /** One more with each change: a commit that was computed before another one is refused. */
    version: integer().notNull(),
    /** 1 while documents may be left to tell of. */
    is_due: integer().notNull(),
    /** The last run that ended. */
    run_id: text().notNull(),
    /** JSON: a Progress (new-documents.ts). */
    progress: text().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.organization_id, table.fiscal_entity] }),
    // The sweep.
    index('new_documents_due').on(table.organization_id, table.fiscal_entity).where(sql`is_due = 1`),
  ],
)

/**
 * An events shard's record of each outbox: its events that lie in the shard already although their outbox events are not crossed off. A
 * commit replaces it together with the events that it appends, and is refused when another relay has replaced it since.
 */
export const relays = sqliteTable('relays', {
  outbox: text().primaryKey(),
  version: integer().notNull(),
  /** JSON: when each event was appended, in milliseconds since 1970, by its `factOf` (feed-events.ts). */
  known: text().notNull(),
})
