import type { Ctx } from '../../platform/context.ts'
import type { Statement } from '../../platform/db/commit.ts'
import { Failure } from '../../platform/failures.ts'
import { log } from '../../platform/log.ts'
import { type Day, localDayOf } from '../../platform/time/calendar.ts'
import { PLAN_KEYS, planOf, TRIAL_PLAN } from '../plans/plans.ts'
import { limitsOf } from '../plans/quotas.ts'
import { limitsNow } from '../plans/reserve-quota.ts'
import { providerOf } from './adapters.ts'
import type { Billing, BillingPlan, OfferedPlan } from './contract.ts'
import { listOpenInvoices } from './invoices/store.ts'
import { CURRENCY, priceOf, quoteMonth, seatPrice, sumOf } from './subscription/prices.ts'
import { type Offer, offerFor, type SubscriptionStatus, subscriptionStatus } from './subscription/status.ts'
import { assertSeat, recordTrial } from './subscription/store.ts'
import { getSubscription, type StoredSubscription } from './subscription/subscription.ts'

/** The price of an offer on a day, tax included; null when it is not sold. */
const totalOf = ({ item, plan }: Offer, day: Day): string | null =>
  item === 'plan' ? (quoteMonth(plan, 1, day)?.total ?? null) : seatPrice(plan, day)

/** Returns the URL of a checkout of an offer; null when it is not sold, or the provider fails: callers can do without one. */
async function checkoutOf(ctx: Ctx, offer: Offer, { rfc_allowance, timezone }: StoredSubscription): Promise<string | null> {
  const day = localDayOf(ctx.now, timezone)
  const amount = totalOf(offer, day)
  if (amount === null) return null
  const name = `${planOf(offer.plan).name}, ${offer.item === 'plan' ? `${day.slice(0, 7)} with 1 RFC` : '1 more RFC'}`
  const { id } = ctx.organization
  const key = `${offer.item}:${id}:${offer.plan}:${rfc_allowance}:${day}`
  try {
    return await providerOf(ctx).checkout({ key, organization_id: id, offer, name, amount })
  } catch (error) {
    log.error(ctx, 'No checkout could be opened at the payment provider.', {}, error)
    return null
  }
}

/** The checkout of one more seat or, on the trial, of the smallest plan. */
const seatCheckout = (ctx: Ctx, subscription: StoredSubscription): Promise<string | null> =>
  checkoutOf(ctx, offerFor(subscription.plan), subscription)

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

/** The offer of a plan that the organization can buy now; null without one. */
function offerOf(plan: string, { plan: current, rfc_allowance }: StoredSubscription): Offer | null {
  if (current === TRIAL_PLAN) return { item: 'plan', plan }
  const isLimited = plan === current && (rfc_allowance ?? planOf(plan).rfcs) !== null
  return isLimited ? { item: 'seat', plan } : null
}

/** Returns all plans with their limits and prices, the trial first, and checkouts of what the organization can buy. */
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

/** What the organization's subscription allows now. */
interface Entitlements extends SubscriptionStatus {
  subscription: StoredSubscription
}

const paymentRequired = (code: string, detail: string, checkout_url?: string | null): Failure =>
  new Failure('payment_required', code, detail, checkout_url ? { checkout_url } : {})

/** Says where to get a plan. A deployment for tests gives it without a payment. */
const planWay = ({ settings }: Ctx): string =>
  settings.environment === 'test'
    ? 'In the sandbox POST /v1/test-helpers/organization with {"plan":"api"} changes it without a payment.'
    : 'GET /v1/billing/plans lists the plans with a link where you can buy each.'

/** Connections are counted without the one to `exceptRfc`. */
async function entitlementsOf(ctx: Ctx, exceptRfc: string | null = null): Promise<Entitlements> {
  const subscription = await getSubscription(ctx, exceptRfc)
  const status = subscriptionStatus(subscription, ctx.now)
  return { ...status, suspension: status.suspension ?? subscription.suspension, subscription }
}

function refuseOverdue({ suspension, grace_until }: Entitlements): void {
  if (suspension !== 'payment') return
  const end = grace_until ? `, which ended at ${grace_until.toISOString()}` : ''
  throw paymentRequired(
    'billing.overdue',
    `An invoice is unpaid after its grace period of 3 days${end}. Pay the open invoices that GET /v1/billing/invoices lists.`,
  )
}

/** Checks that no invoice of the organization is beyond its grace period. Throws Failure 402 billing.overdue. */
export const checkPaid = async (ctx: Ctx): Promise<void> => refuseOverdue(await entitlementsOf(ctx))

