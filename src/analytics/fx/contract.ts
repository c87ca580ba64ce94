import * as z from 'zod'
import { AsOf } from '../../cfdi/contract.ts'
import { pageOf } from '../../platform/http/shapes.ts'
import { requireFiscalEntity } from '../../taxpayers/contract.ts'
import { Drilldown, Envelope, entriesOf, keyOfRow, money, percent, Range, UNMATCHED } from '../common/contract.ts'

const own = { ...Range, as_of: AsOf }

/** The query of GET /v1/analytics/fx-exposure. */
export const FxQuery = z.strictObject(own).superRefine(requireFiscalEntity)
export type FxQuery = z.infer<typeof FxQuery>

/** Totals of all currencies, with MXN. */
export const TOTALS = ['total_sales', 'total_purchases'] as const
export const ROW_FIGURES = [
  ...([
    'issued_amount',
    'received_amount',
    'issued_mxn',
    'received_mxn',
    'open_receivable',
    'open_payable',
    'booked_mxn',
    'realized_gain_loss',
  ] as const),
] as const
export const FIGURES = [...ROW_FIGURES, ...TOTALS, ...UNMATCHED] as const

export const FxEntriesQuery = z
  .strictObject({
    ...own,
    ...entriesOf(FIGURES),
    currency: z.string().min(1).optional().meta({
      description: 'Only the documents in this currency: Moneda as the document states it, which is no code of c_Moneda in some.',
    }),
  })
  .superRefine(requireFiscalEntity)
  .superRefine(keyOfRow('currency', ROW_FIGURES, 'required'))
export type FxEntriesQuery = z.infer<typeof FxEntriesQuery>

const own_currency = z.string().meta({ description: 'Decimal with two places, in the currency of the row.' })
const text = z.string().nullable()

const FxRow = z
  .strictObject({
    currency: z.string(),
    issued_amount: own_currency,
    received_amount: own_currency,
    issued_mxn: money.meta({ description: 'issued_amount in MXN at the rates of the documents: the part of total_sales.' }),
    received_mxn: money.meta({ description: 'received_amount in MXN: the part of total_purchases.' }),
    share_of_sales: percent,
    share_of_purchases: percent,
    open_receivable: own_currency,
    open_payable: own_currency,
    net_open: own_currency,
    booked_mxn: money.meta({ description: 'What is open at the exchange rates of the invoices.' }),
    current_rate: text.meta({ description: 'MXN for one unit on the day. Null when no rate is loaded.' }),
    rate_date: text,
    rate_source: text,
    current_mxn: money.nullable(),
    unrealized_gain_loss: money.nullable(),
    realized_gain_loss: money,
    sensitivity: z
      .strictObject({ plus_1pct: money, plus_5pct: money, plus_10pct: money })
      .nullable()
      .meta({ description: 'What current_mxn gains when the currency rises.' }),
    drilldown: Drilldown,
  })
  .meta({ id: 'FxExposureRow' })
export type FxRow = z.infer<typeof FxRow>

export const FxExposure = z
  .strictObject({
    ...Envelope,
    total_sales: money.meta({ description: 'Net sales in all currencies, MXN among them: what share_of_sales is a share of.' }),
    total_purchases: money.meta({ description: 'Net purchases in all currencies: what share_of_purchases is a share of.' }),
    drilldown: Drilldown,
    missing_rates: z.array(z.string()).meta({ description: 'The currencies of the rows without a rate of the day.' }),
    ...pageOf(FxRow).shape,
  })
  .meta({ id: 'FxExposure' })
export type FxExposure = z.infer<typeof FxExposure>
