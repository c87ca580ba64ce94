import { getTableColumns, sql } from 'drizzle-orm'
import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import type { DataSourceKey } from '../authority/port/authority.ts'
import { flag, instant } from '../platform/db/columns.ts'
import { CONNECTION_STATES, INVALID_REASONS, PAUSED_BY } from '../platform/tenant/tenant.ts'

/** An RFC, shared by all organizations that connect it. */
export const fiscalEntities = sqliteTable(
  'fiscal_entities',
  {
    /** The RFC's number in the ledgers. */
    entity: integer().primaryKey({ autoIncrement: true }),
    rfc: text().notNull(),
    /** The ledger that holds the RFC's data; it never changes. */
    shard: integer().notNull(),
    /** Incremented when any CIEC is accepted or refused for the RFC. An answer of the authority to an earlier version proves nothing. */
    ciec_version: integer().notNull().default(0),
    /** The same of e.firmas. */
    efirma_version: integer().notNull().default(0),
    created_at: instant().notNull(),
  },
  (table) => [
    // Connecting.
    uniqueIndex('fiscal_entities_rfc').on(table.rfc),
  ],
)

/**
 * An organization's connection to an RFC, with its visibility windows. It is kept when the RFC is unlinked, because a window never
 * shrinks.
 */
export const connections = sqliteTable(
  'connections',
  {
    /** Negated, it is the number of the ledger's partition with the organization's imports. */
    connection: integer().primaryKey({ autoIncrement: true }),
    organization_id: text().notNull(),
    /** The connection's own identifier. It survives unlinking, and no other organization has it. */
    fiscal_entity_id: text().notNull(),
    entity: integer().notNull(),
    rfc: text().notNull(),
    shard: integer().notNull(),
    state: text({ enum: CONNECTION_STATES }).notNull(),
    name: text(),
    /** Its identifier in the organization's own system; null once unlinked. */
    external_id: text(),
    /** The organization's own data about it, by its own keys. */
    metadata: text({ mode: 'json' }).$type<Record<string, string>>().notNull().default({}),
    /** Null for all active data sources that are not premium. */
    data_source_keys: text({ mode: 'json' }).$type<DataSourceKey[]>(),
    /** `version:base64`, the key's version and the nonce and ciphertext. */
    ciec: text(),
    ciec_accepted_at: instant(),
    /** When the authority last accepted the stored CIEC again. */
    ciec_verified_at: instant(),
    /**
     * When the authority is to be asked about the stored CIEC. Null while the CIEC is verified: it was accepted after the last acceptance
     * of another value for the RFC, and after the last refusal of any.
     */
    ciec_verify_at: instant(),
    /** How often the authority was asked since then. */
    ciec_verify_attempts: integer().notNull().default(0),
    /** The certificate and key of an e.firma, sealed like the CIEC; null without one. The columns below say the same of it as those above. */
    efirma: text(),
    /** The number of its certificate, and from when to when it is valid. */
    efirma_number: text(),
    efirma_valid_from: instant(),
    efirma_valid_to: instant(),
    efirma_accepted_at: instant(),
    efirma_verified_at: instant(),
    efirma_verify_at: instant(),
    efirma_verify_attempts: integer().notNull().default(0),
    /** Why a connection has no valid login; also while such a connection is paused. */
    invalid_reason: text({ enum: INVALID_REASONS }),
    /** When it first became active; later activations are reactivations. */
    first_active_at: instant(),
    /** When it last became active. */
    active_since: instant(),
    /** For a paused connection: the state to which resuming returns, and who paused it. */
    paused_from: text({ enum: CONNECTION_STATES }),
    paused_by: text({ enum: PAUSED_BY }),
    /** The window on issued CFDIs: its floor, a day `YYYY-MM-DD`, and its ceiling. Both are null until the source is first extracted. */
    issued_from: text(),
    issued_to: instant(),
    /** The window on received CFDIs. */
    received_from: text(),
    received_to: instant(),
    /**
     * The granted ranges of the issued CFDIs: the instant and the floor of each run, as JSON (granted-ranges.ts). Widening the window adds
     * one. They tell when the organization alone would have stored a document (taxpayers/visibility/granted-ranges.ts).
     */
    issued_granted_ranges: text().notNull().default('[]'),
    /** The same of the received CFDIs. */
    received_granted_ranges: text().notNull().default('[]'),
    /** The last of the runs that asked for a range of days alone, as JSON: instant, floor and last day of each (taxpayers/widen-windows.ts). */
    asked_ranges: text().notNull().default('[]'),
    /**
     * The first day of the ranges that were revoked from the granted ranges of a source (strikeReaches), or that a range of past days left out
     * (widenWindows); null when the next run need not make up for any.
     */
    issued_revoked: text(),
    received_revoked: text(),
    /** The first day that a consent lets runs ask for; null without a bound. A window that was wider before stays so. */
    access_from: text(),
    /** When a run last widened a window, and the time before that, by the clock: a run can be dispatched long after its instant. */
    widened_at: instant(),
    widened_before: instant(),
    /** When the organization first imported files for this RFC; null before. */
    imported_at: instant(),
    /**
     * Set by a trigger when the connection leaves active, and cleared when all cancellations since are reported: an `Unnotified` as JSON.
     */
    unnotified: text(),
    /** The counterparties that are on a blacklist, as JSON (lists/listed/listed.ts). Null until they are found. */
    listed: text(),
    /** Incremented when `listed` no longer holds. An older result does not replace it. */
    listed_version: integer().notNull().default(0),
    linked_at: instant().notNull(),
    updated_at: instant().notNull(),
  },
  (table) => [
    // Reads of fiscal data, and GET /fiscal-entities.
    uniqueIndex('connections_organization').on(table.organization_id, table.fiscal_entity_id),
    // Connecting: one connection for each organization and RFC.
    uniqueIndex('connections_rfc').on(table.organization_id, table.entity),
    // GET /fiscal-entities?external_id, and its being unique.
    uniqueIndex('connections_external_id').on(table.organization_id, table.external_id).where(sql`external_id is not null`),
    // Logins, invalid ones, and the relay, which goes through the connections to an RFC in the order of their numbers.
    index('connections_entity').on(table.entity, table.connection, table.state),
    // The sweep: active connections with cancellations to be reported.
    index('connections_unnotified').on(table.connection).where(sql`unnotified is not null and state = 'active'`),
    // The quota of drafts.
    index('connections_drafts')
      .on(table.organization_id, table.state, table.paused_from)
      .where(sql`state = 'draft' or (state = 'paused' and paused_from = 'draft')`),
    // Downloads and the sweep: CIECs that are to be verified.
    index('connections_unverified').on(table.entity, table.ciec_verify_at).where(sql`ciec_verify_at is not null`),
    // The same of e.firmas.
    index('connections_efirmas_unverified').on(table.entity, table.efirma_verify_at).where(sql`efirma_verify_at is not null`),
    // The sweep, and the alerts: e.firmas that end.
    index('connections_efirmas_ending').on(table.efirma_valid_to).where(sql`efirma_valid_to is not null and state = 'active'`),
  ],
)

