import type { DataSourceKey } from '../authority/port/authority.ts'
import { defaultKeys, withMandatory } from '../authority/sources.ts'

/** The data sources of a connection: its own list, or all active ones that are not premium; always with the mandatory ones. */
export const sourcesOf = (row: { data_source_keys: DataSourceKey[] | null }, active: readonly DataSourceKey[]): DataSourceKey[] =>
  row.data_source_keys === null ? withMandatory(defaultKeys(active)) : withMandatory(row.data_source_keys)
