import { type Micros, part, sum } from '../amounts.ts'
import type { CashEvent } from '../cash.ts'
import type { World } from '../world.ts'
import { exclusionsOf, isFormUnknown, isInParts, isOutright, lostOf, notedOf, paymentsOf, wrongsOf } from './deduction-reasons.ts'
import { isRestaurant, type Purchase, purchaseOf } from './purchase.ts'

/** The payments of an event: itself, or those that a credit note returns; what each is of it. */
function paymentsIn({ refund, forma, pesos, day, own }: CashEvent) {
  return refund === null ? [{ forma, pesos, day, amount: own }] : refund.of
}

/** What was bought, after the credit notes until the event. Nothing was bought that a note of an invoice that nobody sees takes off. */
function purchaseIn(world: World, { document, refund, source, day }: CashEvent): Purchase {
  return purchaseOf(world, document, () => {
    if (refund === null) return source === 'pago' ? notedOf(world, document, day) : { before: 0n, own: null }
    return document === refund.note ? { before: 0n, own: 0n } : notedOf(world, document, refund.note)
  })
}

/** Why IVA is not credited, in the order in which one of several is named. */
export const REASONS = [
  ...['uso_s01', 'issuer_69b_definitivo', 'cash_over_2000', 'fuel_not_electronic', 'bar', 'restaurant_not_by_card'],
  ...['restaurant', 'cap_vehicle', 'cap_car_rental'],
]

export function reasonOf(world: World, event: CashEvent): string | undefined {
  const { document } = event
  const found = [
    ...exclusionsOf(world, document),
    ...paymentsIn(event).flatMap((one) => wrongsOf(world, document, one, one.day)),
    ...(isRestaurant(document) ? ['restaurant'] : []),
    ...purchaseIn(world, event).caps,
  ]
  return REASONS.find((reason) => found.includes(reason))
}

/**
 * What of an amount of an event cannot be credited: all of what the purchase is, what is out of the payment, and of the rest the part that
 * restaurants and cars do not deduct. Of a refund the same of the payments that it returns.
 */
export function excludedOf(world: World, event: CashEvent, amount: Micros): Micros {
  const { document } = event
  if (exclusionsOf(world, document).length > 0) return amount
  const [payments, purchase] = [paymentsIn(event), purchaseIn(world, event)]
  const parts = payments.map((one) => ({ one, lost: lostOf(world, document, one, purchase) }))
  const [lost, all] =
    parts.length === 1
      ? parts[0]!.lost
      : [sum(parts.map(({ one, lost }) => part(one.amount, ...lost))), sum(payments.map((one) => one.amount))]
  if (lost === 0n) return part(amount, purchase.out, purchase.of)
  return part(amount, lost * purchase.of + (all - lost) * purchase.out, all * purchase.of)
}

/** What has to be asked before the IVA of an event is credited; nothing of what is excluded as a whole. */
export function questionsOf(world: World, event: CashEvent): string[] {
  const { document, refund, source } = event
  const [payments, { review }] = [paymentsIn(event), purchaseIn(world, event)]
  if (exclusionsOf(world, document).length > 0) return []
  if (payments.some((one) => isOutright(wrongsOf(world, document, one, one.day)))) return []
  const all = refund?.of ?? (source === 'pago' ? paymentsOf(world, document) : payments)
  return [
    ...(payments.some((one) => isInParts(world, document, one, one.day, all)) ? ['cash_in_parts'] : []),
    ...['vehicle_review', 'possible_travel', 'car_rental_review'].filter((reason) => review.includes(reason)),
    ...(payments.some((one) => isFormUnknown(document, one)) ? ['restaurant_form_unknown'] : []),
  ]
}
