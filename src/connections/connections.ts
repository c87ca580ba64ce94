import { checkResumeEntitlement, checkUnlinkEntitlement } from '../accounts/billing/billing.ts'
import { getSubscription, type StoredSubscription } from '../accounts/billing/subscription/subscription.ts'
import { TRIAL_PLAN } from '../accounts/plans/plans.ts'
import { isUsed, loginsOf } from '../authority/logins.ts'
import { takesCiecs } from '../authority/port/login.ts'
import { markDue } from '../copies/due.ts'
import { withdrawOpenings } from '../documents/mailbox/requests/requests.ts'
import { announce, resumeDownloads } from '../downloads/downloads.ts'
import { announceUnnotified } from '../downloads/missed-cancellations.ts'
import { resolveStatement } from '../platform/alerts/alerts.ts'
import { keyOfInvalid } from '../platform/alerts/kinds.ts'
import { change } from '../platform/audit/audit.ts'
import { type Ctx, eventsOf } from '../platform/context.ts'
import { commit } from '../platform/db/commit.ts'
import { retryOnConflict } from '../platform/db/guard.ts'
import { uuidOf } from '../platform/db/id.ts'
import { Failure, notFound } from '../platform/failures.ts'
import { countHourly } from '../platform/locks/hourly.ts'
import { log } from '../platform/log.ts'
import { listPage } from '../platform/paging/cursor.ts'
import { daysLeft } from '../platform/time/calendar.ts'
import { clock } from '../platform/time/clock.ts'
import { sourcesOf } from '../taxpayers/connection.ts'
import { hasValidCheckDigit } from '../taxpayers/rfc.ts'
import {
  assertConnectionUnchanged,
  type ConnectionRow,
  findConnection,
  isDraft,
  isInvalid,
  listConnections,
  listShown,
  unlinkConnection,
  updateConnection,
  type WithGrantedRanges,
} from '../taxpayers/taxpayers.ts'
import { verifyStored } from '../taxpayers/verification.ts'
import { viewWindow, viewWindows } from '../taxpayers/visibility/contract.ts'
import { combinedWindowOf, reachedWindowsOf, windowStateOf, windowsOf } from '../taxpayers/visibility/window.ts'
import { endWithConnection } from './consents/store.ts'
import type { BillingRfc, BillingRfcQuery, FiscalEntity, FiscalEntityQuery } from './contract.ts'
import { planRuns, startPlanned } from './extractors/runs/dispatch.ts'

const CHECK_DIGIT = {
  code: 'rfc.check_digit',
  message: 'The check digit of the RFC is not the expected one. Some real RFCs have another one, so the RFC was accepted.',
}

/** With a valid e.firma there is nothing to do: it downloads all that is downloaded here. */
const noFetcher = (row: ShownRow) => ({
  code: 'ciec.no_fetcher',
  message: `The CIEC is stored, and nothing is downloaded with it: this deployment has no fetcher, which alone can log in with a CIEC at the portal of the tax authority. ${
    row.state === 'active' && row.efirma_number !== null
      ? 'CFDIs are downloaded with the e.firma, and there is nothing to do.'
      : 'Connect a valid e.firma with PATCH /v1/fiscal-entities/{id}.'
  }`,
})

const NOT_VERIFIED = {
  code: 'ciec.not_verified',
  message:
    'The fetcher of this deployment has not yet logged in to the portal of the tax authority with this CIEC. A draft becomes active when the authority accepts the CIEC.',
}

/** The columns that show a connection. */
export type ShownRow = Omit<ConnectionRow, 'connection'> & Pick<WithGrantedRanges, 'metadata'>

const NO_DOCUMENTS = {
  code: 'ciec.missing',
  message:
    'Only CFDIs are downloaded with an e.firma. The fetcher of this deployment downloads the other data sources with a CIEC. Send a CIEC with PATCH /v1/fiscal-entities/{id}.',
}

function viewEfirma({ now, organization }: Ctx, { efirma_number, efirma_valid_from, efirma_valid_to }: ShownRow): FiscalEntity['efirma'] {
  if (efirma_number === null || efirma_valid_from === null || efirma_valid_to === null) return null
  return {
    certificate_number: efirma_number,
    valid_from: efirma_valid_from.toISOString(),
    valid_to: efirma_valid_to.toISOString(),
    days_to_expiry: daysLeft(efirma_valid_to, now, organization.timezone),
  }
}

