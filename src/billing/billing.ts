import { getStats } from '../identity/organization/organization.ts'
import { planOf } from '../plans/plans.ts'
import type { Ctx } from '../platform/context.ts'
import { localDayOf } from '../platform/time/calendar.ts'
import type { Billing, BillingPlan, BillingUsage } from './contract.ts'
import { listOpen } from './invoices/invoice-store.ts'
import { amountOf, CURRENCY, priceOf } from './subscription/prices.ts'
import { type SubscriptionStatus, subscriptionStatus } from './subscription/status.ts'
import { findSubscription, type StoredSubscription } from './subscription/subscription-store.ts'

async function position({ db, organization, now }: Ctx): Promise<{ terms: StoredSubscription; standing: SubscriptionStatus }> {
  const terms = (await findSubscription(db, organization.id))!
  return { terms, standing: subscriptionStatus(terms, now) }
}

/** Where the organization stands, and what it owes. */
export async function getBilling(ctx: Ctx): Promise<Billing> {
  const [{ terms, standing }, open] = await Promise.all([position(ctx), listOpen(ctx.db, ctx.organization.id)])
  return {
    state: standing.state,
    plan: terms.plan,
    seats: { allowance: standing.allowance, used: terms.held },
    trial_ends_at: terms.trial_ends_at?.toISOString() ?? null,
    open_invoices: open.length,
    amount_due: amountOf(open.map(({ total }) => total)),
    currency: CURRENCY,
    grace_until: standing.grace_until?.toISOString() ?? null,
  }
}

/** The organization's plan, what it allows and what it costs. */
export async function getPlan(ctx: Ctx): Promise<BillingPlan> {
  const { terms, standing } = await position(ctx)
  const plan = planOf(terms.plan)
  return {
    plan: terms.plan,
    name: plan.name,
    limits: { extractors: plan.extractors, rfcs: plan.rfcs },
    seats_included: plan.rfcs,
    rfc_allowance: standing.allowance,
    trial_ends_at: terms.trial_ends_at?.toISOString() ?? null,
    prices: priceOf(terms.plan, localDayOf(ctx.now, terms.timezone)),
  }
}

/** What is counted against the plan, now. */
export async function getUsage(ctx: Ctx): Promise<BillingUsage> {
  const { organization, now } = ctx
  const [{ terms, standing }, { active_rfcs }] = await Promise.all([position(ctx), getStats(ctx)])
  return {
    period: localDayOf(now, organization.timezone).slice(0, 7),
    active_rfcs,
    seats: { used: terms.held, limit: standing.allowance },
    extractors: { used: organization.extractor_count, limit: planOf(terms.plan).extractors },
  }
}
