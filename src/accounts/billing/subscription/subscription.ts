import { type Change, change } from '../../../platform/audit/audit.ts'
import type { Ctx } from '../../../platform/context.ts'
import type { Statement } from '../../../platform/db/commit.ts'
import { isGuardViolation } from '../../../platform/db/guard.ts'
import { retryOnConflict } from '../../../platform/db/retry.ts'
import { Failure } from '../../../platform/failures.ts'
import { updateOrganization } from '../../organization/organization.ts'
import { effectsOf, type Resume, runAfterCommit } from './effects.ts'
import type { Subscription, SubscriptionChanges } from './status.ts'
import { APPLIED_ONCE, assertSubscription, findSubscription, type StoredSubscription } from './store.ts'

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
        : [assertSubscription(db, organization.id, stored, stored.suspension), updateOrganization(db, organization.id, columns)]
    await change(ctx, what, [...also, ...update, ...effects.statements])
    await runAfterCommit(ctx, effects)
    return true
  })
