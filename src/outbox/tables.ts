import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/**
 * Facts to be told of: each is written in the commit of the change that it tells of, in whichever database that is, and waits for the
 * relay. Its id is derived from the fact, so that finding the same fact twice makes one.
 */
export const outbox = sqliteTable('outbox', {
  fact_id: text('fact_id').primaryKey(),
  /** A key of the event catalog (service.md, Events). */
  kind: text('kind').notNull(),
  entity: integer('entity').notNull(),
  /** Who is told, as a JSON list of organizations; null for all that the window admits. */
  organizations: text('organizations'),
  /** Members of the payload that the fact itself decides, as JSON. */
  body: text('body').notNull(),
  /** Milliseconds since 1970. */
  created_at: integer('created_at').notNull(),
})
