import type { Login } from '../authority/port/authority.ts'
import { Failure } from '../failures.ts'
import { insertOutboxEvents } from '../outbox/outbox.ts'
import { audited } from '../platform/audit/audit.ts'
import type { System } from '../platform/context.ts'
import { commit } from '../platform/db/commit.ts'
import { retryOnConflict } from '../platform/db/retry.ts'
import { isCurrent, openCiec, sealCiec } from './ciec.ts'
import { activeConnections, assertActiveUnchanged, invalidateCiec, resealCiec } from './login-store.ts'
import type { ConnectionRow } from './taxpayers.ts'

/** Decrypts a connection's CIEC. Null when none is stored, or when it cannot be opened. */
export const readCiec = async ({ settings }: System, row: ConnectionRow): Promise<string | null> =>
  row.ciec === null ? null : openCiec(settings.ciecKeys, row, row.ciec)

/**
 * Returns the login with which an RFC is downloaded: the CIEC that was accepted last among its active connections, of those that can be
 * opened. Null when there is none. A CIEC that is sealed with an old key is sealed again with the current one (decisions.md 11).
 */
export async function loginOf(system: System, entity: number): Promise<Login | null> {
  const found = await latestLogin(system, await activeConnections(system.db, entity))
  if (found) await rewrap(system, found.row, found.login.ciec)
  return found?.login ?? null
}

/** The first of these connections whose CIEC can be opened, and its login. */
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
 * Records that the tax authority rejected a CIEC: all active connections to the RFC become invalid_ciec, except those whose CIEC was
 * accepted after the rejected one. The same commit writes each organization's outbox event and audit event; it is decided again when the
 * connections change meanwhile.
 */
export const rejectCiec = (system: System, entity: number, rejected: Login): Promise<void> =>
  retryOnConflict(
    async () => {
      const rows = await activeConnections(system.db, entity)
      let at = 0
      while (at < rows.length && (await readCiec(system, rows[at]!)) !== rejected.ciec) at++
      if (at < rows.length) await invalidate(system, entity, rows, rows.slice(at))
    },
    () => new Failure('contention', 'fiscal_entity.changed', 'The connections to this RFC keep changing.'),
  )

/** `stale` are the last of the RFC's active connections, beginning with the one whose CIEC was rejected. */
async function invalidate(system: System, entity: number, rows: readonly ConnectionRow[], stale: readonly ConnectionRow[]): Promise<void> {
  const author = { ...system, actor: { kind: 'system', process: 'downloads' } as const }
  await commit(system.db.$client, [
    assertActiveUnchanged(system.db, rows),
    invalidateCiec(system.db, stale, system.now),
    ...insertOutboxEvents(
      system.db.$client,
      stale.map((row) => ({
        outbox_event_id: `connection.ciec_invalid:${row.connection}:${acceptedAt(stale[0]!)}`,
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
}
