import { findOrganization } from '../account/account.ts'
import { audited } from '../audit/audit.ts'
import type { Login } from '../authority/authority.ts'
import { commit } from '../db/commit.ts'
import type { System } from '../env.ts'
import { openCiec } from './ciec.ts'
import type { Connection } from './connection.ts'
import { activeConnections, type ConnectionRow, findConnection, invalidateCiec } from './store.ts'

/** A connection's CIEC in clear; null when it has none. */
export const readCiec = async ({ settings }: System, row: ConnectionRow): Promise<string | null> =>
  row.ciec === null ? null : openCiec(settings.ciecKeys, row, row.ciec)

/** The login to download an RFC with: the CIEC that was accepted last among its active connections. Null when nobody can log in. */
export async function loginOf(system: System, entity: number): Promise<Login | null> {
  for (const row of await activeConnections(system.db, entity)) {
    const ciec = await readCiec(system, row)
    if (ciec !== null) return { rfc: row.rfc, ciec }
  }
  return null
}

/**
 * The authority rejected a CIEC: every active connection to the RFC becomes invalid_ciec, once, unless a newer CIEC was accepted
 * meanwhile. Each organization's audit says so, in the same commit.
 */
export async function rejectCiec(system: System, entity: number, rejected: Login): Promise<void> {
  const rows = await activeConnections(system.db, entity)
  const [used] = rows
  if (!used || (await readCiec(system, used)) !== rejected.ciec) return
  const author = { ...system, actor: { kind: 'system', process: 'downloads' } as const }
  await commit(system.db.$client, [
    invalidateCiec(system.db, used, system.now),
    ...rows.map((row) =>
      audited(author, row.organization_id, {
        action: 'fiscal_entity.ciec_invalid',
        resource_id: row.fiscal_entity_id,
        changed: ['status'],
      }),
    ),
  ])
}

/** An organization as a reader of one RFC, for work that is done for it outside a request. */
export async function readerOf({ db }: System, organization_id: string, fiscal_entity_id: string) {
  const [row, organization] = await Promise.all([
    findConnection(db, organization_id, fiscal_entity_id),
    findOrganization(db, organization_id),
  ])
  return row && { organization, connection: connectionView(row) }
}

const connectionView = (row: ConnectionRow): Connection => ({
  ...row,
  visible_to: row.visible_to?.getTime() ?? null,
  imported_at: row.imported_at?.getTime() ?? null,
})
