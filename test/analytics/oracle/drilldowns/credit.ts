import { type Micros, part, sum, times } from '../amounts.ts'
import type { CashEvent } from '../cash.ts'
import type { World } from '../world.ts'
import { deductedPartOf, exclusionsOf, isElsewhere, isInParts, isRestaurant, paymentsOf, wrongsOf } from './deduction-reasons.ts'
import { carsOf } from './vehicles.ts'

/** The payments of an event: itself, or those that a credit note returns; what each is of it. */
function paymentsIn({ refund, forma, pesos, day, own }: CashEvent) {
  return refund === null ? [{ forma, pesos, day, amount: own }] : refund.of
}

/**
 * What of an amount of an event cannot be credited, by reason: all of what the purchase is, all of a payment that was wrong, and of the rest
 * the part that restaurants and cars do not deduct. Of a refund the same of the payments that it returns.
 */
export function exclusionsBy(world: World, event: CashEvent, amount: Micros): [reason: string, Micros][] {
  const { document } = event
  const [reason] = exclusionsOf(world, document)
  if (reason !== undefined) return [[reason, amount]]
  const payments = paymentsIn(event)
  const all = sum(payments.map((one) => one.amount))
  const by = new Map<string, Micros>()
  let out = 0n
  for (const one of payments) {
    const [wrong] = wrongsOf(world, document, one, one.day)
    if (wrong === undefined) continue
    out += one.amount
    by.set(wrong, (by.get(wrong) ?? 0n) + one.amount)
  }
  const found = [...by].map(([wrong, some]): [string, Micros] => [wrong, part(amount, some, all)])
  const rest = amount - (all === 0n ? 0n : part(amount, out, all))
  const { excess, net } = carsOf(world, document)
  if (isRestaurant(document)) found.push(['restaurant', rest - times(rest, deductedPartOf(document, 'business')!)])
  else if (excess > 0n) found.push(['cap_vehicle', part(rest, excess, net)])
  return found
}

export const excludedOf = (world: World, event: CashEvent, amount: Micros): Micros =>
  sum(exclusionsBy(world, event, amount).map(([, some]) => some))

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
