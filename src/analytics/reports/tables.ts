import { sql } from 'drizzle-orm'
import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/** How far the reports of a connection are. There is a row since somebody first asked for one of them. Times are milliseconds since 1970. */
export const reportStates = sqliteTable(
  'report_states',
  {
    connection: integer().primaryKey(),
    organization_id: text().notNull(),
    fiscal_entity_id: text().notNull(),
    entity: integer().notNull(),
    /** The last commits of the authority's and the import partition that the parts show, with the windows and rules of that time. */
    sequence: integer().notNull().default(0),
    import_sequence: integer().notNull().default(0),
    basis: text(),
    /** When the parts were last brought up to date, and up to when documents were known then. Null before the first time. */
    generated_at: integer(),
    watermark: integer(),
    /** What the VAT position of some months was, as KeptVat in JSON. */
    vat: text(),
    /** A ReportRound as JSON while the parts are brought up to date. */
    round: text(),
    /**
     * When the parts are due: some time after a commit, or after a run of the organization moved its ceilings, which triggers note. Null when they
     * are not.
     */
    due_at: integer(),
    /** The worker that holds them, and until when. */
    token: text(),
    lease_until: integer().notNull().default(0),
  },
  (table) => [
    // Commits of the entity.
    index('report_states_entity').on(table.entity),
    // The sweep.
    index('report_states_left').on(table.lease_until).where(sql`due_at is not null or round is not null`),
  ],
)

/** The parts of a month in the reports of a connection: lists of cells (parts/month.ts) as JSON, by kind. */
export const reportParts = sqliteTable(
  'report_parts',
  {
    connection: integer().notNull(),
    kind: text().notNull(),
    month: text().notNull(),
    n: integer().notNull(),
    data: text().notNull(),
  },
  (table) => [primaryKey({ columns: [table.connection, table.kind, table.month, table.n] })],
)
