import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import type { DataSourceKey } from '../authority/port/catalog.ts'
import { instant } from '../platform/db/columns.ts'
import { CONNECTION_STATES, PAUSED_BY } from '../platform/tenant.ts'

/** An RFC, shared by all organizations that connect it. */
export const fiscalEntities = sqliteTable(
  'fiscal_entities',
  {
    /** The RFC's number in the ledgers. */
    entity: integer('entity').primaryKey({ autoIncrement: true }),
    rfc: text('rfc').notNull(),
    /** The ledger that holds the RFC's data; it never changes. */
    shard: integer('shard').notNull(),
    created_at: instant('created_at').notNull(),
  },
  (table) => [
    // Connecting.
    uniqueIndex('fiscal_entities_rfc').on(table.rfc),
  ],
)

/**
 * An organization's connection to an RFC, with its visibility window. It is kept when the RFC is unlinked, because a window never
 * shrinks.
 */
export const connections = sqliteTable(
  'connections',
  {
    /** Negated, it is the number of the ledger's partition with the organization's imports. */
    connection: integer('connection').primaryKey({ autoIncrement: true }),
    organization_id: text('organization_id').notNull(),
    /** The connection's own identifier. It survives unlinking, and no other organization has it. */
    fiscal_entity_id: text('fiscal_entity_id').notNull(),
    entity: integer('entity').notNull(),
    rfc: text('rfc').notNull(),
    shard: integer('shard').notNull(),
    state: text('state', { enum: CONNECTION_STATES }).notNull(),
    name: text('name'),
    /** Null for all active data sources that are not premium. */
    data_source_keys: text('data_source_keys', { mode: 'json' }).$type<DataSourceKey[]>(),
    /** `version:base64`, the key's version and the nonce and ciphertext. */
    ciec: text('ciec'),
    ciec_accepted_at: instant('ciec_accepted_at'),
    /** When it first became active; later activations are reactivations. */
    first_active_at: instant('first_active_at'),
    /** When it last became active. */
    active_since: instant('active_since'),
    /** For a paused connection: the state to which resuming returns, and who paused it. */
    paused_from: text('paused_from', { enum: CONNECTION_STATES }),
    paused_by: text('paused_by', { enum: PAUSED_BY }),
    /** Floor of the window, a day `YYYY-MM-DD`. Floor and ceiling are null until the first extraction. */
    visible_from: text('visible_from'),
    /** Ceiling of the window. */
    visible_to: instant('visible_to'),
    /** When the organization first imported files for this RFC; null before. */
    imported_at: instant('imported_at'),
    linked_at: instant('linked_at').notNull(),
    updated_at: instant('updated_at').notNull(),
  },
  (table) => [
    // Reads of fiscal data, and GET /fiscal-entities.
    uniqueIndex('connections_organization').on(table.organization_id, table.fiscal_entity_id),
    // Connecting: one connection for each organization and RFC.
    uniqueIndex('connections_rfc').on(table.organization_id, table.entity),
    // Logins, invalid CIECs, and the relay, which goes through the connections to an RFC in the order of their numbers.
    index('connections_entity').on(table.entity, table.connection, table.state),
  ],
)
