import { sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import type { Family } from '../exchange.ts'

/**
 * Requests for documents to the authority, one for many months. They are the record of used periods: the authority refuses exactly the same
 * period for ever. Times are milliseconds since 1970.
 */
export const authorityRequests = sqliteTable(
  'authority_requests',
  {
    entity: integer('entity').notNull(),
    n: integer('n').notNull(),
    family: text('family').$type<Family>().notNull(),
    source: text('source', { enum: ['sat_cfdi_issued', 'sat_cfdi_received'] }).notNull(),
    kind: text('kind', { enum: ['metadata', 'xml'] }).notNull(),
    /** FechaInicial and FechaFinal, literal times. */
    first: text('first').notNull(),
    last: text('last').notNull(),
    /** The months that it is for, `YYYY-MM`, as a JSON array. */
    months: text('months').notNull(),
    /**
     * Planned, about to be sent, accepted, with packages, with packages that are in the bucket and read; without documents; given up;
     * replaced by others.
     */
    state: text('state', { enum: ['planned', 'asked', 'waiting', 'ready', 'stored', 'empty', 'failed', 'replaced'] }).notNull(),
    /** IdSolicitud. */
    request_id: text('request_id'),
    /** The last answer that was not only "not yet", in the authority's code and words; or the fault of its documents (SHORT, UNREADABLE, DENIED). */
    code: text('code'),
    message: text('message'),
    /** NumeroCFDIs; of metadata without it, how many documents it lists, once it is read. */
    announced: integer('announced'),
    /** RequestPackages (requests.ts) as a JSON array. Those that have lost their `size` are not in the bucket any more. */
    packages: text('packages').notNull().default('[]'),
    /** When it was sent, in milliseconds; while it is planned, when it may be. */
    asked_at: integer('asked_at').notNull(),
    /** How often it, or the request that it replaces, was tried. */
    attempts: integer('attempts').notNull().default(0),
    /** When the authority last said of metadata that takes long that it is not done, and then, that it is. */
    heard_at: integer('heard_at'),
  },
  (table) => [
    primaryKey({ columns: [table.entity, table.n] }),
    // No period is asked for twice.
    uniqueIndex('authority_requests_once').on(table.entity, table.family, table.source, table.kind, table.first, table.last),
  ],
)

/** The conversation with the authority about a taxpayer, and the lease of the worker that holds it. The row stays. */
export const authorityConversations = sqliteTable(
  'authority_conversations',
  {
    entity: integer('entity').primaryKey(),
    /** When it continues; null while nothing is awaited. */
    due_at: integer('due_at'),
    token: text('token'),
    busy_until: integer('busy_until').notNull().default(0),
    /** The number of the certificate that the authority has refused, until its login is reported. */
    refused: text('refused'),
    /** How often in a row the authority did not answer. */
    failures: integer('failures').notNull().default(0),
  },
  (table) => [index('authority_conversations_due').on(table.due_at).where(sql`due_at is not null`)],
)
