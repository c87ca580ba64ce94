import { withdrawOpeningsOf } from '../../../documents/mailbox/requests/requests.ts'
import { auditedEach } from '../../../platform/audit/audit.ts'
import type { Ctx, System } from '../../../platform/context.ts'
import type { Statement } from '../../../platform/db/commit.ts'
import { log } from '../../../platform/log.ts'
import type { Suspension } from '../../../platform/tenant/tenant.ts'
import { leavePaused, pauseActive, resumePaused, suspendedConnections } from '../../../taxpayers/suspended-connections.ts'
import { suspendOrganizations, updateOrganization } from '../../organization/organization.ts'
import { type Subscription, type SubscriptionStatus, subscriptionStatus } from './status.ts'
import { assertSubscription, type StoredSubscription } from './store.ts'

/** What follows from a subscription change: statements for its commit, and work for after it. */
export interface SubscriptionEffects {
  statements: Statement[]
  /** Starts at once what a sweep would start later. */
  afterCommit(): Promise<void>
}

/** What connections that are active again begin with. */
export type Resume = (ctx: Ctx, active: Awaited<ReturnType<typeof suspendedConnections>>) => Promise<SubscriptionEffects>

const nothing = async (): Promise<void> => {}

/**
 * The effects of a change from the stored subscription to the next one, which the statements before these in the batch write. When the
 * organization becomes suspended, its active connections pause. When its suspension ends, the connections that the suspension paused
 * become what they were before as far as there are seats, oldest first; the extractors of the active ones run as soon as their CIECs are
 * verified. Those without a seat stay paused as if the customer had paused them. Connections that the customer paused stay paused.
 */
export async function effectsOf(
  ctx: Ctx,
  { suspension, seats_used }: StoredSubscription,
  next: Subscription,
  resume: Resume,
): Promise<SubscriptionEffects> {
  const { db, organization, now } = ctx
  const unchanged = assertSubscription(db, organization.id, next, suspension)
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

/** Does what follows a commit. A failure is logged and does not fail the caller, because a sweep repeats the work. */
export async function runAfterCommit(ctx: Ctx, { afterCommit }: SubscriptionEffects): Promise<void> {
  try {
    await afterCommit()
  } catch (error) {
    log.error(ctx, 'Downloads of reactivated connections could not be started. The next sweep starts them.', {}, error)
  }
}
