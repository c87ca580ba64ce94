import { limitsNow } from '../plans/place.ts'
import { planOf } from '../plans/plans.ts'
import type { Ctx } from '../platform/context.ts'
import { localDayOf } from '../platform/time/calendar.ts'
import type { Billing, BillingPlan } from './contract.ts'
import { listOpenInvoices } from './invoices/store.ts'
import { CURRENCY, priceOf, sumOf } from './subscription/prices.ts'
import { type SubscriptionStatus, subscriptionStatus } from './subscription/status.ts'
import { getSubscription, type StoredSubscription } from './subscription/subscription.ts'

async function currentSubscription(ctx: Ctx): Promise<{ subscription: StoredSubscription; status: SubscriptionStatus }> {
  const subscription = await getSubscription(ctx)
  return { subscription, status: subscriptionStatus(subscription, ctx.now) }
}

const trialEndOf = ({ trial_ends_at, is_trial_used }: StoredSubscription): string | null =>
  is_trial_used ? null : (trial_ends_at?.toISOString() ?? null)

/** Returns the organization's subscription status, and what it owes. */
export async function getBilling(ctx: Ctx): Promise<Billing> {
  const [{ subscription, status }, open] = await Promise.all([currentSubscription(ctx), listOpenInvoices(ctx.db, ctx.organization.id)])
  return {
    state: status.state,
    plan: subscription.plan,
    seats: { allowance: status.allowance, used: subscription.seats_used },
    trial_ends_at: trialEndOf(subscription),
    open_invoices: open.length,
    amount_due: sumOf(open.map(({ total }) => total)),
    currency: CURRENCY,
    grace_until: status.grace_until?.toISOString() ?? null,
  }
}

/** Returns the organization's plan, its limits and its prices. */
export async function getPlan(ctx: Ctx): Promise<BillingPlan> {
  const { subscription, status } = await currentSubscription(ctx)
  const plan = planOf(subscription.plan)
  return {
    plan: subscription.plan,
    name: plan.name,
    limits: { extractors: limitsNow(ctx).extractors, rfcs: plan.rfcs },
    seats_included: plan.rfcs,
    rfc_allowance: status.allowance,
    trial_ends_at: trialEndOf(subscription),
    prices: priceOf(subscription.plan, localDayOf(ctx.now, subscription.timezone)),
  }
}
