import { planOf } from '../plans/plans.ts'
import type { Ctx } from '../platform/context.ts'
import { log } from '../platform/log.ts'
import { localDayOf } from '../platform/time/calendar.ts'
import { providerOf } from './adapters.ts'
import { offerFor } from './subscription/offers.ts'
import { quoteMonth, seatPrice } from './subscription/prices.ts'
import type { StoredSubscription } from './subscription/subscription.ts'

/**
 * Returns the URL of a checkout for one more seat or, on the trial, for the smallest plan. Null when there is nothing to sell, or when the
 * provider fails: the refusal that leads here stands without a checkout.
 */
export async function seatCheckout(ctx: Ctx, { plan, rfc_allowance, timezone }: StoredSubscription): Promise<string | null> {
  const day = localDayOf(ctx.now, timezone)
  const offer = offerFor(plan)
  const isPlan = offer.item === 'plan'
  const amount = isPlan ? quoteMonth(offer.plan, 1, day)!.total : seatPrice(plan, day)
  if (amount === null) return null
  const name = `${planOf(offer.plan).name}, ${isPlan ? `${day.slice(0, 7)} with 1 RFC` : '1 more RFC'}`
  const { id } = ctx.organization
  const key = `${offer.item}:${id}:${offer.plan}:${rfc_allowance}:${day}`
  try {
    return await providerOf(ctx).checkout({ key, organization_id: id, offer, name, amount })
  } catch (error) {
    log.error(ctx, 'No checkout could be opened at the payment provider.', {}, error)
    return null
  }
}
