import { conceptsOf } from '../oracle/analytics/concepts.ts'
import { efosOf } from '../oracle/analytics/efos.ts'
import { financingOf } from '../oracle/analytics/financing.ts'
import { fxOf } from '../oracle/analytics/fx.ts'
import { indicatorEntries, indicatorsOf } from '../oracle/analytics/indicators.ts'
import { vatPositionOf } from '../oracle/analytics/vat.ts'
import type {
  ConceptsAnswer,
  EfosAnswer,
  FinancingAnswer,
  FxAnswer,
  IndicatorsAnswer,
  ReportAnswer,
  VatAnswer,
} from '../oracle/analytics-shapes.ts'
import { concentrationOf } from '../oracle/drilldowns/concentration.ts'
import { deductionsOf } from '../oracle/drilldowns/deductions.ts'
import { riskOf } from '../oracle/drilldowns/risk.ts'
import { withholdingsOf } from '../oracle/drilldowns/withholdings.ts'
import { qualityOf } from '../oracle/quality.ts'
import type { ConcentrationAnswer, DeductionsAnswer, Direction, RiskAnswer, WithholdingsAnswer } from '../oracle/shapes.ts'
import { newTally, type Tally } from '../oracle/tally.ts'
import { lastDayOf, monthOf, type Range, type World } from '../oracle/world.ts'

/** The answer of each surface. */
interface Answers {
  '/cfdi/risk': RiskAnswer
  '/cfdi/withholdings': WithholdingsAnswer
  '/cfdi/deductions': DeductionsAnswer
  '/cfdi/concentration': ConcentrationAnswer
  '/analytics/concepts': ConceptsAnswer
  '/analytics/financing': FinancingAnswer
  '/analytics/vat-position': VatAnswer
  '/analytics/efos-exposure': EfosAnswer
  '/analytics/fx-exposure': FxAnswer
  '/analytics/risk': IndicatorsAnswer
  '/reports': ReportAnswer<object>
}

/** What an answer must have: members, rows (`data`), and the entries of its figures. */
export interface Expected {
  head: object
  rows: readonly object[]
  tally: Tally
}

/** A surface with a query to ask, and what the oracle gives for it. */
export interface Asked extends Expected {
  path: keyof Answers
  query: Record<string, string>
}

const cut = ({ from, to }: Range): Record<string, string> => ({ from, to })

/** Of a surface that reads no payments. */
const plainQuality = (world: World, range: Range, direction?: Direction) => ({
  data_quality: { ...qualityOf(world, range, direction).counts, unreconciled_payments: null, other_parties: null },
})

/** Every surface, asked about a range, or about its last day where the answer is of a day. */
export function surfacesOf(world: World, range: Range): Asked[] {
  const query = cut(range)
  const as_of = range.to < world.today ? range.to : world.today
  const months = { from: `${monthOf(range.from)}-01`, to: lastDayOf(monthOf(range.to)) }
  const sides = (['issued', 'received'] as const).flatMap((direction): Asked[] => {
    const [concentration, efos] = [concentrationOf(world, { ...range, direction }), efosOf(world, { ...range, direction, as_of })]
    const levels = (['segment', 'key', 'description'] as const).map((level): Asked => {
      const { header, rows, tally } = conceptsOf(world, { ...range, direction, level })
      return {
        path: '/analytics/concepts',
        query: { ...query, direction, level },
        head: { ...header, ...plainQuality(world, range, direction) },
        rows,
        tally,
      }
    })
    return [
      {
        ...{ path: '/cfdi/concentration', query: { ...query, direction }, rows: concentration.rows, tally: concentration.tally },
        head: { ...concentration.header, ...plainQuality(world, range, direction) },
      },
      { path: '/analytics/efos-exposure', query: { ...query, direction, as_of }, head: efos.header, rows: efos.rows, tally: efos.tally },
      ...levels,
    ]
  })
  const withholdings = withholdingsOf(world, range)
  const deductions = deductionsOf(world, months)
  const financing = financingOf(world, { as_of })
  const fx = fxOf(world, { ...range, as_of })
  const vat = vatPositionOf(world, months)
  return [
    { path: '/cfdi/risk', query, head: plainQuality(world, range), rows: riskOf(world, range), tally: newTally() },
    { path: '/cfdi/withholdings', query, head: { totals: withholdings.totals }, rows: withholdings.rows, tally: withholdings.tally },
    ...sides,
    {
      ...{ path: '/cfdi/deductions', query: { from: monthOf(range.from), to: monthOf(range.to) } },
      ...{ head: { totals: deductions.totals, cap_unknown: deductions.cap_unknown }, rows: deductions.rows, tally: deductions.tally },
    },
    {
      ...{ path: '/analytics/financing', query: { as_of }, rows: financing.rows, tally: financing.tally },
      head: financingHead(financing),
    },
    {
      path: '/analytics/fx-exposure',
      query: { ...query, as_of },
      head: fx.header,
      rows: fx.rows,
      tally: fx.tally,
    },
    {
      ...{ path: '/analytics/vat-position', query: { from: monthOf(range.from), to: monthOf(range.to) } },
      ...{ head: vat.head, rows: vat.rows, tally: vat.tally },
    },
    {
      path: '/analytics/risk',
      query,
      head: plainQuality(world, range),
      rows: indicatorsOf(world, range),
      tally: indicatorEntries(world, range),
    },
  ]
}

type Financing = ReturnType<typeof financingOf>
type Side = Financing['receivables']

/** What the answer says of both sides and of the pool. */
export const financingHead = ({ receivables, payables, pool }: Financing): object => ({
  receivables: sideOf(receivables, 'dso', 'expected_inflows'),
  payables: sideOf(payables, 'dpo', 'expected_outflows'),
  pool: { ...pool, ineligible: pool.ineligible.map(({ drilldown: _, ...one }) => one) },
})

/** The names that a side has in the answer. */
function sideOf(side: Side, days: string, expected: string): object {
  const { open: _, invoices: __, days_outstanding, expected: amounts, drilldown: ___, ...rest } = side
  return { ...rest, [days]: days_outstanding, [expected]: amounts }
}