/** Makes the function that shows connections of the organization. */
export function viewOf(ctx: Ctx): (row: ShownRow) => FiscalEntity {
  const { sources: active, kinds, documentKind } = loginsOf(ctx)
  const isInteractive = ({ ciec_verify_at }: ShownRow): boolean => ciec_verify_at !== null && !kinds.includes('ciec')
  return (row) => {
    const bounds = { ...row, issued_to: row.issued_to?.getTime() ?? null, received_to: row.received_to?.getTime() ?? null }
    const reached = reachedWindowsOf(bounds)
    return {
      fiscal_entity_id: row.fiscal_entity_id,
      fiscal_entity_uuid: uuidOf(row.fiscal_entity_id),
      rfc: row.rfc,
      name: row.name,
      external_id: row.external_id,
      metadata: row.metadata,
      status: row.state as FiscalEntity['status'],
      data_source_keys: sourcesOf(row, active),
      invalid_reason: isInvalid(row) ? row.invalid_reason : null,
      ciec_set: row.ciec !== null,
      credential_kind: row.ciec === null ? (row.efirma_number === null ? null : 'efirma') : row.efirma_number === null ? 'ciec' : 'both',
      efirma: viewEfirma(ctx, row),
      ...viewWindow(combinedWindowOf(reached)),
      windows: viewWindows(reached),
      window_state: windowStateOf(windowsOf(ctx.organization.extractor_count, bounds)),
      warnings: [
        ...(hasValidCheckDigit(row.rfc) ? [] : [CHECK_DIGIT]),
        ...(row.ciec === null ? [] : isUsed(ctx, 'ciec') ? (isInteractive(row) ? [NOT_VERIFIED] : []) : [noFetcher(row)]),
        ...(documentKind === 'ciec' && ctx.settings.fetcherKeys !== null && row.ciec === null && row.efirma_number !== null
          ? [NO_DOCUMENTS]
          : []),
      ],
      linked_at: row.linked_at.toISOString(),
      updated_at: row.updated_at.toISOString(),
    }
  }
}

/** Returns the organization's connection to a fiscal entity. Throws Failure 404 fiscal_entity.not_found. */
export async function requireConnection(ctx: Ctx, fiscal_entity_id: string): Promise<WithGrantedRanges> {
  const row = await findConnection(ctx.db, ctx.organization, fiscal_entity_id)
  if (!row) throw notFound('fiscal_entity')
  return row
}

/** Returns one connection of the organization as it is shown. Throws Failure 404 fiscal_entity.not_found. */
export const getFiscalEntity = async (ctx: Ctx, fiscal_entity_id: string): Promise<FiscalEntity> =>
  viewOf(ctx)(await requireConnection(ctx, fiscal_entity_id))

/** Lists the organization's connections in the order of their ids. */
export const listFiscalEntities = (ctx: Ctx, query: FiscalEntityQuery) =>
  listPage(
    ctx,
    'fiscal_entities',
    query,
    (after, limit) => listShown(ctx.db, ctx.organization, query, after, limit),
    (row) => row.fiscal_entity_id,
    viewOf(ctx),
  )

/**
 * Reads, decides and commits a change of a connection, again when a concurrent change refuses the commit. Throws Failure 409
 * fiscal_entity.changed.
 */
export const commitConnectionChange = <T>(attempt: () => Promise<T>): Promise<T> =>
  retryOnConflict(
    attempt,
    () => new Failure('contention', 'fiscal_entity.changed', 'Other requests keep changing this connection. Try again.'),
  )

type Runs = Awaited<ReturnType<typeof planRuns>>['runs']

/**
 * The columns that activate a connection, and the runs that start: of extractors for new connections the first time, and of extractors for
 * reactivated connections later.
 */
export async function planActivation(ctx: Ctx, fiscal_entity_id: string, first_active_at: Date | null) {
  const trigger = first_active_at === null ? 'connection_created' : 'connection_reactivated'
  const planned = await planRuns(ctx, trigger, [fiscal_entity_id])
  return { changes: { state: 'active', first_active_at: first_active_at ?? ctx.now, active_since: ctx.now } as const, planned }
}

