import * as z from 'zod'
import { Direction } from '../../cfdi/contract.ts'
import { Paging, pageOf } from '../../platform/http/shapes.ts'
import { requireFiscalEntity } from '../../taxpayers/contract.ts'
import { CounterpartyRfc, Drilldown, EntryMonth, Envelope, entriesOf, keyOfRow, Listed, money, percent, Range } from '../common/contract.ts'

const FIGURES = ['total', 'invoice_count'] as const

const own = {
  ...Range,
  direction: Direction.meta({ description: '`issued`: customers. `received`: suppliers.' }),
  include_generic: z
    .enum(['true', 'false'])
    .default('false')
    .meta({ description: 'Whether XAXX010101000 and XEXX010101000 take part in shares and in the index. They always have rows.' }),
}

/** The query of GET /v1/cfdi/concentration. */
export const ConcentrationQuery = z.strictObject({ ...own, ...Paging }).superRefine(requireFiscalEntity)
export type ConcentrationQuery = z.infer<typeof ConcentrationQuery>

export const ConcentrationEntriesQuery = z
  .strictObject({ ...own, ...entriesOf(FIGURES), rfc: CounterpartyRfc, month: EntryMonth })
  .superRefine(requireFiscalEntity)
  .superRefine(keyOfRow('rfc', FIGURES, 'optional'))
  .superRefine(keyOfRow('month', FIGURES, 'optional'))
export type ConcentrationEntriesQuery = z.infer<typeof ConcentrationEntriesQuery>

const ConcentrationRow = z
  .strictObject({
    rank: z.int().nullable().meta({ description: 'Null for who takes no part in shares: generic RFCs and totals of zero or less.' }),
    rfc: z.string(),
    name: z.string().nullable().meta({ description: 'On the newest document.' }),
    total: money,
    share: percent,
    cumulative_share: percent,
    invoice_count: z.int(),
    first_issued_at: z.string().nullable(),
    last_issued_at: z.string().nullable(),
    active_months: z.int().meta({ description: 'Months with an invoice.' }),
    trend_pct: percent,
    cancelled_rate: percent,
    blacklist: Listed.meta({ description: 'The most severe list on which the counterparty is today.' }),
    by_month: z.array(z.strictObject({ month: z.string(), total: money })),
    drilldown: Drilldown,
  })
  .meta({ id: 'ConcentrationRow' })
export type ConcentrationRow = z.infer<typeof ConcentrationRow>

const Header = {
  direction: Direction,
  total: money,
  concentration_total: money.meta({ description: 'The total of the rows with a rank, of which shares are parts.' }),
  counterparty_count: z.int(),
  hhi: z.int().nullable().meta({ description: 'Herfindahl-Hirschman index, 0 to 10000. Null without a row with a rank.' }),
  effective_n: z.string().nullable().meta({ description: '10000 ÷ hhi, with two places.' }),
  top1_share: percent,
  top3_share: percent,
  top5_share: percent,
  top10_share: percent,
  level: z.enum(['low', 'moderate', 'high']).nullable(),
  drilldown: Drilldown,
}

export const Concentration = z.strictObject({ ...Envelope, ...Header, ...pageOf(ConcentrationRow).shape }).meta({ id: 'Concentration' })
export type Concentration = z.infer<typeof Concentration>
