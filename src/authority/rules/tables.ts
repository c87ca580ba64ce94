import { primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/** The values that this deployment sets itself (`npm run rules`). They come before the defaults in `assets/rules.json`. */
export const rules = sqliteTable(
  'rules',
  {
    key: text().notNull(),
    /** The first day on which the value is in force, `YYYY-MM-DD`. */
    valid_from: text().notNull(),
    /** The last one; null while no end is known. */
    valid_to: text(),
    /** JSON, in the shape of the key (shapes.ts). */
    value: text().notNull(),
    rule_ref: text().notNull(),
    source: text().notNull(),
    confidence: text({ enum: ['verified', 'from_memory', 'proposed'] }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.key, table.valid_from] })],
)

/** The keys of c_ClaveProdServ with their labels, once an operator has loaded the authority's file. */
export const productKeys = sqliteTable('product_keys', {
  key: text().primaryKey(),
  label: text().notNull(),
})

/** Pesos for one unit of a currency, as an operator loaded them (`npm run rates`) or FX_RATES_URL delivered them. */
export const fxRates = sqliteTable(
  'fx_rates',
  {
    currency: text().notNull(),
    /** The day of the publication in the Diario Oficial, `YYYY-MM-DD`. */
    date: text().notNull(),
    /** Decimal text. */
    rate: text().notNull(),
    source: text().notNull(),
  },
  (table) => [primaryKey({ columns: [table.currency, table.date] })],
)
