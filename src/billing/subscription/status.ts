import { planOf, TRIAL_PLAN } from '../../plans/plans.ts'
import type { Suspension } from '../../platform/tenant.ts'
import { type Day, dayOfEpoch, epochDayOf, firstInstantOf, localDayOf } from '../../platform/time/calendar.ts'

const TRIAL_DAYS = 7
const GRACE_DAYS = 3

export const BILLING_STATES = ['trialing', 'active', 'past_due', 'suspended', 'diagnostic_expired'] as const

/** What an organization's standing follows from. */
export interface Subscription {
  plan: string
  /** Seats, where they differ from the plan's. */
  rfc_allowance: number | null
  trial_ends_at: Date | null
  timezone: string
  /** The earliest due day of its open invoices. */
  oldest_due: Day | null
}

export interface SubscriptionStatus {
  state: (typeof BILLING_STATES)[number]
  /** Why its connections may not be active; null when they may. */
  suspension: Suspension | null
  isTrial: boolean
  /** Seats; null without limit. */
  allowance: number | null
  /** When the grace of its oldest open invoice ends; null without one. */
  grace_until: Date | null
}

const daysAfter = (day: Day, days: number): Day => dayOfEpoch(epochDayOf(day) + days)

/** The trial of an organization that signs up now ends with its seventh local day, the first being that of the sign-up. */
export const trialEnd = (now: Date, timezone: string): Date => firstInstantOf(daysAfter(localDayOf(now, timezone), TRIAL_DAYS), timezone)

/** What an organization begins with: the trial, and nothing to be invoiced for the month that it is in. */
export const trialSubscription = (now: Date, timezone: string) => ({
  plan: TRIAL_PLAN,
  rfc_allowance: null,
  trial_ends_at: trialEnd(now, timezone),
  suspension: null,
  billed_month: localDayOf(now, timezone).slice(0, 7),
})

/** The first moment at which an invoice that is still open has run out of grace: three calendar days after its due day. */
export const graceEnd = (due_on: Day, timezone: string): Date => firstInstantOf(daysAfter(due_on, GRACE_DAYS), timezone)

/** Invoices that are due on this day or before are beyond grace on that one. */
export const lastDueBeyondGrace = (today: Day): Day => daysAfter(today, -GRACE_DAYS)

/** Where an organization stands at an instant. Days are calendar days in its zone (decisions.md 10). */
export function subscriptionStatus(
  { plan, rfc_allowance, trial_ends_at, timezone, oldest_due }: Subscription,
  now: Date,
): SubscriptionStatus {
  const today = localDayOf(now, timezone)
  const isDiagnostic = plan === TRIAL_PLAN
  const isTrialOver = isDiagnostic && trial_ends_at !== null && now >= trial_ends_at
  const isBeyondGrace = oldest_due !== null && oldest_due <= lastDueBeyondGrace(today)
  const common = {
    isTrial: isDiagnostic,
    allowance: rfc_allowance ?? planOf(plan).rfcs,
    grace_until: oldest_due === null ? null : graceEnd(oldest_due, timezone),
  }
  if (isBeyondGrace) return { ...common, state: 'suspended', suspension: 'payment' }
  if (isTrialOver) return { ...common, state: 'diagnostic_expired', suspension: 'trial' }
  if (oldest_due !== null && today > oldest_due) return { ...common, state: 'past_due', suspension: null }
  return { ...common, state: isDiagnostic ? 'trialing' : 'active', suspension: null }
}
