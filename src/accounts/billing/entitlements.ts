import type { Ctx } from '../../platform/context.ts'
import type { Statement } from '../../platform/db/commit.ts'
import { Failure } from '../../platform/failures.ts'
import { planOf } from '../plans/plans.ts'
import { seatCheckout } from './checkout.ts'
import { type SubscriptionStatus, subscriptionStatus } from './subscription/status.ts'
import { assertSeat, recordTrial } from './subscription/store.ts'
import { getSubscription, type StoredSubscription } from './subscription/subscription.ts'

/** What the organization's subscription allows now. */
interface Entitlements extends SubscriptionStatus {
  subscription: StoredSubscription
}

const paymentRequired = (code: string, detail: string, checkout_url?: string | null): Failure =>
  new Failure('payment_required', code, detail, checkout_url ? { checkout_url } : {})

/** Where a plan comes from. A deployment for tests gives it without a payment. */
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
const takeSeat = ({ db, organization }: Ctx, rfc: string, { allowance, subscription }: Entitlements, isTrial: boolean): Statement =>
  assertSeat(db, organization.id, { plan: subscription.plan, rfc, allowance, isTrial })

/**
 * Checks that the organization may store a CIEC or an e.firma for an RFC, before the tax authority sees it: no invoice is beyond its grace period,
 * the trial has not ended and covers the RFC where it is new, and a seat is free where the RFC takes one. Returns the guard of the commit
 * and, in the trial, what uses the trial of the e-mail address. Throws Failure 402.
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
    ...(isTrial ? [recordTrial(ctx.db, ctx.organization.id, ctx.now)] : []),
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
