import { withdrawOpeningsOf } from '../../../documents/mailbox/requests/requests.ts'
import { auditedEach, type Change, change } from '../../../platform/audit/audit.ts'
import type { Ctx, System } from '../../../platform/context.ts'
import type { Statement } from '../../../platform/db/commit.ts'
import { isGuardViolation, retryOnConflict } from '../../../platform/db/guard.ts'
import { Failure } from '../../../platform/failures.ts'
import { log } from '../../../platform/log.ts'
import type { Suspension } from '../../../platform/tenant/tenant.ts'
import { leavePaused, pauseActive, resumePaused, suspendedConnections } from '../../../taxpayers/suspended-connections.ts'
import { suspendOrganizations, updateOrganization } from '../../organization/organization.ts'
import { type Subscription, type SubscriptionChanges, type SubscriptionStatus, subscriptionStatus } from './status.ts'
import { APPLIED_ONCE, assertSubscription, findSubscription, type StoredSubscription } from './store.ts'

/** The effects of a subscription change: statements for its commit, and work after it. */
export interface SubscriptionEffects {
  statements: Statement[]
  /** Starts at once what a sweep would start later. */
  afterCommit(): Promise<void>
}

/** Returns the effects of reactivating these connections. */
export type Resume = (ctx: Ctx, active: Awaited<ReturnType<typeof suspendedConnections>>) => Promise<SubscriptionEffects>

const nothing = async (): Promise<void> => {}

/**
 * The effects of a change from the stored subscription to the next one, which earlier statements of the batch write. When the organization
 * becomes suspended, its active connections pause. When its suspension ends, the connections that it paused return to their former state
 * while seats are free, oldest first; the extractors of the active ones run as soon as their CIECs are verified. Those without a seat stay
 * paused as if the customer had paused them. Connections that the customer paused stay paused.
 */
export async function effectsOf(
  ctx: Ctx,
  { suspension, seats_used }: StoredSubscription,
  next: Subscription,
  resume: Resume,
): Promise<SubscriptionEffects> {
  const { organization, now } = ctx
  const unchanged = assertSubscription(organization.id, next, suspension)
  const status = subscriptionStatus(next, now)
  if (status.suspension === suspension) return { statements: [unchanged], afterCommit: nothing }
  if (status.suspension !== null)
    return { statements: [unchanged, ...suspend(ctx, [organization.id], status.suspension)], afterCommit: nothing }
  const { statements, afterCommit } = await endSuspension(ctx, seats_used, status, resume)
  return { statements: [unchanged, ...statements], afterCommit }
}

/** Statements that suspend organizations and pause their active connections; none for no organization. */
export const suspend = (system: System, organization_ids: readonly string[], suspension: Suspension): Statement[] =>
  organization_ids.length === 0
    ? []
    : [
        suspendOrganizations(system.db, organization_ids, suspension),
        pauseActive(system.db, organization_ids, suspension, system.now),
        ...withdrawOpeningsOf(billing(system), organization_ids),
        ...statusAudited(system, organization_ids, 'organization.suspended'),
      ]

async function endSuspension(
  ctx: Ctx,
  seats_used: number,
  { allowance }: SubscriptionStatus,
  resume: Resume,
): Promise<SubscriptionEffects> {
  const { db, organization, now } = ctx
  const paused = await suspendedConnections(db, organization.id)
  const resumed = allowance === null ? paused : paused.slice(0, Math.max(0, allowance - seats_used))
  const active = resumed.filter(({ paused_from }) => paused_from === 'active')
  const begun = await resume(ctx, active)
  return {
    statements: [
      updateOrganization(db, organization.id, { suspension: null }),
      resumePaused(db, resumed, now),
      leavePaused(db, organization.id),
      ...begun.statements,
      ...statusAudited(ctx, [organization.id], 'organization.reactivated'),
    ],
    afterCommit: begun.afterCommit,
  }
}

const billing = (system: System) => ({ ...system, actor: { kind: 'system', process: 'billing' } as const })

const statusAudited = (system: System, organization_ids: readonly string[], action: string): Statement[] =>
  auditedEach(
    billing(system),
    organization_ids.map((id) => ({ organization_id: id, resource_id: id })),
    { action, changed: ['status'] },
  )

/** Does the work after a commit. A failure is logged and does not fail the caller, because a sweep repeats the work. */
export async function runAfterCommit(ctx: Ctx, { afterCommit }: SubscriptionEffects): Promise<void> {
  try {
    await afterCommit()
  } catch (error) {
    log.error(ctx, 'Downloads of reactivated connections could not be started. The next sweep starts them.', {}, error)
  }
}

export type { StoredSubscription } from './store.ts'

/** The organization's subscription; connections are counted without the one to `exceptRfc`. */
export const getSubscription = async ({ db, organization }: Ctx, exceptRfc: string | null = null): Promise<StoredSubscription> =>
  (await findSubscription(db, organization.id, exceptRfc))!

/**
 * Reads, decides and commits, and does so again when a concurrent change refuses the commit. `attempt` returns whether it changed
 * something. Returns false also when the guard APPLIED_ONCE refuses the commit. Throws Failure 409 billing.changed.
 */
export const commitBillingChange = (attempt: () => Promise<boolean>): Promise<boolean> =>
  retryOnConflict(
    () =>
      attempt().catch((error: unknown) => {
        if (isGuardViolation(error, APPLIED_ONCE)) return false
        throw error
      }),
    () => new Failure('contention', 'billing.changed', 'Other requests keep changing the billing of the organization. Try again.'),
  )

/**
 * Changes plan, seats or trial; pausing or resuming connections follows in the same commit, with the statements in `also`. `changesOf`
 * decides on the stored subscription; null changes nothing. A trial whose end is set is granted: it is the organization's whatever its
 * e-mail address. Returns whether it changed something. Throws Failure 409 billing.changed.
 */
export const changeSubscription = (
  ctx: Ctx,
  what: Change,
  changesOf: (stored: Subscription) => SubscriptionChanges | null,
  resume: Resume,
  also: readonly Statement[] = [],
): Promise<boolean> =>
  commitBillingChange(async () => {
    const { db, organization } = ctx
    const stored = await getSubscription(ctx)
    const changes = changesOf(stored)
    if (changes === null) return false
    const isGranted = changes.trial_ends_at !== undefined
    const effects = await effectsOf(ctx, stored, { ...stored, ...changes, ...(isGranted && { is_trial_used: false }) }, resume)
    const columns = { ...changes, ...(isGranted && { trial_email: null }) }
    const update =
      Object.keys(columns).length === 0
        ? []
        : [assertSubscription(organization.id, stored, stored.suspension), updateOrganization(db, organization.id, columns)]
    await change(ctx, what, [...also, ...update, ...effects.statements])
    await runAfterCommit(ctx, effects)
    return true
  })
