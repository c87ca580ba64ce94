import type { Suspension } from '../../../platform/tenant/tenant.ts'
import { type Day, dayOfEpoch, epochDayOf, firstInstantOf, localDayOf } from '../../../platform/time/calendar.ts'
import { PLAN_KEYS, planOf, TRIAL_PLAN } from '../../plans/plans.ts'

const GMAIL = ['gmail.com', 'googlemail.com']

/**
 * The normal form of an e-mail address, under which it gets one trial: addresses of one mailbox have the same form. Case, surrounding space
 * and the text after a plus sign do not count, and neither do the dots of a Gmail address.
 */
export function trialEmailOf(email: string): string {
  const [local = '', domain = ''] = email.trim().toLowerCase().split('@')
  const mailbox = local.replace(/(?<=.)\+.*$/, '')
  return GMAIL.includes(domain) ? `${mailbox.replaceAll('.', '')}@gmail.com` : `${mailbox}@${domain}`
}

const TRIAL_DAYS = 7
const GRACE_DAYS = 3

export const BILLING_STATES = ['trialing', 'active', 'past_due', 'suspended', 'diagnostic_expired'] as const

/** An organization's plan and seats, and since when it owes. */
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

/** The state of a subscription at an instant. */
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
const lastDueBeyondGrace = (today: Day): Day => daysAfter(today, -GRACE_DAYS)

/** The greatest offset of a time zone: no place has a later local day. */
const EARLIEST_OFFSET_MS = 14 * 3_600_000

/** The latest due day whose grace period has ended anywhere by this instant. */
export const lastDueAnywhere = (now: Date): Day =>
  lastDueBeyondGrace(new Date(now.getTime() + EARLIEST_OFFSET_MS).toISOString().slice(0, 10))

/** The status of a subscription at an instant. Days are calendar days in the organization's time zone. */
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

/** The item of a checkout: a plan, or one more seat on the organization's plan. */
export interface Offer {
  item: 'plan' | 'seat'
  plan: string
}

/** The smallest plan, which an organization on the trial is offered. */
export const FIRST_PLAN = 'starter'

/** The offer to an organization that lacks a seat. */
export const offerFor = (plan: string): Offer => (plan === TRIAL_PLAN ? { item: 'plan', plan: FIRST_PLAN } : { item: 'seat', plan })

/**
 * The changes of a paid checkout, decided on the subscription at payment. A plan replaces the trial; its seats apply unless more were
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
