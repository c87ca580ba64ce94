import { sql } from 'drizzle-orm'
import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { instant } from '../../platform/db/columns.ts'

/** What an operator recorded with `npm run billing`, and what became of it. */
export const operatorCommands = sqliteTable(
  'operator_orders',
  {
    order_id: text('order_id').primaryKey(),
    /** settle: as pay, also where the provider collects: what it knows of the invoice is void. */
    kind: text('kind', { enum: ['pay', 'settle', 'plan'] }).notNull(),
    organization_id: text('organization_id').notNull(),
    invoice_id: text('invoice_id'),
    plan: text('plan'),
    /** Seats, where they are to differ from the plan's. */
    rfc_allowance: integer('rfc_allowance'),
    created_at: instant('created_at').notNull(),
    done_at: instant('done_at'),
    /** Why it could not be done; null when it was. */
    refused: text('refused'),
  },
  // The sweep: what is to be done.
  (table) => [index('operator_orders_open').on(table.created_at).where(sql`done_at is null`)],
)
