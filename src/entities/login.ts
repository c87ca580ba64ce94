import { findOrganization } from '../account/account.ts'
import { auditedEach } from '../audit/audit.ts'
import type { Login } from '../authority/authority.ts'
import { commit } from '../db/commit.ts'
import type { System } from '../env.ts'
import { isCurrent, openCiec, sealCiec } from './ciec.ts'
import type { Connection } from './connection.ts'
import {
  activeConnections,
  type ConnectionRow,
  findConnection,
  invalidateCiec,
  isStillRejected,
  rejectedAsRead,
  resealCiec,
} from './store.ts'

/** A connection's CIEC in clear; null when it has none. */
export const readCiec = async ({ settings }: System, row: ConnectionRow): Promise<string | null> =>
  row.ciec === null ? null : openCiec(settings.ciecKeys, row, row.ciec)

/**
 * The login to download an RFC with: the CIEC that was accepted last among its active connections, of those that can be opened. Null
 * when nobody can log in. A CIEC under an old key is sealed again under the current one (decisions.md 11).
 */
export async function loginOf(system: System, entity: number): Promise<Login | null> {
  for (const row of await activeConnections(system.db, entity)) {
    const ciec = await readCiec(system, row)
    if (ciec === null) continue
    await rewrap(system, row, ciec)
    return { rfc: row.rfc, ciec }
  }
  return null
}

async function rewrap({ db, settings }: System, row: ConnectionRow, ciec: string): Promise<void> {
  if (row.ciec === null || isCurrent(settings.ciecKeys, row.ciec)) return
  await resealCiec(db, row.connection, row.ciec, await sealCiec(settings.ciecKeys, row, ciec))
}

/**
 * The authority rejected a CIEC: every active connection to the RFC becomes invalid_ciec, once, unless a newer CIEC was accepted
 * meanwhile. Each organization's audit says so, in the same commit; of two consumers that report it at once, one writes.
 */
export async function rejectCiec(system: System, entity: number, rejected: Login): Promise<void> {
  const rows = await activeConnections(system.db, entity)
  let used = 0
  while (used < rows.length && (await readCiec(system, rows[used]!)) !== rejected.ciec) used++
  const affected = rows
    .slice(used)
    .map((row) => ({ organization_id: row.organization_id, resource_id: row.fiscal_entity_id, ...rejectedAsRead(row) }))
  if (affected.length === 0) return
  const author = { ...system, actor: { kind: 'system', process: 'downloads' } as const }
  await commit(system.db.$client, [
    auditedEach(author, { action: 'fiscal_entity.ciec_invalid', changed: ['status'] }, affected, isStillRejected),
    invalidateCiec(system.db, affected, system.now),
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
