import { loginsOf } from '../../authority/logins.ts'
import type { DataSourceKey } from '../../authority/port/catalog.ts'
import type { System } from '../../platform/context.ts'
import { isUsable } from '../../taxpayers/login.ts'
import { sourcesOf } from '../../taxpayers/sources.ts'
import type { ConnectionRow } from '../../taxpayers/taxpayers.ts'

export const isCfdiSource = (source: DataSourceKey): boolean => source === 'sat_cfdi_issued' || source === 'sat_cfdi_received'

/** Makes the function that says which of an extractor's data sources a run fetches for a connection. */
export function sourcesFetched(system: System, keys: readonly DataSourceKey[]): (connection: ConnectionRow) => DataSourceKey[] {
  const { sources: active, documentKind } = loginsOf(system)
  return (connection) => {
    const enabled = sourcesOf(connection, active)
    const hasDocuments = documentKind === null || isUsable(connection, documentKind)
    return keys.filter((key) => enabled.includes(key) && active.includes(key) && (hasDocuments || isCfdiSource(key)))
  }
}
