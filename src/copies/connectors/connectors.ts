import { reserveQuota } from '../../accounts/plans/reserve-quota.ts'
import { changeEvents } from '../../platform/audit/audit.ts'
import { type Ctx, eventsOf, type System } from '../../platform/context.ts'
import { retryOnConflict } from '../../platform/db/guard.ts'
import { idOfUuid, newId } from '../../platform/db/id.ts'
import { readRows } from '../../platform/db/statement.ts'
import { Failure, invalid } from '../../platform/failures.ts'
import { openCursor, paginate } from '../../platform/paging/cursor.ts'
import { targetFault } from '../../platform/target.ts'
import { entitiesFor } from '../../platform/tenant/bound.ts'
import { clock } from '../../platform/time/clock.ts'
import type { Leased } from '../../platform/work/lease.ts'
import { refuseUnlinked } from '../../taxpayers/connection.ts'
import { configOf, openDestination, requireConnector, scopeOf, sealCredentials } from '../connector.ts'
import { DestinationError } from '../drivers/port.ts'
import { wakeConnector } from '../due.ts'
import { dropParts, isUnlisted, lastManifestOf, locationOf, moveManifests, writeManifests } from '../mirror/manifest.ts'
import { changeToken, connectorLease, takeConnector, type WorkRow } from '../mirror/store.ts'
import {
  type Backfill,
  type ConnectorChanges,
  type ConnectorConfig,
  type ConnectorCredentials,
  type ConnectorDraft,
  type ConnectorQuery,
  type ConnectorScope,
  type LastError,
  type RefusedDocument,
  readMember,
  type StorageConnector,
} from '../provider-contract.ts'
import {
  assertBackfillUnchanged,
  assertConnectorUnchanged,
  type ConnectorRow,
  type CountedConnector,
  connectorsUsed,
  forgetCopied,
  insertConnector,
  listConnectorRows,
  listRefused,
  markMirrorsDue,
  type RefusedRow,
  retryRefused,
  updateConnector,
} from '../store.ts'
import { previewOf } from '../template.ts'

/** How long a change waits for the worker, which notices it within two seconds and then ends the work under way. */
const WAIT_MS = 6_000
const LOOK_EVERY_MS = 50
/** How long the manifests of the place may take. */
const WRITE_MS = 8_000

/**
 * Ends the copying to a connector whose documents are to lie elsewhere. Nobody copies until the change is committed, which releases the
 * connector, or the lease ends. Returns the connector as it is then; undefined for a deleted one.
 */
async function stopCopying(d1: D1Database, connector: number, token: string): Promise<Leased<WorkRow> | undefined> {
  const until = performance.now() + WAIT_MS
  const take = (isForced: boolean) => takeConnector(d1, connector, token, clock.now(), connectorLease.end, isForced)
  let row = await take(false)
  while (!row && performance.now() < until) {
    await scheduler.wait(LOOK_EVERY_MS)
    row = await take(false)
  }
  return row ?? (await take(true))
}

/** Lists the unlisted copies in a manifest at the place that a stopped connector leaves, if it can be reached. */
async function listRest(system: System, d1: D1Database, row: Leased<WorkRow>): Promise<void> {
  if (!isUnlisted(row)) return
  try {
    const destination = await openDestination(system, d1, row)
    const writing = writeManifests(system, d1, row, destination, clock.date().toISOString().slice(0, 10))
    writing.catch(() => null)
    await Promise.race([writing, scheduler.wait(WRITE_MS)])
  } catch (error) {
    if (!(error instanceof DestinationError)) throw error
  }
}

/**
 * Returns why copies cannot use a shared access signature of Azure, as the message of a 422; null if it states no obstacle. One that refers
 * to a stored access policy states little.
 */
function sasFault(token: string, now: number): string | null {
  const said = new URLSearchParams(token)
  const permissions = said.get('sp')
  if (permissions !== null && !permissions.includes('w')) return 'Must allow to write: its permissions (sp) have no w.'
  return Date.parse(said.get('se') ?? '') <= now ? 'Must not be expired: the time until which it is valid (se) is over.' : null
}

export { connectorsUsed }

/** Refuses an organization with an invoice beyond its grace period. Throws Failure 402 billing.overdue. */
export type CheckPaid = (ctx: Ctx) => Promise<void>

const parsed = <T>(json: string | null): T | null => (json === null ? null : (JSON.parse(json) as T))

/** A backfill pauses and resumes with its connector. */
function backfillOf({ backfill: json, connector_status }: CountedConnector): Backfill | null {
  const backfill = parsed<Backfill>(json)
  const isStopped = backfill !== null && backfill.status !== 'completed' && connector_status !== 'active'
  return isStopped ? { ...backfill, status: 'paused' } : backfill
}