/**
 * Starts planned runs, downloads that waited for a login, the verification of other logins, reports of what was missed since the connection
 * was last active, and copying it to storage connectors. A failure is logged and does not fail the request, because all of it is committed
 * and the next sweep starts it.
 */
export async function startDownloads(
  ctx: Ctx,
  row: Pick<ConnectionRow, 'connection' | 'organization_id' | 'fiscal_entity_id' | 'entity' | 'shard' | 'unnotified'>,
  runs: Runs,
  areOthersOutstanding: boolean,
): Promise<void> {
  try {
    if (areOthersOutstanding) await announce(ctx, [{ entity: row.entity, shard: row.shard }])
    await startPlanned(ctx, runs)
    await resumeDownloads(ctx, [row])
    if (row.unnotified !== null) await announceUnnotified(ctx, [row])
    await commit(eventsOf(ctx).$client, [markDue(row.organization_id, row.fiscal_entity_id)])
  } catch (error) {
    log.error(ctx, 'Downloads of an activated connection could not be started. The next sweep starts them.', {}, error)
  }
}

/**
 * Resolves the outdated alert of a connection that has a valid login again, or is unlinked. A failure is logged and does not fail the
 * request: the sweep of every quarter of an hour resolves the alert, and one that is raised late.
 */
export async function resolveInvalid(ctx: Ctx, { organization_id, fiscal_entity_id }: ConnectionRow): Promise<void> {
  const d1 = eventsOf(ctx).$client
  try {
    await commit(d1, [resolveStatement([[organization_id, keyOfInvalid(fiscal_entity_id)]], clock.date())])
  } catch (error) {
    log.error(
      ctx,
      'The alert of a connection that is valid again or unlinked could not be resolved. The next sweep resolves it.',
      {},
      error,
    )
  }
}

/**
 * Unlinks an RFC: the connection disappears from every answer, and its CIEC and e.firma are erased. A draft can always be unlinked, even a
 * paused one. Throws Failure 402 as checkUnlinkEntitlement does, 404 fiscal_entity.not_found, and 409 fiscal_entity.changed.
 */
export const unlinkRfc = (ctx: Ctx, fiscal_entity_id: string): Promise<void> =>
  commitConnectionChange(async () => {
    const row = await requireConnection(ctx, fiscal_entity_id)
    if (!isDraft(row)) await checkUnlinkEntitlement(ctx, fiscal_entity_id, row.state === 'paused')
    await change(ctx, { action: 'fiscal_entity.unlinked', resource_id: fiscal_entity_id }, [
      assertConnectionUnchanged(row),
      unlinkConnection(ctx.db, row.connection, ctx.now),
      endWithConnection(row, ctx.now),
      ...withdrawOpenings(ctx),
    ])
    if (isInvalid(row)) await resolveInvalid(ctx, row)
  })

/**
 * Pauses or resumes a connection of the organization, and returns it. Throws Failure 404 fiscal_entity.not_found, and as `resume` and
 * `verifyResumed` do.
 */
async function setActive(ctx: Ctx, fiscal_entity_id: string, active: boolean): Promise<ConnectionRow> {
  const areOthersOutstanding = active && (await verifyResumed(ctx, await requireConnection(ctx, fiscal_entity_id)))
  return commitConnectionChange(async () => {
    const row = await requireConnection(ctx, fiscal_entity_id)
    await (active ? resume(ctx, row, areOthersOutstanding) : pause(ctx, row))
    return requireConnection(ctx, fiscal_entity_id)
  })
}

/**
 * Asks the tax authority about the CIEC and e.firma of a connection that would become active again, once it is entitled to be. When none is
 * left, the connection resumes as invalid_ciec. Returns whether logins of the RFC are to be verified. Throws Failure 429
 * organization.hourly_limit and Unavailable, so that the connection stays paused.
 */
async function verifyResumed(ctx: Ctx, row: WithGrantedRanges): Promise<boolean> {
  if (row.state !== 'paused' || row.paused_from !== 'active') return false
  await checkResumeEntitlement(ctx, row.rfc, true)
  await countHourly(ctx, 'logins')
  return verifyStored(ctx, row)
}

