import * as z from 'zod'
import { change } from '../../../platform/audit/audit.ts'
import { joined } from '../../../platform/bytes/bytes.ts'
import type { System } from '../../../platform/context.ts'
import type { Statement } from '../../../platform/db/commit.ts'
import { isUniqueViolation } from '../../../platform/db/guard.ts'
import { Failure } from '../../../platform/failures.ts'
import { log } from '../../../platform/log.ts'
import { actingFor } from '../../organization/organization.ts'
import { payInvoice } from '../invoices/invoices.ts'
import type { InvoiceRow } from '../invoices/store.ts'
import { findInvoiceAtProvider } from '../invoices/store.ts'
import { assertPaymentUnrecorded, insertProviderEvent, isPaymentRecorded, type ProviderEventRow } from '../provider/store.ts'
import { centavosOf } from '../subscription/prices.ts'
import { changesOfPurchase } from '../subscription/status.ts'
import { findSubscription } from '../subscription/store.ts'
import type { Resume } from '../subscription/subscription.ts'
import { changeSubscription } from '../subscription/subscription.ts'

const TOLERANCE_MS = 5 * 60_000
const utf8 = new TextEncoder()

/** The time, as text because the text is signed, and the signatures of a header; null when it has none. */
function parseHeader(header: string) {
  const parts = header.split(',').map((part) => part.trim().split('=', 2) as [string, string?])
  const timestamp = parts.find(([name]) => name === 't')?.[1] ?? ''
  const signatures = parts.flatMap(([name, value = '']) => (name === 'v1' && /^[0-9a-f]{64}$/.test(value) ? [value] : []))
  return /^\d{1,12}$/.test(timestamp) && signatures.length > 0 ? { timestamp, signatures } : null
}

/**
 * Whether a body was signed with this secret within 5 minutes of now. The header is `Stripe-Signature: t={seconds},v1={hex}`, where v1 is
 * the HMAC-SHA256 of `{t}.{body}`. While a secret is rolled, the header has a v1 for each secret, and one valid v1 is enough.
 */
export async function isSigned(body: Uint8Array, header: string | undefined, secret: string, now: Date): Promise<boolean> {
  const parsed = header === undefined || header.length > 2_000 ? null : parseHeader(header)
  if (!parsed || Math.abs(now.getTime() - Number(parsed.timestamp) * 1_000) > TOLERANCE_MS) return false
  const key = await crypto.subtle.importKey('raw', utf8.encode(secret), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
  const prefix = utf8.encode(`${parsed.timestamp}.`)
  // Once, however many signatures a stranger sends.
  const right = await crypto.subtle.sign('HMAC', key, joined([prefix, body]))
  return parsed.signatures.some((hex) => crypto.subtle.timingSafeEqual(Uint8Array.fromHex(hex), right))
}

const StripeEvent = z.object({
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
type StripeEvent = z.infer<typeof StripeEvent>

/**
 * Takes an event that Stripe signed: a paid invoice becomes paid here, and a paid checkout grants its seat or plan, each once however often
 * Stripe sends the event. A payment that fits nothing here is recorded and logged. Other events are ignored. Throws Failure 404 when Stripe
 * is not the payment provider, and 400 when the signature is wrong or older than 5 minutes, or when the body is not an event.
 */
export async function receiveStripeEvent(
  system: System,
  body: Uint8Array,
  signature: string | undefined,
  resume: Resume,
): Promise<{ received: true }> {
  const { settings } = system
  if (settings.billingProvider !== 'stripe')
    throw new Failure(
      'not_found',
      'webhook.not_found',
      'Stripe is not the payment provider of this deployment, so it takes no events of it.',
    )
  if (!(await isSigned(body, signature, settings.stripeWebhookSecret, new Date())))
    throw new Failure('malformed', 'billing.signature', 'The signature of the event is absent, wrong or older than 5 minutes.')
  try {
    await apply(system, parseEvent(body), resume)
  } catch (error) {
    // A concurrent delivery recorded it.
    if (!isUniqueViolation(error)) throw error
  }
  return { received: true }
}

function parseEvent(body: Uint8Array): StripeEvent {
  try {
    return StripeEvent.parse(JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(body)))
  } catch {
    throw new Failure('malformed', 'billing.event', 'The body is not a Stripe event.')
  }
}

async function apply(system: System, event: StripeEvent, resume: Resume): Promise<void> {
  const { type, data } = event
  if (type === 'invoice.paid') return applyPaidInvoice(system, event, resume)
  const isCheckout = type === 'checkout.session.completed' || type === 'checkout.session.async_payment_succeeded'
  if (isCheckout && data.object.payment_status === 'paid') await applyPaidCheckout(system, event, resume)
}

const rowOf = ({ now }: System, { id, type, data }: StripeEvent): ProviderEventRow => ({
  event_id: id,
  type,
  subject: data.object.id,
  created_at: now,
})

const recordedOnce = ({ db }: System, row: ProviderEventRow): Statement[] => [assertPaymentUnrecorded(row), insertProviderEvent(db, row)]

const matches = ({ currency, total }: InvoiceRow, paid: StripeEvent['data']['object']): boolean =>
  paid.currency === currency.toLowerCase() && paid.total === Number(centavosOf(total))

async function applyPaidInvoice(system: System, event: StripeEvent, resume: Resume): Promise<void> {
  const { object } = event.data
  const named = object.metadata?.['invoice_id']
  const invoice = await findInvoiceAtProvider(system.db, object.id, named)
  if (!invoice) {
    // Invoices of other businesses in the same Stripe account do not name one of ours.
    if (named !== undefined)
      log.error(system, 'An invoice was paid at Stripe that does not exist here.', { invoice_id: named, stripe_invoice: object.id })
    return
  }
  const { organization_id, invoice_id } = invoice
  const isExact = matches(invoice, object)
  const row = rowOf(system, event)
  const ctx = await actingFor(system, organization_id, 'stripe')
  if (isExact && (await payInvoice(ctx, invoice_id, resume, 'invoice.paid', recordedOnce(system, row)))) return
  if (await isPaymentRecorded(system.db, object.id)) return
  const message = isExact
    ? 'An invoice was paid at Stripe that is not open here.'
    : 'An invoice was paid at Stripe with another total or currency.'
  // Logged before it is recorded, so that a crash between the two repeats the line and never loses it.
  log.error(system, message, { organization_id, invoice_id, stripe_invoice: object.id })
  await insertProviderEvent(system.db, row)
}

async function applyPaidCheckout(system: System, event: StripeEvent, resume: Resume): Promise<void> {
  const { id, metadata } = event.data.object
  const organization_id = metadata?.['organization_id']
  if (!metadata || organization_id === undefined) return
  if (!(await findSubscription(system.db, organization_id)))
    return log.error(system, 'A checkout was paid for an organization that does not exist here.', { organization_id, checkout: id })
  const row = rowOf(system, event)
  const ctx = await actingFor(system, organization_id, 'stripe')
  const what = { action: 'billing.checkout_paid', resource_id: organization_id, changed: ['plan', 'rfc_allowance'] }
  const purchase = { item: metadata['sold'], plan: metadata['plan'] }
  if (await changeSubscription(ctx, what, (stored) => changesOfPurchase(purchase, stored, system.now), resume, recordedOnce(system, row)))
    return
  if (await isPaymentRecorded(system.db, id)) return
  log.error(system, 'A paid checkout grants nothing. Refund it.', { organization_id, checkout: id })
  await change(ctx, { action: 'billing.checkout_unmatched', resource_id: organization_id }, [insertProviderEvent(system.db, row)])
}
