import type { VatMonth } from '../../../api/routes.d.ts'
import { type Bar, Bars, Keys } from '../../../charts/bars.tsx'
import { money, month as monthName, NOTHING, unsigned } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Badge } from '../../../parts/badge.tsx'
import { Panel } from '../../../parts/page.tsx'
import { Table } from '../../../parts/table.tsx'
import { Drill } from '../figures/drill.tsx'
import { amountOf } from './beside.tsx'
import { isReal, Status } from './month.tsx'
import css from './vat.module.css'
import { words } from './words.ts'

const SERIES = { a_cargo: 'received', a_favor: 'issued' } as const

/** The page with a month, at the same range. */
function hrefOf(period: string): string {
  const params = new URLSearchParams(location.search)
  params.set('period', period)
  return `/console/analytics/vat-position?${params}`
}

/** The balance of every month of the range. A month leads to the way to its balance. */
export function Months({ rows, chosen }: { rows: readonly VatMonth[]; chosen: string }) {
  const t = useWords(words)
  const bars = rows.map((row): Bar => {
    const { period, saldo, resultado } = row
    return {
      key: period,
      label: monthName(period),
      href: hrefOf(period),
      says: resultado
        ? t.says(monthName(period, 'long'), t[resultado], money(resultado === 'a_favor' ? unsigned(saldo) : saldo))
        : `${monthName(period, 'long')}: ${t.noData}`,
      parts: [{ series: SERIES[resultado ?? 'a_cargo'], amount: saldo, isCut: !isReal(row) }],
    }
  })
  return (
    <>
      <Panel title={t.months} lead={t.monthsLead}>
        <Bars label={t.chart} bars={bars} />
        <Keys keys={(['a_cargo', 'a_favor'] as const).map((one) => ({ series: SERIES[one], name: t[one] }))} />
        {rows.some((row) => !isReal(row)) && <p class={css.soft}>{t.cut}</p>}
      </Panel>
      <Panel flush title={t.table} lead={t.tableLead}>
        <Table<VatMonth>
          label={t.table}
          rows={rows.toReversed()}
          keyOf={({ period }) => period}
          columns={[
            {
              name: t.month,
              by: ({ period }) => period,
              cell: ({ period }) => (
                <a href={hrefOf(period)} class={css.month} aria-current={period === chosen ? 'true' : undefined}>
                  {monthName(period)}
                </a>
              ),
            },
            { name: t.balance, end: true, by: ({ saldo }) => saldo, cell: ({ saldo }) => <b>{money(saldo)}</b> },
            {
              name: t.result,
              cell: ({ resultado }) =>
                resultado ? <Badge tone={resultado === 'a_cargo' ? 'wait' : 'good'}>{t[resultado]}</Badge> : NOTHING,
            },
            ...(['cobrado', 'pagado'] as const).map((side) => ({
              name: side === 'cobrado' ? t.collected : t.paid,
              end: true,
              cell: (row: VatMonth) => (
                <Drill
                  to={row.drilldown[`${side}.iva_16`]}
                  label={`${t.step[`${side}.iva_16`]}, ${monthName(row.period)}`}
                  text={amountOf(row[side].iva_16, row, side)}
                />
              ),
            })),
            { name: t.creditable, end: true, by: ({ acreditable }) => acreditable, cell: ({ acreditable }) => money(acreditable) },
            { name: t.difference, end: true, by: ({ diferencia }) => diferencia, cell: ({ diferencia }) => money(diferencia) },
            { name: t.data, cell: (row) => <Status row={row} isShort /> },
          ]}
        />
      </Panel>
    </>
  )
}
