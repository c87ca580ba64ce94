import * as z from 'zod'
import { pageOf } from '../../platform/http/shapes.ts'
import { requireFiscalEntity } from '../../taxpayers/contract.ts'
import { Drilldown, Envelope, entriesOf, Range } from '../common/contract.ts'

const INDICATORS = [
  ...(['tax_compliance', 'blacklist_status', 'blacklisted_counterparties', 'intercompany_share', 'customer_concentration'] as const),
  ...(['supplier_concentration', 'foreign_exchange_share', 'cash_share', 'cancelled_issued_rate', 'cancelled_received_rate'] as const),
  ...(['ppd_overdue_share', 'repse_at_risk_share'] as const),
]
export type IndicatorKey = (typeof INDICATORS)[number]

/** The indicators whose documents are listed as entries. */
export const LISTED = [
  'blacklisted_counterparties',
  'intercompany_share',
  'foreign_exchange_share',
  'cash_share',
  'repse_at_risk_share',
] as const

/** The query of GET /v1/analytics/risk. */
export const IndicatorsQuery = z.strictObject(Range).superRefine(requireFiscalEntity)
export type IndicatorsQuery = z.infer<typeof IndicatorsQuery>

export const IndicatorEntriesQuery = z.strictObject({ ...Range, ...entriesOf(LISTED) }).superRefine(requireFiscalEntity)
export type IndicatorEntriesQuery = z.infer<typeof IndicatorEntriesQuery>

const Indicator = z
  .strictObject({
    key: z.enum(INDICATORS),
    value: z.union([z.string(), z.int()]).nullable().meta({
      description: 'Shares and rates in percent with two places; counts and indexes are integers. Null when it is not defined.',
    }),
    threshold: z.union([z.string(), z.int()]).meta({ description: 'In the unit of the value.' }),
    risky: z.boolean().meta({ description: 'Whether the value exceeds the threshold.' }),
    sample_size: z.int().meta({ description: 'How many documents or taxpayers it rests on.' }),
    formula: z.string(),
    drilldown: Drilldown.meta({
      description:
        'What the value is made of: the documents of the numerator of a share, those with blacklisted counterparties, or the answer that has the figure.',
    }),
  })
  .meta({ id: 'RiskIndicator' })
export type Indicator = z.infer<typeof Indicator>

export const Indicators = z.strictObject({ ...Envelope, ...pageOf(Indicator).shape }).meta({ id: 'RiskIndicators' })
export type Indicators = z.infer<typeof Indicators>
