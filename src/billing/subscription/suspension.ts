import { resumeDownloads } from '../../downloads/downloads.ts'
import { announceRuns, planRuns } from '../../extractors/runs/dispatch.ts'
import { Failure } from '../../failures.ts'
import { actingFor } from '../../identity/organization/acting.ts'
import { updateOrganization } from '../../identity/organization/organization.ts'
import { audited, type Change, change } from '../../platform/audit/audit.ts'
import type { Ctx, System } from '../../platform/context.ts'
import { commit, type Statement } from '../../platform/db/commit.ts'
import { isGuardViolation } from '../../platform/db/guard.ts'
import { each } from '../../platform/each.ts'
import { errorMessage } from '../../platform/log.ts'
import type { Suspension } from '../../platform/tenant.ts'
import { leavePaused, pauseActive, resumePaused, suspendedConnections } from '../../taxpayers/taxpayers.ts'
import { lastDueBeyondGrace, type Subscription, type SubscriptionStatus, subscriptionStatus } from './status.ts'
import {
  assertSubscription,
  findSubscription,
  findUnsettled,
  forgetReviews,
  listSubscriptions,
  type ReviewedSubscription,
  type StoredSubscription,
  setSuspension,
} from './subscription-store.ts'

/** What a change of an organization's terms brings with it, for its commit and for after it. */
export interface SubscriptionChange {
  statements: Statement[]
  /** Hints only: what is committed goes on without them. */
  follow(): Promise<void>
}

const nothing = async (): Promise<void> => {}

/**
 * Makes an organization's connections follow its terms as the statements before these in the batch leave them: suspended, the active
 * ones pause; suspended no more, those are active again that a suspension paused, as far as there are seats, and their extractors run
 * as on any reactivation. What the organization paused itself stays so, and what has no seat is as if it had.
 */
export async function followSubscription(
  ctx: Ctx,
  { suspension, held }: StoredSubscription,
  after: Subscription,
): Promise<SubscriptionChange> {
  const { db, organization, now } = ctx
  const hold = assertSubscription(db, organization.id, after, suspension)
  const standing = subscriptionStatus(after, now)
  if (standing.suspension === suspension) return { statements: [hold], follow: nothing }
  if (standing.suspension !== null) return { statements: [hold, ...suspend(ctx, organization.id, standing.suspension)], follow: nothing }
  const { statements, follow } = await lift(ctx, held, standing)
  const lifted = [hold, setSuspension(db, organization.id, null), ...statements]
  return { statements: [...lifted, told(ctx, organization.id, 'organization.reactivated')], follow }
}

const told = (system: System, id: string, action: string): Statement =>
  audited({ ...system, actor: { kind: 'system', process: 'billing' } }, id, { action, resource_id: id, changed: ['status'] })

const suspend = (system: System, id: string, suspension: Suspension): Statement[] => [
  setSuspension(system.db, id, suspension),
  pauseActive(system.db, id, suspension, system.now),
  told(system, id, 'organization.suspended'),
]

async function lift(ctx: Ctx, held: number, { allowance }: SubscriptionStatus): Promise<SubscriptionChange> {
  const paused = await suspendedConnections(ctx.db, ctx.organization.id)
  const woken = allowance === null ? paused : paused.slice(0, Math.max(0, allowance - held))
  const ids = woken.map(({ fiscal_entity_id }) => fiscal_entity_id)
  const planned = await planRuns(ctx, 'connection_reactivated', ids)
  return {
    statements: [resumePaused(ctx.db, woken, ctx.now), leavePaused(ctx.db, ctx.organization.id), ...planned.statements],
    follow: async () => {
      await announceRuns(ctx, planned.runs)
      for (const entity of woken) await resumeDownloads(ctx, entity)
    },
  }
}

/** Follows a commit: what fails here is done by the sweep, and is nobody's failure. */
export async function followed(ctx: Ctx, { follow }: SubscriptionChange): Promise<void> {
  try {
    await follow()
  } catch (error) {
    console.error(
      JSON.stringify({
        level: 'error',
        request_id: ctx.requestId,
        message: 'Reactivations are left to the sweep.',
        error: errorMessage(error),
      }),
    )
  }
}

const MAX_ATTEMPTS = 20

