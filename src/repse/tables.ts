import { sql } from 'drizzle-orm'
import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { flag, instant } from '../platform/db/columns.ts'
import type { Activity } from './registry/registry.ts'

/** What the registry last said of an RFC, shared by all organizations, and whether it is to be asked again. */
export const repseRecords = sqliteTable(
  'repse_records',
  {
    rfc: text('rfc').primaryKey(),
    /** As the tax authority's documents name it: the registry is searched by name. Null where nobody has said it. */
    name: text('name'),
    /** When the registry last answered. Null before it ever did: the columns of its answer then mean nothing. */
    checked_at: instant('checked_at'),
    is_registered: flag('is_registered'),
    folio: text('folio'),
    razon_social: text('razon_social'),
    entidad: text('entidad'),
    municipio: text('municipio'),
    num_aviso: text('num_aviso'),
    /** Days, `YYYY-MM-DD`. */
    fecha_aviso: text('fecha_aviso'),
    vigencia_hasta: text('vigencia_hasta'),
    actividades: text('actividades', { mode: 'json' }).$type<Activity[]>(),
    /** A look-up is wanted and may be begun from here on; whoever begins one puts its lease here. Null: none is wanted. */
    due_at: instant('due_at'),
    token: text('token'),
    /** How often the registry did not answer since the look-up was wanted. */
    attempts: integer('attempts').notNull(),
    /** The day whose round has asked, or was about to: no round asks twice. */
    asked_day: text('asked_day'),
  },
  // The sweep: look-ups that are wanted, the longest waiting first.
  (table) => [index('repse_records_due').on(table.due_at).where(sql`due_at is not null`)],
)

/** The day's round over the RFCs with an active connection. */
export const repseRounds = sqliteTable('repse_rounds', {
  /** `YYYY-MM-DD` in UTC. */
  day: text('day').primaryKey(),
  /** What is stale, and what day it is for an alert, is seen from here. */
  instant: instant('instant').notNull(),
  /** The last entity that is done. */
  after: integer('after').notNull(),
  is_done: flag('is_done').notNull(),
  moved_at: instant('moved_at').notNull(),
})
