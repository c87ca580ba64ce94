import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import type { DataSourceKey } from '../authority/port/catalog.ts'
import { instant } from '../platform/db/columns.ts'
import { CONNECTION_STATES, PAUSED_BY } from '../platform/tenant.ts'

/** An RFC, shared by everybody who connects it. */
export const fiscalEntities = sqliteTable(
  'fiscal_entities',
  {
    /** The small number that the ledgers know it by. */
    entity: integer('entity').primaryKey({ autoIncrement: true }),
    fiscal_entity_id: text('fiscal_entity_id').notNull(),
    rfc: text('rfc').notNull(),
    /** Which ledger holds its data; decided once. */
    shard: integer('shard').notNull(),
    created_at: instant('created_at').notNull(),
  },
  (table) => [
    // Connecting finds the entity by its RFC.
    uniqueIndex('fiscal_entities_rfc').on(table.rfc),
    // Consumers and links find it by its id.
    uniqueIndex('fiscal_entities_id').on(table.fiscal_entity_id),
  ],
)

/** One organization's tie to a fiscal entity, with its visibility window. Kept when unlinked: nothing shrinks a window. */
export const connections = sqliteTable(
  'connections',
  {
    /** Also the name, negated, of the book in the ledger that holds what this organization imported itself. */
    connection: integer('connection').primaryKey({ autoIncrement: true }),
    organization_id: text('organization_id').notNull(),
    fiscal_entity_id: text('fiscal_entity_id').notNull(),
    entity: integer('entity').notNull(),
    rfc: text('rfc').notNull(),
    shard: integer('shard').notNull(),
    state: text('state', { enum: CONNECTION_STATES }).notNull(),
    name: text('name'),
    /** Null: every active source that is not premium. */
    data_source_keys: text('data_source_keys', { mode: 'json' }).$type<DataSourceKey[]>(),
    /** `version:base64` of nonce and ciphertext. */
    ciec: text('ciec'),
    ciec_accepted_at: instant('ciec_accepted_at'),
    /** When it became active for the first time: later times are reactivations. */
    first_active_at: instant('first_active_at'),
    /** When it became active this time. */
    active_since: instant('active_since'),
    /** Of a paused connection: the state that resuming returns to, and who paused it. */
    paused_from: text('paused_from', { enum: CONNECTION_STATES }),
    paused_by: text('paused_by', { enum: PAUSED_BY }),
    /** Floor of the window: a literal day, `YYYY-MM-DD`. Null with the ceiling until the first extraction. */
    visible_from: text('visible_from'),
    /** Ceiling of the window. */
    visible_to: instant('visible_to'),
    /** When the organization first imported files for this RFC; null as long as its own book is empty. */
    imported_at: instant('imported_at'),
    linked_at: instant('linked_at').notNull(),
    updated_at: instant('updated_at').notNull(),
  },
  (table) => [
    // Every read of fiscal data, and GET /fiscal-entities.
    uniqueIndex('connections_organization').on(table.organization_id, table.fiscal_entity_id),
    // Logins and invalidation: everybody's connections to one RFC.
    index('connections_entity').on(table.entity, table.state),
  ],
)
