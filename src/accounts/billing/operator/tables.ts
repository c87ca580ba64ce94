import { sql } from 'drizzle-orm'
import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { instant } from '../../../platform/db/columns.ts'

/** Commands that operators recorded with `npm run billing`, and their outcome. */
export const operatorCommands = sqliteTable(
  'operator_orders',
  {
    command_id: text().primaryKey(),
    /**
     * `pay` and `settle` pay an invoice; only `settle` is accepted where the payment provider collects, after the invoice was voided
     * there.
     */
    kind: text({ enum: ['pay', 'settle', 'plan'] }).notNull(),
    organization_id: text().notNull(),
    invoice_id: text(),
    plan: text(),
    /** Number of seats where it differs from the plan's. */
    rfc_allowance: integer(),
    created_at: instant().notNull(),
    done_at: instant(),
    /** Why the command was refused; null when it was carried out. */
    refused: text(),
  },
  // The sweep of commands that are not done.
  (table) => [index('operator_orders_open').on(table.created_at).where(sql`done_at is null`)],
)
