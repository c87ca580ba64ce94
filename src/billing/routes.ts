import { Hono } from 'hono'
import * as z from 'zod'
import type { App } from '../platform/context.ts'
import { operation, publicOperation, query, refuses, returns, upload } from '../platform/http/operation.ts'
import { pageOf } from '../platform/http/shapes.ts'
import { getBilling, getPlan, getUsage } from './billing.ts'
import { Billing, BillingPlan, BillingUsage } from './contract.ts'
import { Invoice, InvoiceQuery } from './invoices/contract.ts'
import { listInvoices } from './invoices/invoices.ts'
import { receiveStripeEvent } from './stripe/stripe-events.ts'

const TAG = 'Billing'
const nothing = z.strictObject({})
const JSON_TYPE = ['application/json']
const MAX_EVENT = 1024 * 1024

export const billingRoutes = new Hono<App>()
  .get(
    '/',
    operation('getBilling', TAG, 'Where the organization stands, and what it owes'),
    query(nothing),
    returns(200, Billing),
    async (c) => c.json(await getBilling(c.var.ctx)),
  )
  .get('/plan', operation('getBillingPlan', TAG, 'The plan: limits, seats, prices'), query(nothing), returns(200, BillingPlan), async (c) =>
    c.json(await getPlan(c.var.ctx)),
  )
  .get(
    '/usage',
    operation('getBillingUsage', TAG, 'What counts against the plan, now'),
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
      'Issued monthly in advance for the plan and the active RFCs; due on the day of issue.',
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
      'Where Stripe tells of payments',
      'Signed in Stripe-Signature. Only where Stripe is the payment provider. An event counts once.',
    ),
    upload(JSON_TYPE, MAX_EVENT, 'An event, as Stripe sends it.'),
    returns(200, z.strictObject({ received: z.literal(true) })),
    refuses(400, 'The signature is absent, wrong or older than 5 minutes, or the body is no event.'),
    refuses(404, 'Stripe is not the payment provider.'),
    refuses(422, 'The body is empty.'),
    refuses(409, 'Others keep changing what the organization owes at the same time.'),
    async (c) => c.json(await receiveStripeEvent(c.var.system, c.var.upload, c.req.header('stripe-signature'))),
  )