/** Opens a checkout when it refuses, to name its URL. */
async function refuseWithoutSeat(ctx: Ctx, { allowance, suspension, subscription }: Entitlements): Promise<void> {
  const isTrialOver = suspension === 'trial'
  if (!isTrialOver && (allowance === null || subscription.seats_used < allowance)) return
  const checkout_url = await seatCheckout(ctx, subscription)
  const where = checkout_url ? ' at checkout_url' : ''
  const detail = isTrialOver
    ? `${trialOver(subscription)} The organization has no seats. Choose a plan${where}. ${planWay(ctx)}`
    : `Every seat of the organization is taken: ${subscription.seats_used} of ${allowance} (plan ${planOf(subscription.plan).name}). ` +
      `Pause or unlink another RFC, or buy a seat${where}. ${seatWay(ctx)}`
  throw paymentRequired('billing.seats', detail, checkout_url)
}

const seatWay = (ctx: Ctx): string =>
  ctx.settings.environment === 'test'
    ? 'In the sandbox POST /v1/test-helpers/organization with {"rfc_allowance":50} adds seats without a payment.'
    : planWay(ctx)

const trialOver = ({ is_trial_used }: StoredSubscription): string =>
  is_trial_used
    ? 'The free trial of this e-mail address was used by another organization that signed up with it.'
    : 'The free trial has ended.'

const rfcs = (count: number): string => (count === 1 ? '1 RFC' : `${count} RFCs`)

function refuseBeyondTrial(ctx: Ctx, { allowance, isTrial, suspension, subscription }: Entitlements): void {
  if (suspension === 'trial')
    throw paymentRequired(
      'billing.trial_ended',
      `${trialOver(subscription)} Choose a plan to connect RFCs with a CIEC or an e.firma. ${planWay(ctx)}`,
    )
  if (isTrial && allowance !== null && subscription.ever_connected >= allowance)
    throw paymentRequired(
      'billing.trial_rfcs',
      `The free trial covers ${rfcs(allowance)}, and an RFC that was unlinked still counts. Choose a plan to connect more, or connect this RFC as a draft, without a CIEC or e.firma. ${planWay(ctx)}`,
    )
}

/** Takes the seat that was found free, unless a concurrent request took it first. */
const takeSeat = ({ organization }: Ctx, rfc: string, { allowance, subscription }: Entitlements, isTrial: boolean): Statement =>
  assertSeat(organization.id, { plan: subscription.plan, rfc, allowance, isTrial })

/**
 * Checks that the organization may store a CIEC or an e.firma for an RFC, before the tax authority sees it: no invoice is beyond its grace
 * period, the trial has not ended and covers the RFC if it is new, and a seat is free if the RFC takes one. Returns the guard of the commit
 * and, in the trial, the statement that uses the trial of the e-mail address. Throws Failure 402.
 */
export async function checkLoginEntitlement(
  ctx: Ctx,
  rfc: string,
  { isNew, takesSeat } = { isNew: true, takesSeat: true },
): Promise<Statement[]> {
  const entitlements = await entitlementsOf(ctx, rfc)
  refuseOverdue(entitlements)
  const unlimited = { ...entitlements, allowance: null }
  refuseBeyondTrial(ctx, isNew ? entitlements : unlimited)
  const required = takesSeat ? entitlements : unlimited
  await refuseWithoutSeat(ctx, required)
  const { isTrial } = entitlements
  return [
    takeSeat(ctx, rfc, isNew && isTrial ? entitlements : required, isTrial),
    ...(isTrial ? [recordTrial(ctx.organization.id, ctx.now)] : []),
  ]
}

/**
 * Checks that the organization may resume an RFC: no invoice is beyond its grace period, and a seat is free where the RFC takes one.
 * Returns the guards of the commit. Throws Failure 402.
 */
export async function checkResumeEntitlement(ctx: Ctx, rfc: string, takesSeat: boolean): Promise<Statement[]> {
  const entitlements = await entitlementsOf(ctx, rfc)
  refuseOverdue(entitlements)
  if (!takesSeat) return []
  await refuseWithoutSeat(ctx, entitlements)
  return [takeSeat(ctx, rfc, entitlements, false)]
}

/**
 * Checks that the organization may unlink an RFC that is not a draft: it is not paused, and no invoice is beyond its grace period. Throws
 * Failure 402.
 */
export async function checkUnlinkEntitlement(ctx: Ctx, fiscal_entity_id: string, isPaused: boolean): Promise<void> {
  const entitlements = await entitlementsOf(ctx)
  refuseOverdue(entitlements)
  if (!isPaused) return
  const remedy =
    entitlements.suspension === 'trial'
      ? `The free trial has ended: choose a plan first. ${planWay(ctx)}`
      : `Resume it first: PATCH /v1/billing/rfcs/${fiscal_entity_id} with {"active": true}. Where every seat is taken, pause another RFC until this one is unlinked.`
  throw paymentRequired('billing.connection_paused', `A paused connection cannot be unlinked. ${remedy}`)
}
