import { localDayOf } from '../../../platform/time/calendar.ts'
import { PLAN_KEYS, planOf, TRIAL_PLAN } from '../../plans/plans.ts'
import type { Subscription, SubscriptionChanges } from './status.ts'

/** What a checkout offers: a plan, or one more seat on the organization's plan. */
export interface Offer {
  item: 'plan' | 'seat'
  plan: string
}

/** The smallest plan, which an organization on the trial is offered. */
export const FIRST_PLAN = 'starter'

/** The offer to an organization that lacks a seat. */
export const offerFor = (plan: string): Offer => (plan === TRIAL_PLAN ? { item: 'plan', plan: FIRST_PLAN } : { item: 'seat', plan })

/**
 * What a paid checkout changes, decided on the subscription at payment. A plan replaces the trial; its seats apply unless more were
 * granted, and the current month counts as paid. A seat adds one to a plan with a limit. Null when the offer no longer fits the
 * subscription.
 */
export function changesOfPurchase(
  { item, plan: bought = '' }: { item?: string | undefined; plan?: string | undefined },
  { plan, rfc_allowance, timezone }: Subscription,
  now: Date,
): SubscriptionChanges | null {
  const isTrial = plan === TRIAL_PLAN
  if (item === 'plan' && isTrial && bought !== TRIAL_PLAN && PLAN_KEYS.includes(bought)) {
    const { rfcs } = planOf(bought)
    const hasMore = rfc_allowance !== null && rfcs !== null && rfc_allowance > rfcs
    const billed_month = localDayOf(now, timezone).slice(0, 7)
    return hasMore ? { plan: bought, billed_month } : { plan: bought, billed_month, rfc_allowance: null }
  }
  const seats = rfc_allowance ?? planOf(plan).rfcs
  return item === 'seat' && !isTrial && seats !== null ? { rfc_allowance: seats + 1 } : null
}
