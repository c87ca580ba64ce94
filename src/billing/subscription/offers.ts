import { PLAN_KEYS, planOf, TRIAL_PLAN } from '../../plans/plans.ts'
import { localDayOf } from '../../platform/time/calendar.ts'
import type { Subscription } from './status.ts'

/** What a checkout sells: a plan, or a seat under the plan that the organization has. */
export interface Offer {
  sold: 'plan' | 'seat'
  plan: string
}

/** What the checkout of an organization on the trial sells: the smallest plan. */
export const FIRST_PLAN = 'starter'

/** What an organization that lacks a seat is offered. */
export const offerFor = (plan: string): Offer => (plan === TRIAL_PLAN ? { sold: 'plan', plan: FIRST_PLAN } : { sold: 'seat', plan })

type Granted = Partial<Pick<Subscription, 'plan' | 'rfc_allowance'>> & { billed_month?: string }

/**
 * What a paid checkout changes, by what was sold with it and the terms at payment: a plan with all its seats for whoever is on the
 * trial, for which the month that it is has been paid; a seat more for whoever has a plan with so many of them. Null when it was sold to somebody who stands elsewhere by now.
 */
export function granted(
  { sold, plan: bought = '' }: { [name: string]: string },
  { plan, rfc_allowance, timezone }: Subscription,
  now: Date,
): Granted | null {
  const isTrial = plan === TRIAL_PLAN
  if (sold === 'plan' && isTrial && bought !== TRIAL_PLAN && PLAN_KEYS.includes(bought)) {
    const { rfcs } = planOf(bought)
    const isMore = rfc_allowance !== null && rfcs !== null && rfc_allowance > rfcs
    const billed_month = localDayOf(now, timezone).slice(0, 7)
    return isMore ? { plan: bought, billed_month } : { plan: bought, billed_month, rfc_allowance: null }
  }
  const seats = rfc_allowance ?? planOf(plan).rfcs
  return sold === 'seat' && !isTrial && seats !== null ? { rfc_allowance: seats + 1 } : null
}