const {
  issued_granted_ranges: _,
  received_granted_ranges: __,
  asked_ranges: ___,
  listed: ____,
  listed_version: _____,
  efirma: ______,
  metadata: _______,
  ...connectionColumns
} = getTableColumns(connections)

/**
 * The columns of a connection without the long ones that few need (granted ranges and listed counterparties where CFDIs are shown, the
 * sealed e.firma for a login), and without its metadata, which matters only to the customer.
 */
export { connectionColumns }

/** CIECs and e.firmas that organizations sent: refused ones, and those whose answer is awaited. Kept for a day. */
export const ciecAttempts = sqliteTable(
  'ciec_attempts',
  {
    attempt_id: text().primaryKey(),
    organization_id: text().notNull(),
    rfc: text().notNull(),
    kind: text({ enum: ['ciec', 'efirma'] })
      .notNull()
      .default('ciec'),
    /** Whether the organization never had a CIEC or e.firma accepted for the RFC. */
    is_stranger: flag().notNull(),
    /** The network that it came from, as a keyed hash (platform/network.ts). */
    network: text().notNull(),
    /** An attempt whose answer a crash lost stays awaited, and counts as refused. */
    state: text({ enum: ['awaited', 'refused'] }).notNull(),
    attempted_at: instant().notNull(),
  },
  (table) => [
    // Counting the attempts of an RFC.
    index('ciec_attempts_rfc').on(table.rfc, table.attempted_at),
  ],
)
