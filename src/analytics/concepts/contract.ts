import * as z from 'zod'
import { Direction } from '../../cfdi/contract.ts'
import { Paging, pageOf } from '../../platform/http/shapes.ts'
import { requireFiscalEntity } from '../../taxpayers/contract.ts'
import { Drilldown, EntryMonth, Envelope, entriesOf, keyOfRow, money, percent, Range } from '../common/contract.ts'

export const LEVELS = ['segment', 'family', 'class', 'key', 'description'] as const
export type ConceptLevel = (typeof LEVELS)[number]

const ROW_FIGURES = ['amount', 'invoice_count'] as const

const own = {
  ...Range,
  direction: Direction.default('received').meta({ description: '`received`: what was bought. `issued`: what was sold.' }),
  level: z.enum(LEVELS).default('key').meta({
    description:
      'The first 2, 4, 6 or all 8 digits of ClaveProdServ, or the text of Descripcion without differences of case and white space.',
  }),
  terceros: z
    .enum(['include', 'exclude'])
    .default('include')
    .meta({
      description:
        '`exclude` leaves out lines on behalf of third parties (ACuentaTerceros), such as the sales of the principals of an agent. Then the ' +
        'lines are read, as for descriptions.',
    }),
}

/** The query of GET /v1/analytics/concepts. */
export const ConceptsQuery = z.strictObject({ ...own, ...Paging }).superRefine(requireFiscalEntity)
export type ConceptsQuery = z.infer<typeof ConceptsQuery>

export const ConceptsEntriesQuery = z
  .strictObject({
    ...own,
    ...entriesOf(['total', ...ROW_FIGURES, 'unclassified_amount', 'outliers']),
    key: z
      .string()
      .max(1_000)
      .optional()
      .meta({ description: 'The `key` of a row, of the figures `amount` and `invoice_count`. Empty for the row without one.' }),
    month: EntryMonth,
  })
  .superRefine(requireFiscalEntity)
  .superRefine(keyOfRow('key', ROW_FIGURES, 'required'))
  // Whether a price is an outlier depends on the lines of the whole range.
  .superRefine(keyOfRow('month', ['total', ...ROW_FIGURES, 'unclassified_amount'], 'optional'))
export type ConceptsEntriesQuery = z.infer<typeof ConceptsEntriesQuery>

const lineFigure = money.nullable()

const ConceptRow = z
  .strictObject({
    key: z.string().nullable().meta({ description: 'Null for lines without a ClaveProdServ of eight digits, or without a description.' }),
    label: z.string().nullable(),
    amount: money,
    share: percent,
    quantity: z.string().nullable().meta({ description: 'With six places; of credit notes negative.' }),
    unit: z.string().nullable().meta({ description: 'ClaveUnidad, when all lines have the same.' }),
    avg_unit_price: lineFigure,
    min_unit_price: lineFigure,
    max_unit_price: lineFigure,
    price_change_pct: percent,
    invoice_count: z.int(),
    counterparty_count: z.int(),
    top_counterparty: z.strictObject({ rfc: z.string(), nombre: z.string().nullable(), amount: money }).nullable(),
    iva_mix: z
      .strictObject({ '16': money, '8': money, '0': money, exento: money, otras: money, no_objeto: money, sin_traslado: money })
      .nullable()
      .meta({
        description:
          'The amount by the rate of IVA of the lines; `no_objeto` is ObjetoImp 01, `sin_traslado` is subject (02 to 08) without a transfer of IVA.',
      }),
    outlier_count: z.int().nullable(),
    by_month: z.array(z.strictObject({ month: z.string(), amount: money })),
    drilldown: Drilldown,
  })
  .meta({ id: 'ConceptRow' })
export type ConceptRow = z.infer<typeof ConceptRow>

export const Concepts = z
  .strictObject({
    ...Envelope,
    direction: Direction,
    level: z.enum(LEVELS),
    has_line_figures: z.boolean().meta({
      description:
        'False when the range has too many documents (5,000) or lines (50,000) to be read: then quantity, unit, prices, iva_mix, line_count, third_party_amount ' +
        'and outlier_count are null. Ask for fewer months to get them.',
    }),
    total: money,
    third_party_amount: money
      .nullable()
      .meta({ description: 'What of the lines is on behalf of third parties, in `total` or left out of it.' }),
    line_count: z.int().nullable(),
    unclassified_amount: money.meta({ description: 'Of ClaveProdServ that say the product is in no catalog.' }),
    unclassified_share: percent,
    outlier_count: z.int().nullable(),
    drilldown: Drilldown,
    ...pageOf(ConceptRow).shape,
  })
  .meta({ id: 'Concepts' })
export type Concepts = z.infer<typeof Concepts>