function view(row: CountedConnector): StorageConnector {
  const { connector_id, name, provider, connector_status, copied_count, failed_count } = row
  const config = configOf(row)
  const isWaiting = connector_status === 'active' && row.retry_at > clock.now()
  return {
    ...{ connector_id, name, provider, connector_status, config },
    scope: scopeOf(row),
    credentials_set: true,
    last_copied_at: row.last_copied_at?.toISOString() ?? null,
    last_error: parsed<LastError>(row.last_error),
    ...{ copied_count, pending_count: row.pending, failed_count },
    consecutive_failures: row.failures,
    next_attempt_at: isWaiting ? new Date(row.retry_at).toISOString() : null,
    backfill: backfillOf(row),
    last_manifest: lastManifestOf(row),
    preview: previewOf(config.path_template, config.prefix),
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  }
}

/** Takes the lease of a worker: its work began with the old connector, and is not committed. */
const NOBODY = { token: null, lease_until: 0 } as const

/** A backfill that has not begun. */
const newBackfill = (now: Date): Backfill => ({
  ...{ status: 'queued', total: null, copied: 0, failed: 0, completed_at: null },
  requested_at: now.toISOString(),
})

/** The columns of one that never failed. It is planned again, for the RFCs that were connected while it was not active. */
const UNPLANNED = { failures: 0, retry_at: 0, is_planned: false } as const

function refuseTarget({ settings }: Ctx, config: ConnectorConfig): void {
  const message = 'endpoint' in config && config.endpoint !== null ? targetFault(config.endpoint, settings.publicHosts) : null
  if (message !== null) throw invalid('storage_connector.endpoint', [{ path: 'config.endpoint', message }])
}

function refuseCredentials(credentials: ConnectorCredentials): void {
  const message = 'sas_token' in credentials && credentials.sas_token ? sasFault(credentials.sas_token, Date.now()) : null
  if (message !== null) throw invalid('storage_connector.credentials', [{ path: 'credentials.sas_token', message }])
}

const refuseScope = (ctx: Ctx, { fiscal_entity_ids }: Partial<ConnectorScope>): Promise<void> =>
  refuseUnlinked(ctx, fiscal_entity_ids, 'scope.fiscal_entity_ids', 'storage_connector.scope')

const scopeFor = ({ organization }: Ctx, scope: ConnectorScope): ConnectorScope => ({
  ...scope,
  fiscal_entity_ids: entitiesFor(organization, scope.fiscal_entity_ids),
})

/**
 * Creates a connector, which copies new documents from now on. Throws Failure 422 storage_connector.endpoint for an endpoint that may not
 * be called, 422 storage_connector.credentials for a SAS token that cannot write, 422 storage_connector.scope for a fiscal entity that is
 * not linked, 402 billing.overdue, and 409 storage_connector.plan_limit.
 */
export async function createConnector(ctx: Ctx, draft: ConnectorDraft, checkPaid: CheckPaid): Promise<StorageConnector> {
  const { name, provider, scope } = draft
  const config = readMember('config', provider, draft.config)
  const credentials = readMember('credentials', provider, draft.credentials)
  refuseTarget(ctx, config)
  refuseCredentials(credentials)
  await refuseScope(ctx, scope)
  await checkPaid(ctx)
  const identity = { organization_id: ctx.organization.id, connector_id: newId('stc') }
  const row = {
    ...identity,
    name,
    provider,
    config: JSON.stringify(config),
    scope: JSON.stringify(scopeFor(ctx, scope)),
    credentials: await sealCredentials(ctx, identity, credentials),
    credentials_version: 1,
    connector_status: 'active',
    ...UNPLANNED,
    ...NOBODY,
    last_error: null,
    last_copied_at: null,
    copied_count: 0,
    failed_count: 0,
    backfill: null,
    parts: 0,
    manifest: null,
    created_at: ctx.now,
    updated_at: ctx.now,
    deleted_at: null,
  } satisfies Omit<ConnectorRow, 'connector'>
  const db = eventsOf(ctx)
  const results = await reserveQuota({ ...ctx, db }, 'storage_connectors', connectorsUsed(ctx.organization.id), (reserved) =>
    changeEvents(ctx, { action: 'storage_connector.created', resource_id: identity.connector_id, changed: Object.keys(draft) }, [
      ...reserved,
      insertConnector(db, row),
    ]),
  )
  // Its audit row comes last.
  const connector = results.at(-2)!.meta.last_row_id
  await wake(ctx, connector)
  return view({ ...row, connector, pending: 0 })
}

const wake = (ctx: Ctx, connector: number) => wakeConnector(ctx, { shard: ctx.organization.events_shard, connector })

