import { useState } from 'preact/hooks'
import { type Bar, Bars } from '../../../charts/bars.tsx'
import { money, month as monthName } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Panel } from '../../../parts/page.tsx'
import { Table } from '../../../parts/table.tsx'
import { Drill, pageOf } from './drill.tsx'
import css from './figures.module.css'
import { useShown } from './state.tsx'
import { words } from './words.ts'

export interface Course {
  key: string
  name: string
  months: readonly { month: string; amount: string; to: string | undefined }[]
}

/** What one row was month by month: one is chosen of those that the page shows. */
export function ByMonth({ of, which, series }: { of: readonly Course[]; which: string; series: 'issued' | 'received' }) {
  const t = useWords(words)
  const shown = useShown()
  const [chosen, choose] = useState<string | null>(null)
  const one = of.find(({ key }) => key === chosen) ?? of[0]
  if (!one) return null
  const bars = one.months.map(({ month, amount, to }): Bar => {
    const href = pageOf(to)
    return {
      key: month,
      label: monthName(month),
      ...(href && { href }),
      says: `${monthName(month, 'long')}: ${shown(money(amount), month, series)}`,
      parts: [{ series, amount }],
    }
  })
  return (
    <Panel
      title={t.byMonth}
      lead={one.name}
      actions={
        <select class={css.pick} aria-label={which} value={one.key} onChange={({ currentTarget }) => choose(currentTarget.value)}>
          {of.map(({ key, name }) => (
            <option key={key} value={key}>
              {name}
            </option>
          ))}
        </select>
      }
    >
      <Bars label={`${t.byMonth}: ${one.name}`} bars={bars} />
      <details>
        <summary>{t.exact}</summary>
        <Table<Course['months'][number]>
          label={`${t.byMonth}: ${one.name}`}
          rows={one.months}
          keyOf={({ month }) => month}
          columns={[
            { name: t.month, by: ({ month }) => month, cell: ({ month }) => monthName(month, 'long') },
            {
              name: t.amount,
              end: true,
              by: ({ amount }) => amount,
              cell: ({ month, amount, to }) => (
                <Drill to={to} label={monthName(month, 'long')} text={shown(money(amount), month, series)} />
              ),
            },
          ]}
        />
      </details>
    </Panel>
  )
}
