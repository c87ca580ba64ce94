import * as z from 'zod'
import { doc } from '#doc'
import { AsOf } from '../../cfdi/contract.ts'
import { requireFiscalEntity } from '../../taxpayers/contract.ts'
import { Drilldown, Envelope, entriesOf, money, percent, Range, UNMATCHED } from '../common/contract.ts'

const own = { ...Range, as_of: AsOf }

/** The query of GET /v1/analytics/fx-exposure. */
export const FxQuery = z.strictObject(own).superRefine(requireFiscalEntity)
export type FxQuery = z.infer<typeof FxQuery>

export const FIGURES = [
  ...(['issued_amount', 'received_amount', 'open_receivable', 'open_payable', 'booked_mxn', 'realized_gain_loss'] as const),
  ...UNMATCHED,
] as const

export const FxEntriesQuery = z
  .strictObject({
    ...own,
    ...entriesOf(FIGURES),
    currency: z
      .string()
      .regex(/^[A-Z]{3}$/, 'Must be three letters.')
      .optional()
      .meta({ description: doc('Only the documents in this currency.') }),
  })
  .superRefine(requireFiscalEntity)
export type FxEntriesQuery = z.infer<typeof FxEntriesQuery>

const own_currency = z.string().meta({ description: doc('Decimal with two places, in the currency of the row.') })
const text = z.string().nullable()

const FxRow = z
  .strictObject({
    currency: z.string(),
    issued_amount: own_currency,
    received_amount: own_currency,
    share_of_sales: percent,
    share_of_purchases: percent,
    open_receivable: own_currency,
    open_payable: own_currency,
    net_open: own_currency,
    booked_mxn: money.meta({ description: doc('What is open at the exchange rates of the invoices.') }),
    current_rate: text.meta({ description: doc('MXN for one unit on the day. Null when no rate is loaded.') }),
    rate_date: text,
    rate_source: text,
    current_mxn: money.nullable(),
    unrealized_gain_loss: money.nullable(),
    realized_gain_loss: money,
    sensitivity: z
      .strictObject({ plus_1pct: money, plus_5pct: money, plus_10pct: money })
      .nullable()
      .meta({ description: doc('What current_mxn gains when the currency rises.') }),
    drilldown: Drilldown,
  })
  .meta({ id: 'FxExposureRow' })
export type FxRow = z.infer<typeof FxRow>

export const FxExposure = z
  .strictObject({
    ...Envelope,
    missing_rates: z.array(z.string()).meta({ description: doc('The currencies of the rows without a rate of the day.') }),
    data: z.array(FxRow),
  })
  .meta({ id: 'FxExposure' })
export type FxExposure = z.infer<typeof FxExposure>
