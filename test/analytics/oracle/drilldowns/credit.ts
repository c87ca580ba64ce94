import { type Micros, part, sum, times } from '../amounts.ts'
import type { CashEvent } from '../cash.ts'
import type { World } from '../world.ts'
import { deductedPartOf, exclusionsOf, isElsewhere, isInParts, isRestaurant, paymentsOf, wrongsOf } from './deduction-reasons.ts'
import { carsOf } from './vehicles.ts'

/** The payments of an event: itself, or those that a credit note returns; what each is of it. */
function paymentsIn({ refund, forma, pesos, day, own }: CashEvent) {
  return refund === null ? [{ forma, pesos, day, amount: own }] : refund.of
}

/** Why IVA is not credited, in the order in which one of several is named. */
export const REASONS = [
  ...['uso_s01', 'issuer_69b_definitivo', 'cash_over_2000', 'fuel_not_electronic', 'bar', 'restaurant_not_by_card'],
  ...['restaurant', 'cap_vehicle'],
]

export function reasonOf(world: World, event: CashEvent): string | undefined {
  const { document } = event
  const found = [
    ...exclusionsOf(world, document),
    ...paymentsIn(event).flatMap((one) => wrongsOf(world, document, one, one.day)),
    ...(isRestaurant(document) ? ['restaurant'] : []),
    ...(carsOf(world, document).excess > 0n ? ['cap_vehicle'] : []),
  ]
  return REASONS.find((reason) => found.includes(reason))
}

/**
 * What of an amount of an event cannot be credited: all of what the purchase is, all of a payment that was wrong, and of the rest the part
 * that restaurants and cars do not deduct. Of a refund the same of the payments that it returns.
 */
export function excludedOf(world: World, event: CashEvent, amount: Micros): Micros {
  const { document } = event
  if (exclusionsOf(world, document).length > 0) return amount
  const payments = paymentsIn(event)
  const wrong = payments.filter((one) => wrongsOf(world, document, one, one.day).length > 0)
  const total = (list: typeof payments) => sum(list.map((one) => one.amount))
  const out = part(amount, total(wrong), total(payments))
  const [rest, { excess, net }] = [amount - out, carsOf(world, document)]
  if (isRestaurant(document)) return amount - times(rest, deductedPartOf(document, 'business')!)
  return out + part(rest, excess, net)
}

/** What has to be asked before the IVA of an event is credited; nothing of what is excluded as a whole. */
export function questionsOf(world: World, event: CashEvent): string[] {
  const { document, refund, source } = event
  const payments = paymentsIn(event)
  const isWrong = payments.some((one) => wrongsOf(world, document, one, one.day).length > 0)
  if (exclusionsOf(world, document).length > 0 || isWrong) return []
  const all = refund?.of ?? (source === 'pago' ? paymentsOf(world, document) : payments)
  return [
    ...(payments.some((one) => isInParts(world, document, one, one.day, all)) ? ['cash_in_parts'] : []),
    ...(carsOf(world, document).isToReview ? ['vehicle_review'] : []),
    ...(isRestaurant(document) && isElsewhere(document) ? ['possible_travel'] : []),
  ]
}
