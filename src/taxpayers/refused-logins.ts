import { sql } from 'drizzle-orm'
import { raiseAlerts } from '../platform/alerts/alerts.ts'
import type { System } from '../platform/context.ts'
import { prepared } from '../platform/db/statement.ts'
import type { RefusedReason } from '../platform/tenant/tenant.ts'
import type { ConnectionRow } from './taxpayers.ts'

/** What happened to a login, and what the connection goes on with. */
const message = ({ rfc, efirma_number, efirma_valid_to }: ConnectionRow, reason: RefusedReason): string => {
  switch (reason) {
    case 'rejected':
      return `The tax authority rejected the CIEC of ${rfc}, and it was erased. Downloads go on with the e.firma.`
    case 'efirma_refused':
      return `The tax authority refused the e.firma ${efirma_number} of ${rfc}, and it was erased. Downloads go on with the CIEC.`
    case 'efirma_expired':
      return `The e.firma ${efirma_number} of ${rfc} expired at ${efirma_valid_to?.toISOString()}, and it was erased. Downloads go on with the CIEC.`
  }
}

const message_es = ({ rfc, efirma_number, efirma_valid_to }: ConnectionRow, reason: RefusedReason): string => {
  switch (reason) {
    case 'rejected':
      return `El SAT rechazó la CIEC de ${rfc} y se borró. Las descargas continúan con la e.firma.`
    case 'efirma_refused':
      return `El SAT rechazó la e.firma ${efirma_number} de ${rfc} y se borró. Las descargas continúan con la CIEC.`
    case 'efirma_expired':
      return `La e.firma ${efirma_number} de ${rfc} venció el ${efirma_valid_to?.toISOString()} y se borró. Las descargas continúan con la CIEC.`
  }
}

/**
 * Raises an alert for each organization of connections that lose one of their two logins, once for each version of the RFC's logins of that
 * kind. A repetition changes nothing.
 */
export async function tellRefused(system: System, rows: readonly ConnectionRow[], reason: RefusedReason, version: number): Promise<void> {
  if (rows.length === 0) return
  const ids = JSON.stringify(rows.map(({ organization_id }) => organization_id))
  const { results } = await prepared(
    system.db.$client,
    sql`select id, events_shard from organizations where id in (select value from json_each(${ids}))`,
  ).all<{ id: string; events_shard: number }>()
  const shards = new Map(results.map(({ id, events_shard }) => [id, events_shard]))
  const drafts = rows.map((row) => ({
    organization_id: row.organization_id,
    events_shard: shards.get(row.organization_id)!,
    kind: 'connection.login_refused' as const,
    severity: 'warning' as const,
    dedupe_key: `connection.login_refused:${row.fiscal_entity_id}:${reason}:${version}`,
    resource_id: row.fiscal_entity_id,
    message: message(row, reason),
    message_es: message_es(row, reason),
  }))
  await raiseAlerts(system, drafts, system.now)
}
