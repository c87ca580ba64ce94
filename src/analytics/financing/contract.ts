import * as z from 'zod'
import { AsOf } from '../../cfdi/contract.ts'
import { Month } from '../../cfdi/summary/contract.ts'
import { Paging, pageOf } from '../../platform/http/shapes.ts'
import { ofFiscalEntity, requireFiscalEntity } from '../../taxpayers/contract.ts'
import { CounterpartyRfc, Drilldown, Envelope, entriesOf, keyOfRow, Listed, money, percent, UNMATCHED } from '../common/contract.ts'

const part = (description: string) =>
  z
    .string()
    .regex(/^(0(\.\d{1,6})?|1(\.0{1,6})?)$/, 'Must be a decimal from 0 to 1.')
    .optional()
    .meta({ documented: { type: 'string', description } })

const own = {
  ...ofFiscalEntity,
  as_of: AsOf,
  advance_rate: part('The part of an invoice that a lender advances. The rule financing.advance_rate by default.'),
  max_age_days: z
    .string()
    .regex(/^\d{1,4}$/, 'Must be an integer from 0 to 9999.')
    .transform(Number)
    .optional()
    .meta({
      documented: {
        type: 'integer',
        description: 'The greatest age of an invoice in the pool, in days. The rule financing.max_age_days by default.',
      },
    }),
  debtor_cap: part('The greatest part of the pool that one debtor may have. The rule financing.debtor_cap by default.'),
}

/** The query of GET /v1/analytics/financing. */
export const FinancingQuery = z.strictObject({ ...own, ...Paging }).superRefine(requireFiscalEntity)
export type FinancingQuery = z.infer<typeof FinancingQuery>

export const BUCKETS = ['current', 'd1_30', 'd31_60', 'd61_90', 'd90_plus'] as const
/** Why an invoice is not in the pool. The first reason that applies is given. */
export const INELIGIBLE = [
  ...([
    'too_old',
    'overdue_30',
    'cancellation_in_process',
    'generic_debtor',
    'intercompany',
    'blacklisted',
    'balance_mismatch',
    'missing_rate',
  ] as const),
]
export const SIDES = ['receivables', 'payables'] as const
export const SIDE_FIGURES = ['outstanding', 'overdue', 'expected', ...BUCKETS.map((name) => `aging.${name}` as const)] as const

export const FIGURES = [
  ...UNMATCHED,
  ...SIDES.flatMap((side) => SIDE_FIGURES.map((figure) => `${side}.${figure}` as const)),
  ...(['eligible_amount', ...INELIGIBLE] as const).map((figure) => `pool.${figure}` as const),
] as const

export const FinancingEntriesQuery = z
  .strictObject({
    ...own,
    ...entriesOf(FIGURES as unknown as readonly ['unreconciled_payments', ...(typeof FIGURES)[number][]]),
    rfc: CounterpartyRfc,
    month: Month.optional().meta({ description: 'The month of `receivables.expected` or `payables.expected`.' }),
  })
  .superRefine(requireFiscalEntity)
  .superRefine(keyOfRow('rfc', FIGURES.slice(UNMATCHED.length), 'optional'))
  .superRefine(keyOfRow('month', ['receivables.expected', 'payables.expected'], 'optional'))
export type FinancingEntriesQuery = z.infer<typeof FinancingEntriesQuery>

const Aging = z.strictObject(Object.fromEntries(BUCKETS.map((name) => [name, money])) as Record<(typeof BUCKETS)[number], typeof money>)
const days = z.string().nullable().meta({ description: 'Days with two places. Null when it is not defined.' })
const Expected = z.array(z.strictObject({ month: z.string(), amount: money }))

const paid = { weighted_days_to_pay: days, on_time_rate: percent }
const side = {
  outstanding: money,
  overdue: money,
  invoice_count: z.int(),
  aging: Aging,
  ...paid,
  due_sources: z
    .strictObject({ parsed: z.int(), default: z.int() })
    .meta({ description: 'How many invoices state when they are due (CondicionesDePago), and how many do not.' }),
  drilldown: Drilldown,
}
const inMonth = 'Balances by the month in which they are due; what is overdue is in the month of `as_of`.'

const Receivables = z
  .strictObject({ ...side, dso: days, expected_inflows: Expected.meta({ description: inMonth }) })
  .meta({ id: 'Receivables' })
const Payables = z.strictObject({ ...side, dpo: days, expected_outflows: Expected.meta({ description: inMonth }) }).meta({ id: 'Payables' })

const rate = z.string().meta({ description: 'Decimal with six places.' })
const Pool = z
  .strictObject({
    eligible_amount: money,
    eligible_count: z.int(),
    ineligible: z.array(z.strictObject({ reason: z.enum(INELIGIBLE), count: z.int(), amount: money, drilldown: Drilldown })),
    advance_rate: rate,
    max_age_days: z.int(),
    debtor_cap: rate,
    haircut: money.meta({ description: 'What the debtors’ caps take away.' }),
    fundable: money,
    drilldown: Drilldown,
  })
  .meta({ id: 'FactoringPool', description: 'The issued invoices that could be sold or lent upon.' })

const Debtor = z
  .strictObject({
    rfc: z.string(),
    name: z.string().nullable().meta({ description: 'On the newest open invoice.' }),
    outstanding: money,
    overdue: money,
    invoice_count: z.int(),
    aging: Aging,
    oldest_due_date: z.string(),
    ...paid,
    eligible_amount: money,
    capped_amount: money,
    blacklist: Listed.meta({ description: 'The most severe list on which the debtor was on the day.' }),
    drilldown: Drilldown,
  })
  .meta({ id: 'Debtor' })
export type Debtor = z.infer<typeof Debtor>

export const Financing = z
  .strictObject({ ...Envelope, receivables: Receivables, payables: Payables, pool: Pool, ...pageOf(Debtor).shape })
  .meta({ id: 'Financing' })
export type Financing = z.infer<typeof Financing>
