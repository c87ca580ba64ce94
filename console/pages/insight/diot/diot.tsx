import { useInfiniteQuery } from '@tanstack/preact-query'
import { useState } from 'preact/hooks'
import { answer, api } from '../../../api/client.ts'
import { PAGE } from '../../../api/queries.ts'
import type { DiotCheck, DiotTie } from '../../../api/routes.d.ts'
import { count, decimal, money, month as monthName } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Badge } from '../../../parts/badge.tsx'
import { Loaded } from '../../../parts/loaded.tsx'
import { More } from '../../../parts/more.tsx'
import { Figures, Panel } from '../../../parts/page.tsx'
import { Empty } from '../../../parts/states.tsx'
import { Table } from '../../../parts/table.tsx'
import { Basis } from '../figures/basis.tsx'
import { Drill } from '../figures/drill.tsx'
import css from '../figures/figures.module.css'
import { preceding } from '../figures/months.ts'
import { type Asked, Surface } from '../figures/surface.tsx'
import { Lines } from './lines.tsx'
import { Settings, SupplierDialog } from './settings.tsx'
import { words } from './words.ts'

/** Whether the month is complete, and the file to take away. */
function Head({ check }: { check: DiotCheck }) {
  const t = useWords(words)
  const { fiscal_entity_id, month, incomplete, line_count, proportion, file_name } = check
  const isWhole = incomplete.length === 0
  const query = new URLSearchParams({ fiscal_entity_id, month, ...(!isWhole && { incomplete: 'allow' }) })
  return (
    <Panel
      title={monthName(month, 'long')}
      lead={<Badge tone={isWhole ? 'good' : 'bad'}>{isWhole ? t.complete : t.incomplete}</Badge>}
      actions={
        line_count > 0 && (
          <a href={`/v1/reports/diot/file?${query}`} download={file_name}>
            {isWhole ? t.download : t.downloadAnyway}
          </a>
        )
      }
    >
      <Figures
        figures={[
          { name: t.lineCount, value: count(line_count) },
          { name: t.proportion, value: decimal(proportion.value), note: t.source[proportion.source] },
        ]}
      />
      {!isWhole && (
        <ul>
          {incomplete.map(({ month: one, direction, data_status }) => (
            <li key={direction}>{t.incompleteOf(monthName(one, 'long'), t.direction[direction], t.status[data_status])}</li>
          ))}
        </ul>
      )}
    </Panel>
  )
}

function Findings({ findings }: Pick<DiotCheck, 'findings'>) {
  const t = useWords(words)
  return (
    <Panel title={t.findings}>
      <ul>
        {findings.map(({ code, amount, drilldown }) => (
          <li key={code} title={code}>
            {t.fileFindings[code]} {amount && <Drill to={drilldown ?? undefined} label={t.fileFindings[code]} text={money(amount)} />}
          </li>
        ))}
      </ul>
    </Panel>
  )
}

function Ties({ ties }: Pick<DiotCheck, 'ties'>) {
  const t = useWords(words)
  return (
    <Panel title={t.ties} lead={t.tiesLead} flush>
      <Table<DiotTie>
        label={t.ties}
        rows={ties}
        keyOf={({ figure }) => figure}
        columns={[
          { name: t.figure, cell: ({ figure }) => t.figures[figure] ?? figure },
          { name: t.position, end: true, cell: ({ vat_position }) => money(vat_position) },
          { name: t.file, end: true, cell: ({ file }) => money(file) },
          { name: t.rounding, end: true, cell: ({ rounding }) => money(rounding) },
          {
            name: t.leftOut,
            end: true,
            cell: ({ figure, left_out, drilldown }) => (
              <Drill to={drilldown ?? undefined} label={`${t.leftOut}, ${t.figures[figure] ?? figure}`} text={money(left_out)} />
            ),
          },
          { name: t.state, cell: ({ is_tied }) => <Badge tone={is_tied ? 'good' : 'wait'}>{is_tied ? t.tied : t.untied}</Badge> },
        ]}
      />
    </Panel>
  )
}

function Checked({ fiscal_entity_id, month }: { fiscal_entity_id: string; month: string }) {
  const t = useWords(words)
  const [supplier, choose] = useState<string | null>(null)
  const list = useInfiniteQuery({
    queryKey: ['diot', fiscal_entity_id, month],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor }) =>
      answer(api.GET('/v1/reports/diot/check', { params: { query: { fiscal_entity_id, month, limit: PAGE, ...(cursor && { cursor }) } } })),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  })
  return (
    <>
      <Loaded query={list} rows={8}>
        {({ pages }) => {
          const [first] = pages as [DiotCheck, ...DiotCheck[]]
          const lines = pages.flatMap((page) => page.data)
          return (
            <>
              <Head check={first} />
              <Findings findings={first.findings} />
              {lines.length === 0 ? (
                <Empty title={t.none} lead={t.noneLead} />
              ) : (
                <>
                  <Lines lines={lines} list={list} change={choose} />
                  <div class={css.bar}>
                    <More list={list} />
                  </div>
                  <Ties ties={first.ties} />
                </>
              )}
              <Settings fiscal_entity_id={fiscal_entity_id} change={choose} />
              <Basis of={first} labels={t.formulas} />
            </>
          )
        }}
      </Loaded>
      {supplier !== null && <SupplierDialog fiscal_entity_id={fiscal_entity_id} rfc={supplier} close={() => choose(null)} />}
    </>
  )
}

export default function DiotPage() {
  const t = useWords(words)
  const last = preceding(new Date().toISOString().slice(0, 7))
  const controls = ({ own, change }: Asked) => (
    <label>
      {t.month}
      <input
        type="month"
        min="2025-01"
        value={own['month'] ?? ''}
        onChange={({ currentTarget: { value } }) => value !== '' && change({ month: value })}
      />
    </label>
  )
  return (
    <Surface title={t.title} lead={t.lead} path="/v1/reports/diot/check" names={['month']} otherwise={{ month: last }} controls={controls}>
      {({ entity: { fiscal_entity_id }, own }) => (
        <Checked key={fiscal_entity_id} fiscal_entity_id={fiscal_entity_id} month={own['month'] ?? last} />
      )}
    </Surface>
  )
}
