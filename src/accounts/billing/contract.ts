import * as z from 'zod'
import { Instant } from '../../platform/http/shapes.ts'
import { PLAN_KEYS } from '../plans/plans.ts'
import { QUOTAS, type Quota, UNITS } from '../plans/quotas.ts'
import { Amount } from './invoices/contract.ts'
import { BILLING_STATES } from './subscription/status.ts'

const Limit = z.int().nullable().meta({ description: 'Null when there is no limit.' })
const TrialEnd = Instant.nullable().meta({
  description:
    'The trial lasts seven calendar days in the organization’s time zone, the day of the sign-up included, and covers the first RFC that ' +
    'is connected in it. Null without a trial: an e-mail address has one, which the first organization that connects an RFC uses.',
})

export const Billing = z
  .strictObject({
    state: z.enum(BILLING_STATES).meta({
      description:
        '`past_due`: an invoice was not paid on its due day and is in its grace period. `suspended`: the grace period has ended, and ' +
        'connections are paused. `diagnostic_expired`: the trial has ended and connections are paused, or another organization used ' +
        'the trial of the e-mail address.',
    }),
    plan: z.enum(PLAN_KEYS),
    seats: z.strictObject({
      allowance: Limit,
      used: z.int().meta({ description: 'RFCs that are active or have no valid CIEC or e.firma. Drafts and paused RFCs take no seat.' }),
    }),
    trial_ends_at: TrialEnd,
    open_invoices: z.int(),
    amount_due: Amount,
    currency: z.string(),
    grace_until: Instant.nullable().meta({
      description:
        'The end of the grace period of the oldest open invoice: the first moment of the third calendar day after its due day. Null when ' +
        'no invoice is open.',
    }),
  })
  .meta({ id: 'Billing' })
export type Billing = z.infer<typeof Billing>

const QUOTA_DESCRIPTIONS: Record<Quota, string> = {
  extractors: 'Extractors, disabled ones included.',
  webhooks: 'Webhook endpoints, disabled ones included.',
  storage_connectors: 'Storage connectors, paused ones included.',
  exports: 'Exports that are being made, or whose content is kept.',
  blacklists: 'Blacklists of your own.',
  blacklist_entries: 'RFCs on all blacklists of your own.',
  drafts: 'Connections without a CIEC or e.firma, paused ones included.',
  credentials: 'Credentials that are not revoked. Members need one each.',
  invitations: 'Invitations that are pending and have not expired.',
  import_bytes_per_day:
    'Bytes that imports added today, deleted ones included: of an upload as it was sent, and what is stored beyond that.',
  import_bytes:
    'Bytes that are stored of all imports that are not deleted: XML, rows and what they are found by. An upload counts until it is processed.',
  import_documents_per_day: 'Documents that imports added today, deleted ones included.',
  import_documents: 'Documents that are stored because an import brought them. One that several imports brought counts once.',
}

/** The same shape for each quota, with its description. */
const eachQuota = <S extends z.ZodType>(shape: S) =>
  Object.fromEntries(QUOTAS.map((quota) => [quota, shape.meta({ description: QUOTA_DESCRIPTIONS[quota] })])) as Record<Quota, S>

const Prices = z
  .strictObject({
    rule_ref: z.string().meta({ description: 'Reference of the price list.' }),
    currency: z.string(),
    month: Amount.meta({ description: 'A month of the plan, before tax.' }),
    rfc: Amount.meta({ description: 'A month of each RFC that is active when the invoice is issued, before tax.' }),
  })
  .nullable()
  .meta({ description: 'Null when the plan is free.' })

export const OfferedPlan = z
  .strictObject({
    plan: z.enum(PLAN_KEYS),
    name: z.string(),
    is_current: z.boolean().meta({ description: 'Whether the organization has this plan.' }),
    seats_included: Limit.meta({ description: 'Seats in the plan. Null when there is no limit.' }),
    limits: z.strictObject(eachQuota(Limit)).meta({ description: 'The quotas of the plan. Null when there is no limit.' }),
    prices: Prices,
    checkout: z
      .strictObject({
        item: z.enum(['plan', 'seat']).meta({
          description: '`plan`: the current month of the plan with one RFC. `seat`: one more seat of your plan, for a month.',
        }),
        total: Amount.meta({ description: 'What the checkout asks for, tax included.' }),
        currency: z.string(),
        url: z.string().meta({ description: 'Where it can be bought. A link is good for the day.' }),
      })
      .nullable()
      .meta({
        description:
          'What you can buy now. On the trial, each plan that is not free; later, one more seat of your own plan while it has a limit. Null ' +
          'otherwise, or while the payment provider does not answer.',
      }),
  })
  .meta({ id: 'OfferedPlan' })
export type OfferedPlan = z.infer<typeof OfferedPlan>

export const BillingPlan = z
  .strictObject({
    plan: z.enum(PLAN_KEYS),
    name: z.string(),
    limits: z.strictObject({
      extractors: Limit,
      rfcs: Limit.meta({
        description: 'Number of RFCs in the plan; `rfc_allowance` is the number that applies. Null when there is no limit.',
      }),
    }),
    seats_included: Limit.meta({
      description: 'Seats in the plan. More may have been granted to the organization. Null when there is no limit.',
    }),
    rfc_allowance: Limit.meta({
      description: 'Seats of the organization: those of the plan, or those that were granted. Null when there is no limit.',
    }),
    trial_ends_at: TrialEnd,
    prices: Prices,
  })
  .meta({ id: 'BillingPlan' })
export type BillingPlan = z.infer<typeof BillingPlan>

export const QuotaUsage = z
  .strictObject({
    used: z.int(),
    limit: Limit,
    unit: z.enum(UNITS),
    resets_at: Instant.nullable().meta({
      description: 'When a daily quota begins anew: the first moment of the next day in the organization’s time zone. Null otherwise.',
    }),
  })
  .meta({ id: 'QuotaUsage' })
export type QuotaUsage = z.infer<typeof QuotaUsage>

export const BillingUsage = z
  .strictObject({
    period: z.string().meta({ description: 'The current month in the organization’s time zone.', examples: ['2026-05'] }),
    active_rfcs: z.int(),
    seats: z.strictObject({ used: z.int(), limit: Limit }),
    extractors: z.strictObject({ used: z.int(), limit: Limit }),
    rule_ref: z.string().meta({ description: 'Reference of the list of limits.' }),
    kept_answers: QuotaUsage.meta({
      description:
        'Bytes of the answers that were kept today under an Idempotency-Key, compressed and encrypted. It is the same on every plan, and ' +
        'nothing is refused because of it: once it is used, requests are carried out as before, and a repetition gets 409 `idempotency.done` ' +
        'with the status and the resource instead of the answer. [Limits](/docs/limits) has the details.',
    }),
    quotas: z
      .strictObject(eachQuota(QuotaUsage))
      .meta({ description: 'What counts against each limit of the plan. What would exceed one is refused with 409.' }),
  })
  .meta({ id: 'BillingUsage' })
export type BillingUsage = z.infer<typeof BillingUsage>
