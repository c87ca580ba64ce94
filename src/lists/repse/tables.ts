import { sql } from 'drizzle-orm'
import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { flag, instant } from '../../platform/db/columns.ts'
import type { RegistryRecord } from './registry/registry.ts'

/** The registry's last answer about an RFC, which all organizations share, and the state of its next look-up. */
export const repseRecords = sqliteTable(
  'repse_records',
  {
    rfc: text().primaryKey(),
    /** The name on the tax authority's documents, by which the registry is searched; null when unknown. */
    name: text(),
    /** When the registry last answered. While it is null, the columns of the answer mean nothing. */
    checked_at: instant(),
    is_registered: flag(),
    folio: text(),
    razon_social: text(),
    entidad: text(),
    municipio: text(),
    num_aviso: text(),
    /** Days, `YYYY-MM-DD`. */
    fecha_aviso: text(),
    vigencia_hasta: text(),
    actividades: text({ mode: 'json' }).$type<RegistryRecord['actividades']>(),
    /** When the requested look-up may begin, or when the lease of the one that is running ends; null when none is requested. */
    due_at: instant(),
    token: text(),
    /** How often the registry has not answered since the look-up was requested. */
    attempts: integer().notNull(),
    /** The day of the last round that claimed the RFC. A round looks each RFC up once. */
    asked_day: text(),
  },
  // The sweep: requested look-ups, the longest waiting first.
  (table) => [index('repse_records_due').on(table.due_at).where(sql`due_at is not null`)],
)

/** The daily round over the RFCs with an active connection. */
export const repseRounds = sqliteTable('repse_rounds', {
  /** `YYYY-MM-DD` in UTC. */
  day: text().primaryKey(),
  /** The instant from which the age of answers and the day of alerts are computed. */
  instant: instant().notNull(),
  /** The last entity that the round has finished. */
  after: integer().notNull(),
  is_done: flag().notNull(),
  moved_at: instant().notNull(),
})

/** Records that test helpers gave the sandbox registry. */
export const sandboxRepseRecords = sqliteTable('sandbox_repse_records', {
  rfc: text().primaryKey(),
  /** A RegistryRecord as JSON. */
  record: text().notNull(),
})
