import { useQuery } from '@tanstack/preact-query'
import { useEffect, useRef } from 'preact/hooks'
import type { VatMonth } from '../../../api/routes.d.ts'
import { useWords } from '../../../language.ts'
import { Loaded } from '../../../parts/loaded.tsx'
import { Empty, Skeleton } from '../../../parts/states.tsx'
import { monthExportOf } from '../../work/cfdi/month-export.ts'
import { Basis } from '../figures/basis.tsx'
import { State } from '../figures/state.tsx'
import { type At, Surface } from '../figures/surface.tsx'
import { Beside, Rates } from './beside.tsx'
import { Month } from './month.tsx'
import { Months } from './months.tsx'
import { readVat } from './read.ts'
import { words } from './words.ts'

/** The month to look at first: the last one that is over, which is the next to be filed. */
const firstOf = (rows: readonly VatMonth[]): VatMonth | undefined =>
  rows.findLast(({ is_partial, saldo }) => !is_partial && saldo !== null) ?? rows.findLast(({ saldo }) => saldo !== null) ?? rows.at(-1)

function Position({ at: { entity, own, said, change } }: { at: At }) {
  const t = useWords(words)
  const { fiscal_entity_id } = entity
  const range = useQuery({ queryKey: ['vat', own], queryFn: () => readVat({ ...own, fiscal_entity_id }) })
  const rows = range.data?.data ?? []
  const period = said('period') || firstOf(rows)?.period || ''
  const rowOf = (month: string, all = rows) => all.find((one) => one.period === month)
  // The address may name a month outside the range.
  const isOutside = range.data !== undefined && period !== '' && !rowOf(period)
  const single = { fiscal_entity_id, period }
  const outside = useQuery({ queryKey: ['vat', single], queryFn: () => readVat(single), enabled: isOutside })
  const head = useRef<HTMLDivElement>(null)
  const previous = useRef(period)
  useEffect(() => {
    if (previous.current && period !== previous.current) head.current?.scrollIntoView({ block: 'center' })
    previous.current = period
  }, [period])
  return (
    <Loaded query={range} rows={8}>
      {(position) => {
        const row = rowOf(period) ?? rowOf(period, outside.data?.data)
        if (rows.length === 0) return <Empty title={t.none} lead={t.noneLead} />
        return (
          <>
            <State of={position} />
            <div ref={head}>
              {row ? (
                <Month
                  entity={fiscal_entity_id}
                  row={row}
                  periods={rows.map((one) => one.period)}
                  choose={(month) => change({ period: month })}
                  formulas={position.basis.formulas}
                  exportHref={monthExportOf(entity.fiscal_entity_id, period)}
                />
              ) : (
                <Loaded query={outside}>{() => <Skeleton />}</Loaded>
              )}
            </div>
            {row && (
              <>
                <Rates row={row} />
                <Beside row={row} />
              </>
            )}
            <Months rows={rows} chosen={period} />
            <Basis of={position} labels={t.formulas} members={t.members} />
          </>
        )
      }}
    </Loaded>
  )
}

export default function VatPage() {
  const t = useWords(words)
  return (
    <Surface title={t.title} lead={t.lead} path="/v1/analytics/vat-position" names={['from', 'to']}>
      {(at) => <Position key={at.entity.fiscal_entity_id} at={at} />}
    </Surface>
  )
}