/** Returns a page of the organization's connectors, oldest first. */
export async function listConnectors(ctx: Ctx, query: ConnectorQuery) {
  const scope = { list: 'storage_connectors', filters: query }
  const [after] = (await openCursor(ctx, scope, query.cursor)) ?? []
  const rows = await listConnectorRows(eventsOf(ctx), ctx.organization, Number(after ?? 0), query.limit + 1)
  return paginate(ctx, scope, query.limit, rows, (row) => [row.connector], view)
}

/** Returns one connector. Throws Failure 404 storage_connector.not_found. */
export const getConnector = async (ctx: Ctx, connector_id: string): Promise<StorageConnector> =>
  view(await requireConnector(ctx, connector_id))

/** Returns a page of the documents that the destination refused while it took others. Throws Failure 404 storage_connector.not_found. */
export async function listRefusedDocuments(ctx: Ctx, connector_id: string, query: ConnectorQuery) {
  const { connector } = await requireConnector(ctx, connector_id)
  const scope = { list: 'storage_refused', filters: { ...query, connector_id } }
  const [entity = '', document = ''] = (await openCursor(ctx, scope, query.cursor)) ?? []
  const rows = await readRows(
    eventsOf(ctx).$client,
    listRefused(ctx.organization, connector, [String(entity), String(document)], query.limit + 1),
  )
  return paginate(ctx, scope, query.limit, rows, (row) => [row.fiscal_entity, row.document], refusedView)
}

const refusedView = ({ fiscal_entity, path, code, message, at }: RefusedRow): RefusedDocument => ({
  ...{ fiscal_entity_id: idOfUuid('fe', fiscal_entity), path, code, message, at },
})

/** Credentials are sent only to the server for which they were given, so that nobody who changes a connector learns them. */
function refuseOldCredentials(stored: ConnectorConfig, config: ConnectorConfig): void {
  const serverOf = (one: ConnectorConfig & { endpoint?: string | null; account?: string; path_style?: boolean | null; bucket?: string }) =>
    JSON.stringify([one.endpoint, one.account, one.endpoint != null && one.path_style === false ? one.bucket : null])
  if (serverOf(stored) !== serverOf(config))
    throw invalid('storage_connector.credentials_required', [
      {
        path: 'credentials',
        message: 'Must be sent again, because the server changes: its endpoint, its account, or the bucket in its host name.',
      },
    ])
}

/**
 * Applies changes to a connector. Once it is active again, everything that waits is copied. Throws InvalidInput for a config or credentials
 * that do not have the shape of the provider, Failure 404 storage_connector.not_found, 422 storage_connector.endpoint,
 * storage_connector.credentials, storage_connector.credentials_required and storage_connector.scope, 402 billing.overdue for the status active, and 409
 * storage_connector.changed.
 */
export async function changeConnector(
  ctx: Ctx,
  connector_id: string,
  changes: ConnectorChanges,
  checkPaid: CheckPaid,
): Promise<StorageConnector> {
  const token = changeToken()
  const attempt = async () => {
    const stored = await requireConnector(ctx, connector_id)
    const changed = Object.keys(changes)
    if (changed.length === 0) return view(stored)
    const columns = await columnsOf(ctx, stored, changes)
    const db = eventsOf(ctx)
    const isActivated = changes.connector_status === 'active'
    const isResumed = isActivated && stored.connector_status !== 'active'
    if (isActivated) await checkPaid(ctx)
    const [before, config] = [configOf(stored), columns.config === undefined ? configOf(stored) : configOf({ config: columns.config })]
    const isMoved = locationOf(config) !== locationOf(before)
    const isElsewhere = isMoved || config.path_template !== before.path_template
    const left = isElsewhere ? await stopCopying(db.$client, stored.connector, token) : undefined
    if (isMoved && left) await listRest(ctx, db.$client, left)
    // A backfill copies everything to one place, under one template.
    const last = left ? parsed<Backfill>(left.backfill) : null
    const isAnew = last !== null && last.status !== 'completed'
    // Another place has not failed yet.
    if (isMoved && stored.connector_status === 'active') Object.assign(columns, { failures: 0, retry_at: 0 })
    if (isAnew) columns.backfill = JSON.stringify(newBackfill(ctx.now))
    await changeEvents(ctx, { action: 'storage_connector.updated', resource_id: connector_id, changed }, [
      assertConnectorUnchanged(stored),
      ...(left ? [assertBackfillUnchanged(left)] : []),
      updateConnector(db, stored.connector, columns),
      ...(isMoved ? [moveManifests(stored.connector)] : []),
      ...(isAnew ? forgetCopied(stored.connector) : []),
      ...(isResumed ? [markMirrorsDue(stored.connector)] : []),
      ...(isActivated ? retryRefused(stored.connector) : []),
    ])
    if (isMoved && left) await dropParts(ctx, left)
    if (isActivated || left) await wake(ctx, stored.connector)
    return left ? getConnector(ctx, connector_id) : view({ ...stored, ...columns })
  }
  return retryOnConflict(attempt, contention)
}