/** Never refused. A connection that a suspension paused stays paused when the suspension ends, because the customer wants it. */
async function pause(ctx: Ctx, row: ConnectionRow): Promise<void> {
  if (row.state === 'paused' && (row.paused_by === 'customer' || row.paused_by === null)) return
  const paused_from = row.state === 'paused' ? row.paused_from : row.state
  await change(ctx, { action: 'fiscal_entity.suspended', resource_id: row.fiscal_entity_id, changed: ['status'] }, [
    assertConnectionUnchanged(row),
    updateConnection(ctx.db, row.connection, { state: 'paused', paused_from, paused_by: 'customer', updated_at: ctx.now }),
    ...withdrawOpenings(ctx),
  ])
}

/**
 * Returns a paused connection to the state in which it was paused. When that was active, the connection is reactivated and its extractors
 * run. Throws Failure 402 as checkResumeEntitlement; 409 fiscal_entity.draft and fiscal_entity.invalid_ciec, because only a CIEC
 * or an e.firma activates such a connection.
 */
async function resume(ctx: Ctx, row: ConnectionRow, areOthersOutstanding: boolean): Promise<void> {
  const { connection, rfc, fiscal_entity_id, first_active_at } = row
  const state = row.paused_from ?? 'active'
  const seat = await checkResumeEntitlement(ctx, rfc, row.state === 'paused' && state !== 'draft')
  if (row.state === 'active') return
  if (row.state !== 'paused')
    throw new Failure(
      'conflict',
      `fiscal_entity.${row.state}`,
      `The connection ${row.state === 'draft' ? 'is a draft' : 'has no valid CIEC or e.firma'}. Send ${takesCiecs(ctx.settings) ? 'a CIEC or an e.firma' : 'an e.firma'} with PATCH /v1/fiscal-entities/${fiscal_entity_id} to activate it.`,
    )
  const active = state === 'active' ? await planActivation(ctx, fiscal_entity_id, first_active_at) : undefined
  const resumed = { state, ...active?.changes, paused_from: null, paused_by: null, updated_at: ctx.now }
  await change(ctx, { action: 'fiscal_entity.resumed', resource_id: fiscal_entity_id, changed: ['status'] }, [
    ...seat,
    assertConnectionUnchanged(row),
    updateConnection(ctx.db, connection, resumed),
    ...(active?.planned.statements ?? []),
  ])
  if (active || areOthersOutstanding) await startDownloads(ctx, row, active?.planned.runs ?? [], areOthersOutstanding)
}

const seatSource = ({ state }: ConnectionRow, { plan, rfc_allowance }: StoredSubscription): BillingRfc['seat_source'] => {
  if (state !== 'active' && state !== 'invalid_ciec') return null
  if (rfc_allowance !== null) return 'allowance'
  return plan === TRIAL_PLAN ? 'trial' : 'plan'
}

const viewWith =
  (subscription: StoredSubscription) =>
  (row: ConnectionRow): BillingRfc => ({
    id: row.fiscal_entity_id,
    rfc: row.rfc,
    active: row.state === 'active',
    connection_status: row.state as BillingRfc['connection_status'],
    seat_source: seatSource(row, subscription),
    active_since: row.state === 'active' ? ((row.active_since ?? row.first_active_at)?.toISOString() ?? null) : null,
  })

/** Lists the organization's RFCs with their seats, in the order of their ids. */
export async function listRfcs(ctx: Ctx, query: BillingRfcQuery) {
  const read = (after: string | undefined, limit: number) => listConnections(ctx.db, ctx.organization, after, limit)
  return listPage(ctx, 'billing_rfcs', query, read, (row) => row.fiscal_entity_id, viewWith(await getSubscription(ctx)))
}

/** Pauses or resumes an RFC, and returns it with its seat. Throws Failure 402, 404 and 409 as setActive does. */
export async function changeRfc(ctx: Ctx, fiscal_entity_id: string, { active }: { active: boolean }): Promise<BillingRfc> {
  const row = await setActive(ctx, fiscal_entity_id, active)
  return viewWith(await getSubscription(ctx))(row)
}
