import { change } from '../../platform/audit/audit.ts'
import type { Ctx } from '../../platform/context.ts'
import { Failure } from '../../platform/failures.ts'
import type { Connection } from '../../platform/tenant/tenant.ts'
import { localDayOf } from '../../platform/time/calendar.ts'
import { isReadable, notActive } from '../../taxpayers/connection.ts'
import type { RepseChecking, RepseQueued, RepseStatus } from './contract.ts'
import { announceLookups } from './lookups.ts'
import { isStale, registrationStatus } from './status.ts'
import { type CheckedRow, findRow, isChecked, recordOf, requestLookups } from './store.ts'

const COOLDOWN_SECONDS = 3_600
const RETRY_AFTER_SECONDS = 15

/** The connection of the request, if it can be read. Throws Failure 404 as notActive says it. */
function readableConnection({ settings, connection }: Ctx): Connection {
  if (!connection || !isReadable(connection)) throw notActive({ settings }, connection)
  return connection
}

function activeConnection({ settings, connection }: Ctx): Connection {
  if (connection?.state !== 'active') throw notActive({ settings }, connection)
  return connection
}

function view(row: CheckedRow, { now, organization }: Ctx): RepseStatus {
  const { is_registered, folio, razon_social, entidad, municipio, num_aviso, fecha_aviso, vigencia_hasta, actividades } = recordOf(row)
  return {
    rfc: row.rfc,
    is_registered,
    is_stale: isStale(row.checked_at, now),
    checked_at: row.checked_at.toISOString(),
    ...{ folio, razon_social, entidad, municipio, num_aviso, fecha_aviso, vigencia_hasta },
    ...registrationStatus({ is_registered, vigencia_hasta }, localDayOf(now, organization.timezone)),
    actividades,
  }
}

/**
 * Returns the registry's last answer about the RFC. Requests a look-up when it has never answered. Throws Failure 404
 * without a readable connection.
 */
export async function getRepse(ctx: Ctx): Promise<RepseStatus | RepseChecking> {
  const { rfc } = readableConnection(ctx)
  const row = await findRow(ctx.db, rfc)
  if (isChecked(row)) return view(row, ctx)
  if (!row?.due_at) {
    await requestLookups(ctx.db, [{ rfc, name: null }], new Date()).run()
    await announceLookups(ctx, [rfc])
  }
  return { status: 'checking', rfc, retry_after_seconds: RETRY_AFTER_SECONDS }
}

/**
 * Requests a look-up of the RFC. Throws Failure 404 without an active connection, and 429 repse.cooldown within an
 * hour of any organization's last request for the RFC.
 */
export async function requestRefresh(ctx: Ctx): Promise<RepseQueued> {
  const { rfc, fiscal_entity_id } = activeConnection(ctx)
  const cooldown = ctx.env.COOLDOWNS.getByName(`repse:${rfc}`)
  const acquired = await cooldown.acquire(COOLDOWN_SECONDS, Date.now())
  if (!acquired.acquired) throw tooSoon(acquired.retry_after_seconds)
  try {
    await change(ctx, { action: 'repse.refresh_requested', resource_id: fiscal_entity_id }, [
      requestLookups(ctx.db, [{ rfc, name: null }], new Date()),
    ])
  } catch (error) {
    await cooldown.release()
    throw error
  }
  await announceLookups(ctx, [rfc])
  return { status: 'queued', rfc }
}

const tooSoon = (retry_after_seconds: number) =>
  new Failure(
    'too_many_requests',
    'repse.cooldown',
    `A look-up of this RFC was requested less than an hour ago. Try again in ${retry_after_seconds} s.`,
    { retry_after_seconds },
  )
