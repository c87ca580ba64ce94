import type { Suspension } from '../../../platform/tenant/tenant.ts'
import { type Day, dayOfEpoch, epochDayOf, firstInstantOf, localDayOf } from '../../../platform/time/calendar.ts'
import { planOf, TRIAL_PLAN } from '../../plans/plans.ts'
import { trialEmailOf } from './trial-email.ts'

const TRIAL_DAYS = 7
const GRACE_DAYS = 3

export const BILLING_STATES = ['trialing', 'active', 'past_due', 'suspended', 'diagnostic_expired'] as const

/** What an organization subscribed to, and since when it owes. */
export interface Subscription {
  plan: string
  /** Number of seats where it differs from the plan's. */
  rfc_allowance: number | null
  trial_ends_at: Date | null
  /** Another organization used the trial of the e-mail address with which this one signed up. */
  is_trial_used: boolean
  timezone: string
  /** The earliest due day of its open invoices. */
  oldest_due: Day | null
}

/** Columns that a subscription change may write. */
export type SubscriptionChanges = Partial<Pick<Subscription, 'plan' | 'rfc_allowance' | 'trial_ends_at'>> & { billed_month?: string }

/** What a subscription implies at an instant. */
export interface SubscriptionStatus {
  state: (typeof BILLING_STATES)[number]
  /** Why its connections have to be paused; null when they may be active. */
  suspension: Suspension | null
  isTrial: boolean
  /** Number of seats; null without limit. */
  allowance: number | null
  /** End of the grace period of the oldest open invoice; null when none is open. */
  grace_until: Date | null
}

const daysAfter = (day: Day, days: number): Day => dayOfEpoch(epochDayOf(day) + days)

/** The end of a trial that begins now: the end of its seventh local day, the day of the sign-up being the first. */
export const trialEnd = (now: Date, timezone: string): Date => firstInstantOf(daysAfter(localDayOf(now, timezone), TRIAL_DAYS), timezone)

/** The columns of a new organization: it begins with the trial of an e-mail address, and no invoice is due for its first month. */
export const trialSubscription = (now: Date, timezone: string, email: string) => ({
  plan: TRIAL_PLAN,
  rfc_allowance: null,
  trial_ends_at: trialEnd(now, timezone),
  trial_email: trialEmailOf(email),
  suspension: null,
  billed_month: localDayOf(now, timezone).slice(0, 7),
})

/** The end of an invoice's grace period: the first moment of the third local day after its due day. */
export const graceEnd = (due_on: Day, timezone: string): Date => firstInstantOf(daysAfter(due_on, GRACE_DAYS), timezone)

/** The latest due day whose grace period has ended by this day. */
export const lastDueBeyondGrace = (today: Day): Day => daysAfter(today, -GRACE_DAYS)

/** The status of a subscription at an instant. Days are calendar days in the organization's time zone (decisions.md 10). */
export function subscriptionStatus(
  { plan, rfc_allowance, trial_ends_at, is_trial_used, timezone, oldest_due }: Subscription,
  now: Date,
): SubscriptionStatus {
  const today = localDayOf(now, timezone)
  const isTrial = plan === TRIAL_PLAN
  const isTrialOver = isTrial && (is_trial_used || (trial_ends_at !== null && now >= trial_ends_at))
  const isBeyondGrace = oldest_due !== null && oldest_due <= lastDueBeyondGrace(today)
  const common = {
    isTrial,
    allowance: rfc_allowance ?? planOf(plan).rfcs,
    grace_until: oldest_due === null ? null : graceEnd(oldest_due, timezone),
  }
  if (isBeyondGrace) return { ...common, state: 'suspended', suspension: 'payment' }
  if (isTrialOver) return { ...common, state: 'diagnostic_expired', suspension: 'trial' }
  if (oldest_due !== null && today > oldest_due) return { ...common, state: 'past_due', suspension: null }
  return { ...common, state: isTrial ? 'trialing' : 'active', suspension: null }
}
