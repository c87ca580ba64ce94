import type { WithholdingTotals } from '../../../api/routes.d.ts'
import { type Bar, Bars, Keys } from '../../../charts/bars.tsx'
import { count, money, month as monthName } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Panel } from '../../../parts/page.tsx'
import { Table } from '../../../parts/table.tsx'
import { Drill } from '../figures/drill.tsx'
import css from '../figures/figures.module.css'
import { useShown } from '../figures/state.tsx'
import { words } from './words.ts'

const FIGURES = ['isr_por_enterar', 'iva_por_enterar', 'isr_a_favor', 'iva_a_favor', 'missing_amount'] as const

/** What is to be paid to the authority, and what is in favour, of each month. */
export function Totals({ rows, fiscal_entity_id }: { rows: readonly WithholdingTotals[]; fiscal_entity_id: string }) {
  const t = useWords(words)
  const shown = useShown()
  const bars = rows.map(({ period, isr_por_enterar, iva_por_enterar }): Bar => {
    const query = new URLSearchParams({ fiscal_entity_id, from: period, to: period, role: 'withheld_by_us' })
    return {
      key: period,
      label: monthName(period),
      href: `/console/cfdi/withholdings?${query}`,
      says: t.says(monthName(period, 'long'), shown(money(isr_por_enterar), period), shown(money(iva_por_enterar), period)),
      parts: [
        { series: 'issued', amount: isr_por_enterar },
        { series: 'received', amount: iva_por_enterar },
      ],
    }
  })
  return (
    <>
      <Panel title={t.months} lead={t.monthsLead}>
        <Bars label={t.chart} bars={bars} />
        <Keys
          keys={[
            { series: 'issued', name: t.figure.isr_por_enterar },
            { series: 'received', name: t.figure.iva_por_enterar },
          ]}
        />
      </Panel>
      <Panel flush>
        <Table<WithholdingTotals>
          label={t.months}
          rows={rows.toReversed()}
          keyOf={({ period }) => period}
          columns={[
            { name: t.month, by: ({ period }) => period, cell: ({ period }) => <span class={css.nowrap}>{monthName(period)}</span> },
            ...FIGURES.map((figure) => ({
              name: t.figure[figure],
              end: true,
              by: (row: WithholdingTotals) => row[figure],
              cell: (row: WithholdingTotals) => (
                <Drill
                  to={row.drilldown[figure]}
                  label={`${t.figure[figure]}, ${monthName(row.period)}`}
                  text={shown(money(row[figure]), row.period)}
                />
              ),
            })),
            {
              name: t.missingCount,
              end: true,
              cell: ({ period, missing_count, drilldown }) => (
                <Drill
                  to={drilldown['missing_count']}
                  label={`${t.missingCount}, ${monthName(period)}`}
                  text={shown(count(missing_count), period)}
                />
              ),
            },
          ]}
        />
      </Panel>
    </>
  )
}
