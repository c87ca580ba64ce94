import * as z from 'zod'
import type { App, Ctx } from '../../platform/context.ts'
import { Hono } from '../../platform/http/hono.ts'
import { operation, publicOperation, query, refuses, returns, upload } from '../../platform/http/operation.ts'
import { pageOf } from '../../platform/http/shapes.ts'
import { WHOLE } from '../../platform/paging/cursor.ts'
import { getBilling, getPlan, listPlans } from './billing.ts'
import { Billing, BillingPlan, BillingUsage, OfferedPlan } from './contract.ts'
import { Invoice, InvoiceQuery } from './invoices/contract.ts'
import { listInvoices } from './invoices/invoices.ts'
import { receiveStripeEvent } from './stripe/stripe-events.ts'
import type { Resume } from './subscription/subscription.ts'

const TAG = 'Billing'
const nothing = z.strictObject({})
const JSON_TYPE = ['application/json']
const MAX_EVENT = 1024 * 1024

/** `getUsage` counts what every domain uses of the plan; `resume` starts the work that follows when a payment ends a suspension. */
export const billingRoutes = (getUsage: (ctx: Ctx) => Promise<BillingUsage>, resume: Resume) =>
  new Hono<App>()
    .get(
      '/',
      operation('getBilling', TAG, 'Get the subscription status and the amount due'),
      query(nothing),
      returns(200, Billing),
      async (c) => c.json(await getBilling(c.var.ctx)),
    )
    .get(
      '/plan',
      operation('getBillingPlan', TAG, 'Get the plan with its limits, seats and prices'),
      query(nothing),
      returns(200, BillingPlan),
      async (c) => c.json(await getPlan(c.var.ctx)),
    )
    .get(
      '/plans',
      operation(
        'listBillingPlans',
        TAG,
        'List all plans with their prices',
        'Each plan comes with its seats, limits and prices, and with a link where your organization can buy what it can buy now.',
      ),
      query(nothing),
      returns(200, pageOf(OfferedPlan)),
      async (c) => c.json({ data: await listPlans(c.var.ctx), ...WHOLE }),
    )
    .get(
      '/usage',
      operation('getBillingUsage', TAG, 'Get the current usage of the plan', 'Lists every quota with what is used of it and its limit.'),
      query(nothing),
      returns(200, BillingUsage),
      async (c) => c.json(await getUsage(c.var.ctx)),
    )
    .get(
      '/invoices',
      operation(
        'listInvoices',
        TAG,
        'List the invoices, newest first',
        'Invoices are issued monthly in advance, for the plan and the RFCs that are active at that time. They are due on the day of issue.',
      ),
      query(InvoiceQuery),
      returns(200, pageOf(Invoice)),
      async (c) => c.json(await listInvoices(c.var.ctx, c.req.valid('query'))),
    )
    .post(
      '/stripe/webhook',
      publicOperation(
        'receiveStripeEvent',
        TAG,
        'Receive a Stripe event',
        'Stripe reports payments here and signs its requests with Stripe-Signature. An event that is sent more than once has one effect.',
      ),
      upload(JSON_TYPE, MAX_EVENT, 'A Stripe event.'),
      returns(200, z.strictObject({ received: z.literal(true) })),
      refuses(400, 'The signature is absent, wrong or older than 5 minutes, or the body is not a Stripe event.'),
      refuses(404, 'Stripe is not the payment provider.'),
      refuses(422, 'The body is empty.'),
      refuses(409, 'Other requests keep changing the billing of the organization.'),
      async (c) => c.json(await receiveStripeEvent(c.var.system, c.var.upload, c.req.header('stripe-signature'), resume)),
    )
