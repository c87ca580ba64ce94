import { readerOf } from '../../accounts/organization/organization.ts'
import { change } from '../../platform/audit/audit.ts'
import type { Ctx, System } from '../../platform/context.ts'
import { changesOf } from '../../platform/db/statement.ts'
import { Failure } from '../../platform/failures.ts'
import { countHourly } from '../../platform/locks/hourly.ts'
import { log } from '../../platform/log.ts'
import type { Connection } from '../../platform/tenant/tenant.ts'
import { localDayOf } from '../../platform/time/calendar.ts'
import { clock } from '../../platform/time/clock.ts'
import { sendHints } from '../../platform/work/send.ts'
import { isReadable, notActive } from '../../taxpayers/connection.ts'
import { activeConnectionsOf } from '../../taxpayers/taxpayers.ts'
import { openLedger, type ScopedLedger } from '../../taxpayers/visibility/scoped-ledger.ts'
import type { RepseChecking, RepseQueued, RepseStatus } from './contract.ts'
import { registryOf } from './registry/adapters.ts'
import type { RegistryRecord } from './registry/registry.ts'
import { isStale, registrationStatus } from './status.ts'
import {
  type CheckedRow,
  claimLookup,
  findRow,
  finishLookup,
  isChecked,
  overdueLookups,
  postponeLookup,
  recordOf,
  requestLookups,
} from './store.ts'

/** Finds the name of an RFC on its own documents; null without one. */
export type OwnName = (ledger: ScopedLedger) => Promise<string | null>

/** RFCs that one message names. They are looked up one after the other. */
const RFCS_A_MESSAGE = 5
/** If a look-up has been due for this long, its message was lost. */
const OVERDUE_AFTER_MS = 60_000
const SWEEP_LIMIT = 50
/** The waits after unanswered attempts. After the last wait the look-up is abandoned until it is requested again. */
const WAITS_MS = [60_000, 300_000, 1_800_000, 7_200_000]

/** Announces requested look-ups to the consumer. The sweep announces them again if a message is lost. */
export const announceLookups = (system: System, rfcs: readonly string[]): Promise<void> =>
  sendHints(
    system,
    system.env.REPSE,
    Array.from({ length: Math.ceil(rfcs.length / RFCS_A_MESSAGE) }, (_, n) => ({
      body: { rfcs: rfcs.slice(n * RFCS_A_MESSAGE, (n + 1) * RFCS_A_MESSAGE) },
    })),
  )

/** Runs the look-ups of these RFCs that are requested and due, one after the other. */
export async function runLookups(system: System, rfcs: readonly string[], ownName: OwnName): Promise<void> {
  for (const rfc of rfcs) await runLookup(system, rfc, ownName)
}

async function runLookup(system: System, rfc: string, ownName: OwnName): Promise<void> {
  const { db } = system
  const row = await claimLookup(db, rfc)
  if (!row) return
  const record = await askRegistry(system, rfc, row.name, ownName)
  if (record) await finishLookup(db, row, record, clock.date())
  else {
    const wait = WAITS_MS[row.attempts]
    await postponeLookup(db, row, wait === undefined ? null : new Date(clock.now() + wait))
  }
}

/** Returns the registry's answer about an RFC. When there is none, writes a log line and returns null. */
export async function askRegistry(system: System, rfc: string, name: string | null, ownName: OwnName): Promise<RegistryRecord | null> {
  try {
    return await registryOf(system).lookUp(rfc, async () => name ?? (await taxpayerName(system, rfc, ownName)))
  } catch (error) {
    log.error(system, 'The REPSE registry gave no answer.', { rfc }, error)
    return null
  }
}

/** Returns the name of a connected RFC on its own documents, as far as one of its organizations may read them; null when unknown. */
async function taxpayerName(system: System, rfc: string, ownName: OwnName): Promise<string | null> {
  for (const { organization_id, fiscal_entity_id } of await activeConnectionsOf(system.db, rfc)) {
    const reader = await readerOf(system, { id: organization_id }, fiscal_entity_id)
    const name = reader?.connection.state === 'active' ? await ownName(openLedger({ settings: system.settings, ...reader })) : null
    if (name !== null) return name
  }
  return null
}

/** Announces look-ups after a lost message, after the death of a worker, and at the end of a wait. */
export async function sweepLookups(system: System): Promise<void> {
  await announceLookups(system, await overdueLookups(system.db, new Date(clock.now() - OVERDUE_AFTER_MS), SWEEP_LIMIT))
}

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
    await changesOf(ctx.db.$client, requestLookups([{ rfc, name: null }], clock.date()))
    await announceLookups(ctx, [rfc])
  }
  return { status: 'checking', rfc, retry_after_seconds: RETRY_AFTER_SECONDS }
}

/**
 * Requests a look-up of the RFC. Throws Failure 404 without an active connection, and 429 repse.cooldown within an
 * hour of any organization's last request for the RFC and organization.hourly_limit.
 */
export async function requestRefresh(ctx: Ctx): Promise<RepseQueued> {
  const { rfc, fiscal_entity_id } = activeConnection(ctx)
  const cooldown = ctx.env.COOLDOWNS.getByName(`repse:${rfc}`)
  const acquired = await cooldown.acquire(COOLDOWN_SECONDS, clock.now())
  if (!acquired.acquired) throw tooSoon(acquired.retry_after_seconds)
  try {
    await countHourly(ctx, 'repse_refreshes')
    await change(ctx, { action: 'repse.refresh_requested', resource_id: fiscal_entity_id }, [
      requestLookups([{ rfc, name: null }], clock.date()),
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