/** Decides and commits; when what it was decided on has changed, again. */
export async function decided<T>(attempt: () => Promise<T>): Promise<T> {
  for (let n = 1; ; n++) {
    try {
      return await attempt()
    } catch (error) {
      if (!isGuardViolation(error)) throw error
      if (n === MAX_ATTEMPTS)
        throw new Failure('contention', 'billing.changed', 'Billing is being changed by others at the same time. Try again.')
    }
  }
}

/** Changes plan, seats or trial, and makes connections follow in the same commit. Where it is decided on null, nothing is done; says whether. */
export const changeSubscription = (
  ctx: Ctx,
  what: Change,
  changesOf: (
    read: Subscription,
  ) => (Partial<Pick<Subscription, 'plan' | 'rfc_allowance' | 'trial_ends_at'>> & { billed_month?: string }) | null,
  also: readonly Statement[] = [],
): Promise<boolean> =>
  decided(async () => {
    const read = (await findSubscription(ctx.db, ctx.organization.id))!
    const changes = changesOf(read)
    if (changes === null) return false
    const settled = await followSubscription(ctx, read, { ...read, ...changes })
    const { db, organization } = ctx
    // What others change at the same time is decided on again, not written over.
    const hold = assertSubscription(db, organization.id, read, read.suspension)
    const update = Object.keys(changes).length === 0 ? [] : [hold, updateOrganization(db, organization.id, changes)]
    await change(ctx, what, [...also, ...update, ...settled.statements])
    await followed(ctx, settled)
    return true
  })

/** Makes the connections of one organization follow what its terms are now: a grace that ran out, a trial that is over. */
async function reviewStanding(system: System, organization_id: string): Promise<void> {
  const ctx = await actingFor(system, organization_id)
  await decided(async () => {
    const read = (await findSubscription(ctx.db, organization_id))!
    if (subscriptionStatus(read, ctx.now).suspension === read.suspension) return
    const settled = await followSubscription(ctx, read, read)
    await commit(ctx.db.$client, settled.statements)
    await followed(ctx, settled)
  })
}

/** Makes the connections of several follow what their terms are now: those that are to be suspended in one commit, and when that fails each by itself. */
export async function review(system: System, organization_ids: readonly string[]): Promise<void> {
  if (organization_ids.length === 0) return
  try {
    const fresh = await suspendTogether(system, await listSubscriptions(system.db, organization_ids))
    await each(fresh, (id) => reviewStanding(system, id))
  } catch {
    await each(organization_ids, (id) => reviewStanding(system, id))
  }
}

/** Suspends those that are to be, and tells which others do not stand where they should. */
async function suspendTogether(system: System, read: readonly ReviewedSubscription[]): Promise<string[]> {
  const { db, now } = system
  const due = read.map((terms) => ({ terms, suspension: subscriptionStatus(terms, now).suspension }))
  const statements = due.flatMap(({ terms, suspension }) =>
    suspension === null || suspension === terms.suspension
      ? []
      : [assertSubscription(db, terms.id, terms, terms.suspension), ...suspend(system, terms.id, suspension)],
  )
  const owing = due.flatMap(({ terms, suspension }) => (suspension === 'payment' ? [terms.id] : []))
  if (owing.length > 0) statements.push(forgetReviews(db, owing, now))
  if (statements.length > 0) await commit(db.$client, statements)
  return due.flatMap(({ terms, suspension }) => (suspension === null && terms.suspension !== null ? [terms.id] : []))
}

/** Organizations in one commit. */
const PAGE = 50

/** Where days begin first. */
const EARLIEST_OFFSET_MS = 14 * 3_600_000

/**
 * The daily look at everybody whose suspension is not what their terms say, for whatever reason: another time zone, or one that has none
 * any more. Bears repetition and missed days.
 */
export async function reviewSubscriptions(system: System): Promise<void> {
  const latestToday = new Date(system.now.getTime() + EARLIEST_OFFSET_MS).toISOString().slice(0, 10)
  const failures: unknown[] = []
  for (let after = ''; ; ) {
    const page = await findUnsettled(system.db, { now: system.now, due: lastDueBeyondGrace(latestToday), after, limit: PAGE })
    await review(system, page).catch((error: unknown) => failures.push(error))
    if (page.length < PAGE) break
    after = page[page.length - 1]!
  }
  if (failures.length > 0) throw failures[0]
}
