import { primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { instant } from '../../platform/db/columns.ts'

/** What a taxpayer says of purchases for the DIOT: of a supplier, or of all others (an empty `supplier`). */
export const diotSettings = sqliteTable(
  'diot_settings',
  {
    organization_id: text().notNull(),
    fiscal_entity_id: text().notNull(),
    supplier: text().notNull(),
    /** JSON: SupplierSettings, or FilerSettings of all others. */
    settings: text().notNull(),
    updated_at: instant().notNull(),
  },
  (table) => [primaryKey({ columns: [table.organization_id, table.fiscal_entity_id, table.supplier] })],
)
