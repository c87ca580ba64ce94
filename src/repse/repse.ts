import { Failure } from '../failures.ts'
import { change } from '../platform/audit/audit.ts'
import type { Ctx } from '../platform/context.ts'
import type { Connection } from '../platform/tenant.ts'
import { localDayOf } from '../platform/time/calendar.ts'
import { isReadable, notActive } from '../taxpayers/connection.ts'
import type { RepseChecking, RepseQueued, RepseStatus } from './contract.ts'
import { announceLookups } from './lookups.ts'
import { isStale, registrationStatus } from './status.ts'
import { type CheckedRow, findRow, isChecked, recordOf, wantLookups } from './store.ts'

const COOLDOWN_SECONDS = 3_600
const RETRY_AFTER_SECONDS = 15

function readable({ connection }: Ctx): Connection {
  if (!connection || !isReadable(connection)) throw notActive()
  return connection
}

function active({ connection }: Ctx): Connection {
  if (connection?.state !== 'active') throw notActive()
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

/** What the registry last said of the RFC; when it never said anything, it is asked. 404 without a connection that can be read. */
export async function getRepse(ctx: Ctx): Promise<RepseStatus | RepseChecking> {
  const { rfc } = readable(ctx)
  const row = await findRow(ctx.db, rfc)
  if (isChecked(row)) return view(row, ctx)
  if (!row?.due_at) {
    await wantLookups(ctx.db, [{ rfc, name: null }], new Date()).run()
    await announceLookups(ctx, [rfc])
  }
  return { status: 'checking', rfc, retry_after_seconds: RETRY_AFTER_SECONDS }
}

/** Has the registry asked again. 404 without an active connection, 429 within an hour of the last time that anybody did for the RFC. */
export async function requestRefresh(ctx: Ctx): Promise<RepseQueued> {
  const { rfc, fiscal_entity_id } = active(ctx)
  const cooldown = ctx.env.COOLDOWNS.getByName(`repse:${rfc}`)
  const acquired = await cooldown.acquire(COOLDOWN_SECONDS, Date.now())
  if (!acquired.acquired) throw tooSoon(acquired.retry_after_seconds)
  try {
    await change(ctx, { action: 'repse.refresh_requested', resource_id: fiscal_entity_id }, [
      wantLookups(ctx.db, [{ rfc, name: null }], new Date()),
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
    `The registry was asked about this RFC less than an hour ago. Try again in ${retry_after_seconds} s.`,
    { retry_after_seconds },
  )
