import type { Financing } from '../../../api/routes.d.ts'
import { type Bar, Bars } from '../../../charts/bars.tsx'
import { count, decimal, money, month as monthName, NOTHING } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Figures, Panel } from '../../../parts/page.tsx'
import { Table } from '../../../parts/table.tsx'
import { Drill, pageOf, rate } from '../../insight/figures/drill.tsx'
import css from './financing.module.css'
import { words } from './words.ts'

type Receivables = Financing['receivables']
type Bucket = keyof Receivables['aging']
export const BUCKETS: readonly Bucket[] = ['current', 'd1_30', 'd31_60', 'd61_90', 'd90_plus']
const SERIES = { current: 'good', d1_30: 'wait', d31_60: 'wait', d61_90: 'bad', d90_plus: 'bad' } as const

/** Days of more than three digits say only that there are too many: hardly anything was sold, or what is owed is of years ago. */
export const days = (text: string | null): string => (text === null ? NOTHING : /^\d{4}/.test(text) ? '> 999' : decimal(text))

interface Props {
  name: string
  own: Financing['receivables'] | Financing['payables']
  /** How many days its sales or purchases stay open. */
  turnover: readonly [name: string, value: string | null]
  expected: readonly { month: string; amount: string }[]
  expectedName: string
  expectedKey: 'expected_inflows' | 'expected_outflows'
  /** The day of the figures. */
  asOf: string
}

export function Side({ name, own, turnover, expected, expectedName, expectedKey, asOf }: Props) {
  const t = useWords(words)
  const { drilldown } = own
  const bars = BUCKETS.map((bucket): Bar => {
    const to = pageOf(drilldown[`aging.${bucket}`])
    return {
      key: bucket,
      label: t.bucket[bucket],
      ...(to && { href: to }),
      says: `${t.bucket[bucket]}: ${money(own.aging[bucket])}`,
      parts: [{ series: SERIES[bucket], amount: own.aging[bucket] }],
    }
  })
  return (
    <Panel title={name} lead={t.due(count(own.due_sources.parsed), count(own.due_sources.default))}>
      <Figures
        figures={[
          { name: t.outstanding, value: <Drill to={drilldown['outstanding']} label={t.outstanding} text={money(own.outstanding)} /> },
          { name: t.overdue, value: <Drill to={drilldown['overdue']} label={t.overdue} text={money(own.overdue)} /> },
          { name: t.invoices, value: count(own.invoice_count) },
          { name: turnover[0], value: days(turnover[1]) },
          { name: t.days, value: days(own.weighted_days_to_pay) },
          { name: t.onTime, value: rate(own.on_time_rate) },
        ]}
      />
      <Bars label={t.agingOf(name)} bars={bars} />
      <div class={css.tables}>
        <Table<Bucket>
          label={t.agingOf(name)}
          rows={BUCKETS}
          keyOf={(bucket) => bucket}
          columns={[
            { name: t.aging, cell: (bucket) => t.bucket[bucket] },
            {
              name: t.amount,
              end: true,
              cell: (bucket) => <Drill to={drilldown[`aging.${bucket}`]} label={t.bucket[bucket]} text={money(own.aging[bucket])} />,
            },
          ]}
        />
        {expected.length > 0 && (
          <Table<{ month: string; amount: string }>
            label={`${t.expected}: ${name}`}
            rows={expected}
            keyOf={({ month }) => month}
            columns={[
              {
                name: t.month,
                cell: ({ month }) => (
                  <>
                    {monthName(month, 'long')}
                    {month === asOf.slice(0, 7) && own.overdue !== '0.00' && <small class={css.with}>{t.withOverdue}</small>}
                  </>
                ),
              },
              {
                name: expectedName,
                end: true,
                cell: ({ month, amount }) => (
                  <Drill to={drilldown[`${expectedKey}.${month}`]} label={monthName(month, 'long')} text={money(amount)} />
                ),
              },
            ]}
          />
        )}
      </div>
    </Panel>
  )
}
