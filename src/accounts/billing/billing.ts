import type { Ctx } from '../../platform/context.ts'
import { localDayOf } from '../../platform/time/calendar.ts'
import { limitsNow } from '../plans/place.ts'
import { PLAN_KEYS, planOf, TRIAL_PLAN } from '../plans/plans.ts'
import { limitsOf } from '../plans/quotas.ts'
import { checkoutOf, totalOf } from './checkout.ts'
import type { Billing, BillingPlan, OfferedPlan } from './contract.ts'
import { listOpenInvoices } from './invoices/store.ts'
import type { Offer } from './subscription/offers.ts'
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

/** What the organization can buy of a plan now; null when that is nothing. */
function offerOf(plan: string, { plan: current, rfc_allowance }: StoredSubscription): Offer | null {
  if (current === TRIAL_PLAN) return { item: 'plan', plan }
  const isLimited = plan === current && (rfc_allowance ?? planOf(plan).rfcs) !== null
  return isLimited ? { item: 'seat', plan } : null
}

/** Returns all plans with their limits and prices, the trial first, and where to buy what the organization can buy. */
export async function listPlans(ctx: Ctx): Promise<OfferedPlan[]> {
  const { subscription } = await currentSubscription(ctx)
  const day = localDayOf(ctx.now, subscription.timezone)
  return Promise.all(
    PLAN_KEYS.map(async (plan) => {
      const offer = offerOf(plan, subscription)
      const total = offer && totalOf(offer, day)
      const url = offer && total && (await checkoutOf(ctx, offer, subscription))
      const { rule_ref: _, ...limits } = limitsOf(plan, day)
      const { name, rfcs } = planOf(plan)
      return {
        ...{ plan, name, is_current: plan === subscription.plan, seats_included: rfcs, limits, prices: priceOf(plan, day) },
        checkout: offer && total && url ? { item: offer.item, total, currency: CURRENCY, url } : null,
      }
    }),
  )
}
