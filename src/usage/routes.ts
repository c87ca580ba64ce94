import * as z from 'zod'
import { doc } from '#doc'
import { BillingUsage } from '../billing/contract.ts'
import type { App } from '../platform/context.ts'
import { Hono } from '../platform/http/hono.ts'
import { operation, query, returns } from '../platform/http/operation.ts'
import { getUsage } from './usage.ts'

/** What counts against the plan lies in many domains, some of which depend on billing. */
export const usageRoutes = new Hono<App>().get(
  '/usage',
  operation(
    'getBillingUsage',
    'Billing',
    doc('Get the current usage of the plan'),
    doc('Lists every quota with what is used of it and its limit.'),
  ),
  query(z.strictObject({})),
  returns(200, BillingUsage),
  async (c) => c.json(await getUsage(c.var.ctx)),
)
