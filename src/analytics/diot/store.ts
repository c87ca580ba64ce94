import { type SQL, sql } from 'drizzle-orm'
import { excluded, insertion } from '../../platform/db/statement.ts'
import { diotSettings as table } from './tables.ts'

/** Whose settings they are. */
export interface Filer {
  organization_id: string
  fiscal_entity_id: string
}
export interface SettingsRow {
  supplier: string
  settings: string
}

const isOf = ({ organization_id, fiscal_entity_id }: Filer): SQL =>
  sql`${table.organization_id} = ${organization_id} and ${table.fiscal_entity_id} = ${fiscal_entity_id}`

/** Selects the settings of a supplier, or of all others. */
export const findSettings = (filer: Filer, supplier: string): SQL<SettingsRow> =>
  sql<SettingsRow>`select ${table.supplier}, ${table.settings} from ${table} where ${isOf(filer)} and ${table.supplier} = ${supplier}`

/** Selects the settings of the suppliers after one, by RFC. */
export const findSuppliers = (filer: Filer, after: string, limit: number): SQL<SettingsRow> =>
  sql<SettingsRow>`select ${table.supplier}, ${table.settings} from ${table} where ${isOf(filer)} and ${table.supplier} > ${after}
    order by ${table.supplier} limit ${sql.raw(String(limit))}`

export const writeSettings = (filer: Filer, supplier: string, settings: string, now: Date): SQL =>
  sql`${insertion(table, { ...filer, supplier, settings, updated_at: now.getTime() })}
    on conflict do update set ${excluded([table.settings, table.updated_at])}`

export const deleteSettings = (filer: Filer, supplier: string): SQL =>
  sql`delete from ${table} where ${isOf(filer)} and ${table.supplier} = ${supplier}`

/** The condition that there are settings of a supplier. */
export const hasSettings = (filer: Filer, supplier: string): SQL =>
  sql`exists (select 1 from ${table} where ${isOf(filer)} and ${table.supplier} = ${supplier})`

/** The condition that there are settings of at most so many suppliers. */
export const hasAtMost = (filer: Filer, most: number): SQL =>
  sql`not exists (select 1 from ${table} where ${isOf(filer)} and ${table.supplier} <> '' limit 1 offset ${sql.raw(String(most))})`
