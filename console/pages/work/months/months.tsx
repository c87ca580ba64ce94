import { Link } from 'wouter-preact'
import type { CfdiMonth, CfdiMonthlySummary } from '../../../api/routes.d.ts'
import { type Bar, Bars, Keys } from '../../../charts/bars.tsx'
import { count, day, instant, money, month as monthName } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Badge, type Tone } from '../../../parts/badge.tsx'
import { Loaded } from '../../../parts/loaded.tsx'
import { Facts, Panel } from '../../../parts/page.tsx'
import { Empty } from '../../../parts/states.tsx'
import { Switch } from '../../../parts/switch.tsx'
import { Table } from '../../../parts/table.tsx'
import { useZone } from '../../../session.ts'
import { Drill, isDownloaded, pageOf, unlessUnknown } from '../../insight/figures/drill.tsx'
import { useWhole } from '../../insight/figures/read.ts'
import { type At, Surface } from '../../insight/figures/surface.tsx'
import { monthExportOf } from '../cfdi/month-export.ts'
import css from './months.module.css'
import { type Amount, type Count, searchOf } from './search.ts'
import { words } from './words.ts'

const PATH = '/v1/cfdi/summary/monthly'
const DATA: Record<CfdiMonth['data_status'], Tone> = { complete: 'good', downloading: 'going', missing: 'bad', imported: 'wait' }

/** A figure of a month as it is shown. */
const shown = (text: string, { data_status }: CfdiMonth): string => unlessUnknown(text, isDownloaded(data_status))

const isCut = ({ is_partial, data_status }: CfdiMonth): boolean => is_partial || data_status !== 'complete'

/** A bar of both directions leads to both of them: the same documents without the direction. */
function hrefOf(rows: readonly CfdiMonth[]): string {
  const [path, query] = pageOf(rows[0]!.drilldown)!.split('?') as [string, string]
  if (rows.length === 1) return `${path}?${query}`
  const params = new URLSearchParams(query)
  params.delete('direction')
  return `${path}?${params}`
}

function Chart({ data }: { data: readonly CfdiMonth[] }) {
  const t = useWords(words)
  const names = [...new Set(data.map(({ month }) => month))].sort()
  const bars = names.map((name): Bar => {
    const rows = data.filter(({ month }) => month === name)
    const says = rows.map((row) =>
      [t[row.direction], shown(money(row.net), row), row.is_partial && row.through_date && t.cutSays(day(row.through_date))]
        .filter(Boolean)
        .join(' '),
    )
    return {
      key: name,
      label: monthName(name),
      href: hrefOf(rows),
      says: t.says(monthName(name, 'long'), says.join('; ')),
      parts: rows.map((row) => ({ series: row.direction, amount: row.net, isCut: isCut(row) })),
    }
  })
  const directions = (['issued', 'received'] as const).filter((one) => data.some(({ direction }) => direction === one))
  return (
    <Panel title={t.chartTitle} lead={t.chartLead}>
      <Bars label={t.chart} bars={bars} />
      <Keys keys={directions.map((series) => ({ series, name: t[series] }))} />
      {data.some(isCut) && <p class={css.soft}>{t.cut}</p>}
    </Panel>
  )
}

function Figures({ summary, fiscal_entity_id }: { summary: CfdiMonthlySummary; fiscal_entity_id: string }) {
  const t = useWords(words)
  const zone = useZone()
  const labelOf = (name: string, { month, direction }: CfdiMonth) => `${name}, ${monthName(month)}, ${t[direction]}`
  const amount = (figure: Amount, name: string) => ({
    ...{ name, end: true, by: (row: CfdiMonth) => row[figure] },
    cell: (row: CfdiMonth) => <Drill to={searchOf(figure, row)} label={labelOf(name, row)} text={shown(money(row[figure]), row)} />,
  })
  const counted = (figure: Count, name: string) => ({
    ...{ name, end: true, by: (row: CfdiMonth) => row[figure] },
    cell: (row: CfdiMonth) => <Drill to={searchOf(figure, row)} label={labelOf(name, row)} text={shown(count(row[figure]), row)} />,
  })
  const rows = [...summary.data].sort((one, other) => other.month.localeCompare(one.month) || one.direction.localeCompare(other.direction))
  return (
    <Panel flush title={t.table} lead={t.asOf(instant(summary.as_of, zone))}>
      <Table<CfdiMonth>
        label={t.table}
        rows={rows}
        keyOf={({ month, direction }) => month + direction}
        columns={[
          {
            name: t.month,
            by: ({ month }) => month,
            cell: ({ month, direction, drilldown }) => (
              <span class={css.month}>
                <a href={pageOf(drilldown)} aria-label={t.documents(monthName(month), t[direction])}>
                  {monthName(month)}
                </a>
                <small>{t[direction]}</small>
              </span>
            ),
          },
          {
            name: t.data,
            cell: ({ data_status, is_partial, through_date }) => (
              <span class={css.badges}>
                <Badge tone={DATA[data_status]}>{t.state[data_status]}</Badge>
                {is_partial && <Badge tone="wait">{through_date ? t.partialTo(day(through_date)) : t.partial}</Badge>}
              </span>
            ),
          },
          {
            name: t.exports,
            cell: ({ month, direction }) => (
              <Link href={monthExportOf(fiscal_entity_id, month, direction)} aria-label={t.exportOf(monthName(month), t[direction])}>
                {t.exports}
              </Link>
            ),
          },
          amount('net', t.net),
          amount('total', t.total),
          counted('count', t.count),
          counted('cancelled_count', t.cancelled),
          amount('subtotal', t.subtotal),
          amount('descuento', t.discount),
          amount('credit_notes', t.credit),
          amount('iva_trasladado', t.iva),
          amount('iva_retenido', t.ivaWithheld),
          amount('isr_retenido', t.isr),
          amount('pue_total', t.pue),
          amount('ppd_total', t.ppd),
        ]}
      />
    </Panel>
  )
}

function Summary({ own, entity }: At) {
  const t = useWords(words)
  const summary = useWhole<CfdiMonthlySummary>(PATH, own)
  return (
    <Loaded query={summary} rows={6}>
      {(read) =>
        read.data.length === 0 ? (
          <Empty title={t.none} lead={t.noneLead} />
        ) : (
          <>
            <Chart data={read.data} />
            <Figures summary={read} fiscal_entity_id={entity.fiscal_entity_id} />
            <Panel title={t.basis}>
              <Facts facts={Object.entries(read.basis).map(([key, text]) => [t.basisKeys[key] ?? key, t.basisText[key] ?? text])} />
            </Panel>
          </>
        )
      }
    </Loaded>
  )
}

export default function Months() {
  const t = useWords(words)
  return (
    <Surface
      title={t.title}
      lead={t.lead}
      path={PATH}
      names={['from', 'to', 'direction']}
      controls={({ said, change }) => (
        <Switch
          label={t.show}
          value={said('direction')}
          choices={[
            ['', t.both],
            ['issued', t.issued],
            ['received', t.received],
          ]}
          choose={(direction) => change({ direction })}
        />
      )}
    >
      {(at) => <Summary {...at} />}
    </Surface>
  )
}
