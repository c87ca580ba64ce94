import type { Login } from '../authority/port/authority.ts'
import { insertOutboxEvents } from '../outbox/outbox.ts'
import { audited } from '../platform/audit/audit.ts'
import type { System } from '../platform/context.ts'
import { commit } from '../platform/db/commit.ts'
import { isGuardViolation } from '../platform/db/guard.ts'
import { isCurrent, openCiec, sealCiec } from './ciec.ts'
import { activeConnections, assertActiveUnchanged, invalidateCiec, resealCiec } from './login-store.ts'
import type { ConnectionRow } from './taxpayers.ts'

/** A connection's CIEC in clear; null when it has none. */
export const readCiec = async ({ settings }: System, row: ConnectionRow): Promise<string | null> =>
  row.ciec === null ? null : openCiec(settings.ciecKeys, row, row.ciec)

/**
 * The login to download an RFC with: the CIEC that was accepted last among its active connections, of those that can be opened. Null
 * when nobody can log in. A CIEC under an old key is sealed again under the current one (decisions.md 11).
 */
export async function loginOf(system: System, entity: number): Promise<Login | null> {
  const found = await latestLogin(system, await activeConnections(system.db, entity))
  if (found) await rewrap(system, found.row, found.login.ciec)
  return found?.login ?? null
}

/** The first of these connections whose CIEC can be read, and the login that it makes. */
async function latestLogin(system: System, rows: readonly ConnectionRow[]): Promise<{ row: ConnectionRow; login: Login } | null> {
  for (const row of rows) {
    const ciec = await readCiec(system, row)
    if (ciec !== null) return { row, login: { rfc: row.rfc, ciec } }
  }
  return null
}

async function rewrap({ db, settings }: System, row: ConnectionRow, ciec: string): Promise<void> {
  if (row.ciec === null || isCurrent(settings.ciecKeys, row.ciec)) return
  await resealCiec(db, row.connection, row.ciec, await sealCiec(settings.ciecKeys, row, ciec))
}

const acceptedAt = ({ ciec_accepted_at }: ConnectionRow): number => ciec_accepted_at?.getTime() ?? 0

/**
 * The authority rejected a CIEC: every active connection to the RFC becomes invalid_ciec, once, unless its CIEC was accepted after the
 * rejected one. Each organization's fact and audit say so, in the same commit, which fails as a whole when somebody was faster: then
 * everything is looked at again.
 */
export async function rejectCiec(system: System, entity: number, rejected: Login): Promise<void> {
  const rows = await activeConnections(system.db, entity)
  let at = 0
  while (at < rows.length && (await readCiec(system, rows[at]!)) !== rejected.ciec) at++
  const used = rows[at]
  if (!used) return
  const stale = rows.slice(at)
  const author = { ...system, actor: { kind: 'system', process: 'downloads' } as const }
  try {
    await commit(system.db.$client, [
      assertActiveUnchanged(system.db, rows),
      invalidateCiec(system.db, stale, system.now),
      ...insertOutboxEvents(
        system.db.$client,
        stale.map((row) => ({
          outbox_event_id: `connection.ciec_invalid:${row.connection}:${acceptedAt(used)}`,
          kind: 'connection.ciec_invalid',
          entity,
          organizations: [row.organization_id],
          body: { rejected_at: system.now.toISOString() },
        })),
        system.now.getTime(),
      ),
      ...stale.map((row) =>
        audited(author, row.organization_id, {
          action: 'fiscal_entity.ciec_invalid',
          resource_id: row.fiscal_entity_id,
          changed: ['status'],
        }),
      ),
    ])
  } catch (error) {
    if (!isGuardViolation(error)) throw error
    await rejectCiec(system, entity, rejected)
  }
}
