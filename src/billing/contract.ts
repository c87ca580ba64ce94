import * as z from 'zod'
import { PLAN_KEYS } from '../plans/plans.ts'
import { Instant } from '../platform/http/shapes.ts'
import { Amount } from './invoices/contract.ts'
import { BILLING_STATES } from './subscription/status.ts'

const Limit = z.int().nullable().meta({ description: 'Null is without limit.' })
const TrialEnd = Instant.nullable().meta({ description: 'The trial ends with the seventh local day, the first being that of the sign-up.' })

export const Billing = z
  .strictObject({
    state: z.enum(BILLING_STATES).meta({
      description:
        'past_due: an invoice is past its day and within its grace. suspended: beyond it, connections pause. diagnostic_expired: the trial is over, connections pause.',
    }),
    plan: z.enum(PLAN_KEYS),
    seats: z.strictObject({
      allowance: Limit,
      used: z.int().meta({ description: 'RFCs that are active or have an invalid CIEC. Drafts and suspended ones take no seat.' }),
    }),
    trial_ends_at: TrialEnd,
    open_invoices: z.int(),
    amount_due: Amount,
    currency: z.string(),
    grace_until: Instant.nullable().meta({
      description: 'When the grace of the oldest open invoice ends: three local days after it was due.',
    }),
  })
  .meta({ id: 'Billing' })
export type Billing = z.infer<typeof Billing>

export const BillingPlan = z
  .strictObject({
    plan: z.enum(PLAN_KEYS),
    name: z.string(),
    limits: z.strictObject({ extractors: Limit, rfcs: Limit.meta({ description: 'Of the plan; rfc_allowance is what counts.' }) }),
    seats_included: Limit.meta({ description: 'Of the plan; the organization may have been granted more.' }),
    rfc_allowance: Limit.meta({
      description: 'Seats that the organization has: the plan’s, or those that it was granted. Null is without limit.',
    }),
    trial_ends_at: TrialEnd,
    prices: z.strictObject({ rule_ref: z.string(), currency: z.string(), month: Amount, rfc: Amount }).nullable().meta({
      description: 'Before tax: a month of the plan, and of each RFC that is active when it is invoiced. Null when it costs nothing.',
    }),
  })
  .meta({ id: 'BillingPlan' })
export type BillingPlan = z.infer<typeof BillingPlan>

export const BillingUsage = z
  .strictObject({
    period: z.string().meta({ description: 'The local month that it is.', examples: ['2026-05'] }),
    active_rfcs: z.int(),
    seats: z.strictObject({ used: z.int(), limit: Limit }),
    extractors: z.strictObject({ used: z.int(), limit: Limit }),
  })
  .meta({ id: 'BillingUsage' })
export type BillingUsage = z.infer<typeof BillingUsage>
