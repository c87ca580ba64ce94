import { loginsOf } from '../../../authority/logins.ts'
import type { DataSourceKey } from '../../../authority/port/catalog.ts'
import type { System } from '../../../platform/context.ts'
import { canLogIn, isUsable, isVerified } from '../../../taxpayers/login.ts'
import { sourcesOf } from '../../../taxpayers/sources.ts'
import { type ConnectionRow, holds } from '../../../taxpayers/taxpayers.ts'

export const isCfdiSource = (source: string): boolean => source === 'sat_cfdi_issued' || source === 'sat_cfdi_received'

/** Makes the function that says which of an extractor's data sources a run fetches for a connection. */
export function sourcesFetched(system: System, keys: readonly DataSourceKey[]): (connection: ConnectionRow) => DataSourceKey[] {
  const { sources: active, documentKind } = loginsOf(system)
  return (connection) => {
    const enabled = sourcesOf(connection, active)
    const hasDocuments = documentKind === null || isUsable(connection, documentKind)
    return keys.filter((key) => enabled.includes(key) && active.includes(key) && (hasDocuments || isCfdiSource(key)))
  }
}

/**
 * Makes the function that says whether a connection has a login for a source, or one that may be verified before its next run is dispatched.
 * Where it has another one, no run waits for that of documents.
 */
export function hasLoginFor(system: System, connection: ConnectionRow): (source: string) => boolean {
  const { documentKind: kind } = loginsOf(system)
  const canAny = canLogIn(system, connection)
  const canDocuments = kind === null || isUsable(connection, kind) || (!isVerified(connection) && holds(connection, kind))
  return (source) => canAny && (isCfdiSource(source) || canDocuments)
}
