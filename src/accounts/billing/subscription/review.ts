import { raiseAlertsOf } from '../../../platform/alerts/alerts.ts'
import { NO_RFC } from '../../../platform/alerts/kinds.ts'
import type { System } from '../../../platform/context.ts'
import { commit } from '../../../platform/db/commit.ts'
import { SUSPENSIONS, type Suspension } from '../../../platform/tenant/tenant.ts'
import { pageByPage } from '../../../platform/work/pages.ts'
import { actingFor } from '../../organization/organization.ts'
import { lastDueAnywhere, subscriptionStatus } from './status.ts'
import {
  assertSubscriptions,
  clearReviews,
  findStaleSuspensions,
  type ListedSubscription,
  listSubscriptions,
  restoreReview,
} from './store.ts'
import { commitBillingChange, effectsOf, getSubscription, type Resume, runAfterCommit, suspend } from './subscription.ts'

/** The most statements of a review of one organization, apart from one for each ledger, unless concurrent changes make it repeat. */
const REVIEW_STATEMENTS = 40

/** Suspends or reactivates one organization as its subscription implies now. */
async function reviewOrganization(system: System, organization_id: string, resume: Resume): Promise<void> {
  system.budget.require(REVIEW_STATEMENTS)
  const ctx = await actingFor(system, organization_id, 'billing')
  await commitBillingChange(async () => {
    const stored = await getSubscription(ctx)
    const { suspension, grace_until } = subscriptionStatus(stored, ctx.now)
    if (suspension === stored.suspension) return false
    await raiseSuspended(system, [{ stored: { id: organization_id }, suspension }])
    const effects = await effectsOf(ctx, stored, stored, resume)
    const due = stored.oldest_due !== null && grace_until !== null && { due_on: stored.oldest_due, grace_until }
    const reviewed = due && suspension !== 'payment' ? [restoreReview(organization_id, due)] : []
    await commit(ctx.db.$client, [...effects.statements, ...reviewed])
    await runAfterCommit(ctx, effects)
    return true
  })
}

/**
 * Suspends or reactivates organizations as their subscriptions imply now, and reports each that fails. All suspensions are one commit; when
 * it fails, each organization is reviewed alone. Throws BudgetUsedUp; a repetition then reviews those that are left.
 */
export async function reviewOrganizations(
  system: System,
  organization_ids: readonly string[],
  resume: Resume,
  fail: (error: unknown) => void,
): Promise<void> {
  if (organization_ids.length === 0) return
  const subscriptions = await listSubscriptions(system.db, organization_ids)
  const left = await suspendTogether(system, subscriptions).catch(() => organization_ids)
  for (const id of left) await reviewOrganization(system, id, resume).catch(fail)
}

const WHY = {
  payment: [
    'an invoice is unpaid after its grace period',
    'hay una factura sin pagar después de su plazo de gracia',
    'GET /v1/billing/invoices shows what to pay.',
  ],
  trial: ['the trial has ended', 'terminó el periodo de prueba', 'GET /v1/billing/plans has a link where you can buy a plan.'],
} as const

/** Raises an alert for each organization that is suspended. */
const raiseSuspended = (system: System, reviewed: readonly { stored: { id: string }; suspension: Suspension | null }[]): Promise<void> =>
  raiseAlertsOf(
    system,
    reviewed.flatMap(({ stored: { id }, suspension }) => {
      if (suspension === null) return []
      const [why, porque, what] = WHY[suspension]
      return {
        ...({ organization_id: id, kind: 'organization.suspended', severity: 'critical', resource_id: id, ...NO_RFC } as const),
        dedupe_key: `organization.suspended:${suspension}`,
        message: `All connections are paused and nothing is downloaded, because ${why}. ${what}`,
        message_es: `Todas las conexiones están en pausa y no se descarga nada, porque ${porque}.`,
      }
    }),
    system.now,
  )

/** Suspends in one commit, and returns the organizations whose suspension has to end instead. */
async function suspendTogether(system: System, subscriptions: readonly ListedSubscription[]): Promise<string[]> {
  const { db, now } = system
  const reviewed = subscriptions.map((stored) => ({ stored, suspension: subscriptionStatus(stored, now).suspension }))
  const begun = reviewed.filter(({ stored, suspension }) => suspension !== null && suspension !== stored.suspension)
  const idsOf = (why: Suspension, of = begun) => of.flatMap(({ stored, suspension }) => (suspension === why ? [stored.id] : []))
  const owing = idsOf('payment', reviewed)
  const statements = [
    ...(begun.length > 0 ? [assertSubscriptions(begun.map(({ stored }) => stored))] : []),
    ...SUSPENSIONS.flatMap((why) => suspend(system, idsOf(why), why)),
    ...(owing.length > 0 ? [clearReviews(owing, now)] : []),
  ]
  // Raised before, so that no crash prevents it: a repetition changes nothing.
  await raiseSuspended(system, begun)
  if (statements.length > 0) await commit(db.$client, statements)
  return reviewed.flatMap(({ stored, suspension }) => (suspension === null && stored.suspension !== null ? [stored.id] : []))
}

/** Organizations reviewed in one commit. */
const PAGE = 50
/** The statements of a page in which nothing fails: two lists and a commit. */
const PAGE_STATEMENTS = 16

/**
 * Reviews every organization whose stored suspension differs from what its subscription implies, for whatever reason. Runs daily; bears
 * repetition and missed days. A task, whose cursor is the id of the last organization.
 */
export function reviewSubscriptions(system: System, resume: Resume, cursor = ''): Promise<string | null> {
  const due = lastDueAnywhere(system.now)
  return pageByPage(system, PAGE_STATEMENTS, cursor, async (after, fail) => {
    const page = await findStaleSuspensions(system.db, { now: system.now, due, after, limit: PAGE })
    await reviewOrganizations(system, page, resume, fail)
    return page.length < PAGE ? null : page[page.length - 1]!
  })
}
