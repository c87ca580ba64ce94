import * as z from 'zod'
import { isUniqueViolation } from '../db/commit.ts'
import type { System } from '../env.ts'
import { Failure, notFound } from '../failures.ts'
import { payInvoice } from './invoices.ts'
import { planOf, TRIAL_PLAN } from './plans.ts'
import { FIRST_PLAN } from './provider.ts'
import { findPaidInvoice, insertEvent } from './provider-store.ts'
import type { Terms } from './standing.ts'
import type { StripeSecrets } from './stripe-api.ts'
import { isSigned } from './stripe-signature.ts'
import { actingFor, changeTerms } from './suspension.ts'
import { findTerms } from './terms-store.ts'

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
      metadata: z.record(z.string(), z.string()).nullish(),
    }),
  }),
})
type Event = z.infer<typeof Event>

/**
 * Takes an event that Stripe signed: a paid invoice is paid here, a paid checkout grants the seat or plan that it was for, each once
 * however often it is told. Other events are taken and ignored. 404 where Stripe is not the provider; 400 for a signature that is
 * wrong or older than five minutes, or a body that is no event.
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

async function settleInvoice(system: System, event: Event): Promise<void> {
  const { id, metadata } = event.data.object
  const invoice = await findPaidInvoice(system.db, id, metadata?.['invoice_id'])
  if (!invoice) return
  const ctx = await actingFor(system, invoice.organization_id, 'stripe')
  await payInvoice(ctx, invoice.invoice_id, 'invoice.paid', [recordOf(system, event)])
}

/** A plan for whoever is on the trial, with all its seats; a seat more for whoever has a plan. */
const granted = ({ plan, rfc_allowance }: Terms) => {
  if (plan === TRIAL_PLAN) {
    const isMore = rfc_allowance !== null && rfc_allowance > planOf(FIRST_PLAN).rfcs!
    return { plan: FIRST_PLAN, ...(isMore ? {} : { rfc_allowance: null }) }
  }
  const seats = rfc_allowance ?? planOf(plan).rfcs
  return seats === null ? {} : { rfc_allowance: seats + 1 }
}

async function grant(system: System, event: Event): Promise<void> {
  const organization_id = event.data.object.metadata?.['organization_id']
  if (organization_id === undefined || !(await findTerms(system.db, organization_id))) return
  const ctx = await actingFor(system, organization_id, 'stripe')
  await changeTerms(ctx, { action: 'billing.checkout_paid', resource_id: organization_id, changed: ['plan', 'rfc_allowance'] }, granted, [
    recordOf(system, event),
  ])
}