const contention = () =>
  new Failure('contention', 'storage_connector.changed', 'Other requests keep changing this storage connector. Try again.')

async function columnsOf(ctx: Ctx, stored: ConnectorRow, changes: ConnectorChanges): Promise<Partial<ConnectorRow>> {
  const { name, connector_status } = changes
  const columns: Partial<ConnectorRow> = { updated_at: ctx.now, ...(name !== undefined && { name }) }
  if (changes.credentials !== undefined) {
    const credentials = readMember('credentials', stored.provider, changes.credentials)
    refuseCredentials(credentials)
    columns.credentials = await sealCredentials(ctx, stored, credentials)
    columns.credentials_version = stored.credentials_version + 1
  }
  if (changes.config !== undefined) {
    const before = configOf(stored)
    const config = readMember('config', stored.provider, { ...before, ...changes.config })
    refuseTarget(ctx, config)
    if (changes.credentials === undefined) refuseOldCredentials(before, config)
    columns.config = JSON.stringify(config)
  }
  if (changes.scope !== undefined) {
    await refuseScope(ctx, changes.scope)
    columns.scope = JSON.stringify(scopeFor(ctx, { ...scopeOf(stored), ...changes.scope }))
  }
  if (connector_status !== undefined) columns.connector_status = connector_status
  const isOnlyNamed = Object.keys(changes).every((member) => member === 'name')
  // Activating an active connector only asks for the next attempt: five failures in a row still end in an error.
  const activated = stored.connector_status === 'active' ? { retry_at: 0 } : UNPLANNED
  return { ...columns, ...(connector_status === 'active' && activated), ...(!isOnlyNamed && NOBODY) }
}

/** Deletes a connector and erases its credentials; the rest is cleared out of band. Throws Failure 404 storage_connector.not_found. */
export async function deleteConnector(ctx: Ctx, connector_id: string): Promise<void> {
  const attempt = async () => {
    const stored = await requireConnector(ctx, connector_id)
    const db = eventsOf(ctx)
    await changeEvents(ctx, { action: 'storage_connector.deleted', resource_id: connector_id }, [
      assertConnectorUnchanged(stored),
      updateConnector(db, stored.connector, { deleted_at: ctx.now, credentials: '', ...NOBODY }),
    ])
    await wake(ctx, stored.connector)
  }
  return retryOnConflict(attempt, contention)
}

/** After a backfill, another one waits a second for each ten documents that were copied: a minute at least, a day at most. */
const [DOCUMENTS_PER_SECOND, SHORTEST_WAIT, LONGEST_WAIT] = [10, 60, 86_400]

/** Seconds until another backfill may begin after one that is completed; not above 0 when it may. */
function waitAfter({ copied, completed_at }: Backfill): number {
  const seconds = Math.min(Math.max(copied / DOCUMENTS_PER_SECOND, SHORTEST_WAIT), LONGEST_WAIT)
  return Math.ceil((Date.parse(completed_at!) - clock.now()) / 1_000 + seconds)
}

/**
 * Begins to copy everything that the organization may read; returns the running backfill, if there is one. Throws Failure 404
 * storage_connector.not_found, 402 billing.overdue, 409 storage_connector.not_active unless the connector is active, and 429
 * storage_connector.cooldown soon after the last one.
 */
export async function startBackfill(ctx: Ctx, connector_id: string, checkPaid: CheckPaid): Promise<Backfill> {
  const attempt = async () => {
    const stored = await requireConnector(ctx, connector_id)
    await checkPaid(ctx)
    if (stored.connector_status !== 'active')
      throw new Failure(
        'conflict',
        'storage_connector.not_active',
        'The storage connector is not active. Set connector_status to active first.',
      )
    const last = parsed<Backfill>(stored.backfill)
    if (last !== null && last.status !== 'completed') return last
    const retry_after_seconds = last ? waitAfter(last) : 0
    if (retry_after_seconds > 0)
      throw new Failure(
        'too_many_requests',
        'storage_connector.cooldown',
        `The last backfill copied ${last!.copied} documents. Another one can begin in ${retry_after_seconds} s.`,
        { retry_after_seconds },
      )
    const backfill = newBackfill(ctx.now)
    const db = eventsOf(ctx)
    const { connector } = stored
    await changeEvents(ctx, { action: 'storage_connector.backfill_requested', resource_id: connector_id }, [
      assertBackfillUnchanged(stored),
      updateConnector(db, connector, { backfill: JSON.stringify(backfill), updated_at: ctx.now }),
      ...forgetCopied(connector),
    ])
    await wake(ctx, connector)
    return backfill
  }
  return retryOnConflict(attempt, contention)
}
