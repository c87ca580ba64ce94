import * as z from 'zod'
import { Failure, notFound } from '../../failures.ts'
import { actingFor } from '../../identity/organization/acting.ts'
import { change } from '../../platform/audit/audit.ts'
import type { System } from '../../platform/context.ts'
import { isUniqueViolation } from '../../platform/db/guard.ts'
import type { InvoiceRow } from '../invoices/invoice-store.ts'
import { payInvoice } from '../invoices/invoices.ts'
import { findPaidInvoice, insertEvent, isKnown } from '../provider-store.ts'
import { granted } from '../subscription/offers.ts'
import { centavosOf } from '../subscription/prices.ts'
import { findSubscription } from '../subscription/subscription-store.ts'
import { changeSubscription } from '../subscription/suspension.ts'
import type { StripeSecrets } from './stripe-api.ts'
import { isSigned } from './stripe-signature.ts'

const Event = z.object({
  id: z.string().min(1).max(255),
  type: z.string(),
  data: z.object({
    object: z.object({
      id: z
        .string()
        .max(255)
        .nullish()
        .transform((id) => id ?? ''),
      payment_status: z.string().nullish(),
      currency: z.unknown().optional(),
      total: z.unknown().optional(),
      metadata: z.record(z.string(), z.string()).nullish(),
    }),
  }),
})
type Event = z.infer<typeof Event>

/**
 * Takes an event that Stripe signed: a paid invoice is paid here, a paid checkout grants the seat or plan that it was for, each once
 * however often it is told; what was paid for nothing is recorded and logged. Other events are taken and ignored. 404 where Stripe is
 * not the provider; 400 for a signature that is wrong or older than five minutes, or a body that is no event.
 */
export async function receiveStripeEvent(system: System, body: Uint8Array, signature: string | undefined): Promise<{ received: true }> {
  const { env, now } = system
  if ((env.BILLING_PROVIDER as string) !== 'stripe') throw notFound('webhook')
  const secret = (env as StripeSecrets).STRIPE_WEBHOOK_SECRET
  if (!secret) throw new Error('BILLING_PROVIDER is stripe, which needs the secret STRIPE_WEBHOOK_SECRET.')
  if (!(await isSigned(body, signature, secret, now)))
    throw new Failure('malformed', 'billing.signature', 'The signature of the event is absent, wrong or older than 5 minutes.')
  try {
    await takeIn(system, eventOf(body))
  } catch (error) {
    // Told before.
    if (!isUniqueViolation(error)) throw error
  }
  return { received: true }
}

function eventOf(body: Uint8Array): Event {
  try {
    return Event.parse(JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(body)))
  } catch {
    throw new Failure('malformed', 'billing.event', 'The body is not an event.')
  }
}

async function takeIn(system: System, event: Event): Promise<void> {
  const { type, data } = event
  if (type === 'invoice.paid') return settleInvoice(system, event)
  const isCheckout = type === 'checkout.session.completed' || type === 'checkout.session.async_payment_succeeded'
  if (isCheckout && data.object.payment_status === 'paid') await grant(system, event)
}

const recordOf = ({ db, now }: System, { id, type, data }: Event) =>
  insertEvent(db, { event_id: id, type, subject: data.object.id, created_at: now })

/** For an operator: money came that nothing here was changed for. */
const complain = ({ requestId }: System, message: string, about: Record<string, string>): void =>
  console.error(JSON.stringify({ level: 'error', request_id: requestId, message, ...about }))

const isOf = ({ currency, total }: InvoiceRow, paid: Event['data']['object']): boolean =>
  paid.currency === currency.toLowerCase() && paid.total === Number(centavosOf(total))

async function settleInvoice(system: System, event: Event): Promise<void> {
  const { object } = event.data
  const named = object.metadata?.['invoice_id']
  const invoice = await findPaidInvoice(system.db, object.id, named)
  if (!invoice) {
    // What Stripe sells for others beside us names nothing of ours.
    if (named !== undefined)
      complain(system, 'An invoice was paid at Stripe that is not here.', { invoice_id: named, stripe_invoice: object.id })
    return
  }
  const { organization_id, invoice_id } = invoice
  const isRight = isOf(invoice, object)
  const ctx = await actingFor(system, organization_id, 'stripe')
  if (isRight && (await payInvoice(ctx, invoice_id, 'invoice.paid', [recordOf(system, event)]))) return
  if (await isKnown(system.db, object.id)) return
  const what = isRight
    ? 'An invoice was paid at Stripe that is not open here.'
    : 'An invoice was paid at Stripe with another total or currency.'
  // Before it is recorded: rather twice than not at all.
  complain(system, what, { organization_id, invoice_id, stripe_invoice: object.id })
  await recordOf(system, event)
}

async function grant(system: System, event: Event): Promise<void> {
  const { id, metadata } = event.data.object
  const organization_id = metadata?.['organization_id']
  if (!metadata || organization_id === undefined) return
  if (!(await findSubscription(system.db, organization_id)))
    return complain(system, 'A checkout was paid for an organization that is not here.', { organization_id, checkout: id })
  const ctx = await actingFor(system, organization_id, 'stripe')
  const paid = { action: 'billing.checkout_paid', resource_id: organization_id, changed: ['plan', 'rfc_allowance'] }
  if (await changeSubscription(ctx, paid, (read) => granted(metadata, read, system.now), [recordOf(system, event)])) return
  if (await isKnown(system.db, id)) return
  complain(system, 'A paid checkout grants nothing: refund it.', { organization_id, checkout: id })
  await change(ctx, { action: 'billing.checkout_unmatched', resource_id: organization_id }, [recordOf(system, event)])
}
