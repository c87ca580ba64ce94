import type { Ctx } from '../../platform/context.ts'
import { log } from '../../platform/log.ts'
import { type Day, localDayOf } from '../../platform/time/calendar.ts'
import { planOf } from '../plans/plans.ts'
import { providerOf } from './adapters.ts'
import { type Offer, offerFor } from './subscription/offers.ts'
import { quoteMonth, seatPrice } from './subscription/prices.ts'
import type { StoredSubscription } from './subscription/subscription.ts'

/** What an offer costs on a day, tax included; null when it is not sold. */
export const totalOf = ({ item, plan }: Offer, day: Day): string | null =>
  item === 'plan' ? (quoteMonth(plan, 1, day)?.total ?? null) : seatPrice(plan, day)

/** Returns the URL of a checkout of an offer. Null when it is not sold, or when the provider fails: what leads here stands without one. */
export async function checkoutOf(ctx: Ctx, offer: Offer, { rfc_allowance, timezone }: StoredSubscription): Promise<string | null> {
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

/** The same of one more seat or, on the trial, of the smallest plan. */
export const seatCheckout = (ctx: Ctx, subscription: StoredSubscription): Promise<string | null> =>
  checkoutOf(ctx, offerFor(subscription.plan), subscription)
