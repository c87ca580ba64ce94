import type { ConceptRow, Concepts } from '../../../api/routes.d.ts'
import { type Bar, Bars } from '../../../charts/bars.tsx'
import { count, decimal, money, NOTHING } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Badge } from '../../../parts/badge.tsx'
import { Loaded } from '../../../parts/loaded.tsx'
import { type Endless, More } from '../../../parts/more.tsx'
import { Figures, Panel } from '../../../parts/page.tsx'
import { Empty } from '../../../parts/states.tsx'
import { Switch } from '../../../parts/switch.tsx'
import { Table } from '../../../parts/table.tsx'
import { Basis } from '../figures/basis.tsx'
import { ByMonth } from '../figures/by-month.tsx'
import { Drill, pageOf, rate } from '../figures/drill.tsx'
import css from '../figures/figures.module.css'
import { type Own, usePages } from '../figures/read.ts'
import { Named, Share } from '../figures/share.tsx'
import { State } from '../figures/state.tsx'
import { Surface } from '../figures/surface.tsx'
import { words } from './words.ts'

const PATH = '/v1/analytics/concepts'
const LEVELS = ['segment', 'family', 'class', 'key', 'description'] as const
const RATES = ['16', '8', '0', 'exento', 'otras', 'no_objeto'] as const
/** As many as the chart shows. */
const DRAWN = 12
const ZERO = /^-?0+(\.0+)?$/

/** A quantity without the zeros that the API fills its six places with. */
const quantityOf = (text: string): string => decimal(text.replace(/\.0+$|(\.\d*?)0+$/, '$1'))

const isText = (level: Concepts['level']): boolean => level === 'description'

function Head({ of }: { of: Concepts }) {
  const t = useWords(words)
  const { drilldown, unclassified_amount, outlier_count } = of
  return (
    <Panel title={t.head[of.direction]} lead={of.has_line_figures ? t.headLead : undefined}>
      {!of.has_line_figures && <Badge tone="wait">{t.tooMany}</Badge>}
      <Figures
        figures={[
          { name: t.total, value: <Drill to={drilldown['total']} label={t.total} text={money(of.total)} /> },
          { name: t.lines, value: count(of.line_count) },
          {
            name: t.unclassified,
            value: <Drill to={drilldown['unclassified_amount']} label={t.unclassified} text={money(unclassified_amount)} />,
            note: of.unclassified_share !== null && rate(of.unclassified_share),
          },
          { name: t.outliers, value: <Drill to={drilldown['outlier_count']} label={t.outliers} text={count(outlier_count)} /> },
        ]}
      />
    </Panel>
  )
}

function Rows({ rows, level, list }: { rows: readonly ConceptRow[]; level: Concepts['level']; list: Endless }) {
  const t = useWords(words)
  const codeOf = ({ key }: ConceptRow) => key ?? t.noKey
  return (
    <Panel flush title={t.table} lead={t.tableLead}>
      <Table<ConceptRow>
        label={t.table}
        rows={rows}
        keyOf={({ key }) => key ?? ''}
        list={list}
        columns={[
          {
            name: t.level[level],
            by: (one) => one.label ?? codeOf(one),
            cell: (one) => (isText(level) ? <b>{one.label ?? codeOf(one)}</b> : <Named name={one.label} code={codeOf(one)} />),
          },
          {
            name: t.amount,
            end: true,
            by: ({ amount }) => amount,
            cell: (one) => (
              <Drill to={one.drilldown['amount']} label={`${t.amount}, ${one.label ?? codeOf(one)}`} text={money(one.amount)} />
            ),
          },
          { name: t.share, end: true, by: ({ share }) => share, cell: ({ share }) => <Share of={share} /> },
          {
            name: t.invoices,
            end: true,
            by: ({ invoice_count }) => invoice_count,
            cell: (one) => (
              <Drill
                to={one.drilldown['invoice_count']}
                label={`${t.invoices}, ${one.label ?? codeOf(one)}`}
                text={count(one.invoice_count)}
              />
            ),
          },
          {
            name: t.quantity,
            end: true,
            by: ({ quantity }) => quantity,
            cell: ({ quantity, unit }) => (quantity === null ? NOTHING : `${quantityOf(quantity)} ${unit ?? ''}`),
          },
          {
            name: t.price,
            end: true,
            by: ({ avg_unit_price }) => avg_unit_price,
            cell: ({ avg_unit_price, min_unit_price, max_unit_price }) =>
              avg_unit_price === null ? (
                NOTHING
              ) : (
                <span>
                  {money(avg_unit_price)}
                  <br />
                  <small>{t.between(money(min_unit_price), money(max_unit_price))}</small>
                </span>
              ),
          },
          {
            name: t.change,
            end: true,
            by: ({ price_change_pct }) => price_change_pct,
            cell: ({ price_change_pct }) => rate(price_change_pct),
          },
          {
            name: t.unusual,
            end: true,
            by: ({ outlier_count }) => outlier_count,
            cell: ({ outlier_count }) => (outlier_count ? <Badge tone="wait">{count(outlier_count)}</Badge> : count(outlier_count)),
          },
          {
            name: t.largest,
            cell: ({ top_counterparty: top, counterparty_count }) =>
              top && <Named name={top.nombre ?? top.rfc} code={t.ofParties(money(top.amount), count(counterparty_count))} />,
          },
          {
            name: t.iva,
            cell: ({ iva_mix: mix }) =>
              mix && (
                <small>
                  {RATES.filter((name) => !ZERO.test(mix[name])).map((name) => (
                    <div key={name}>
                      {t.rate[name]}: {money(mix[name])}
                    </div>
                  ))}
                </small>
              ),
          },
        ]}
      />
    </Panel>
  )
}

function All({ own }: { own: Own }) {
  const t = useWords(words)
  const list = usePages<Concepts>(PATH, own)
  return (
    <Loaded query={list} rows={8}>
      {({ pages }) => {
        const first = pages[0]!
        const { direction, level } = first
        const rows = pages.flatMap(({ data }) => data)
        if (rows.length === 0)
          return (
            <State of={first}>
              <Empty title={t.none} lead={t.noneLead} />
            </State>
          )
        const nameOf = ({ key, label }: ConceptRow) => label ?? key ?? t.noKey
        const bars = rows.slice(0, DRAWN).map((row, n): Bar => {
          const href = pageOf(row.drilldown['amount'])
          return {
            key: row.key ?? '',
            label: isText(level) ? String(n + 1) : (row.key ?? NOTHING),
            ...(href && { href }),
            says: `${nameOf(row)}: ${money(row.amount)} (${rate(row.share)})`,
            parts: [{ series: direction, amount: row.amount }],
          }
        })
        return (
          <State of={first}>
            <Head of={first} />
            <Panel title={t.chart[direction]} lead={t.chartLead}>
              <Bars label={t.chart[direction]} bars={bars} />
              {(rows.length > DRAWN || list.hasNextPage) && <p>{t.drawn(count(bars.length))}</p>}
            </Panel>
            <Rows rows={rows} level={level} list={list} />
            <div class={css.bar}>
              <More list={list} />
            </div>
            <ByMonth
              which={t.level[level]}
              series={direction}
              of={rows.map((row) => ({
                key: row.key ?? '',
                name: isText(level) || row.key === null ? nameOf(row) : `${row.key} ${row.label ?? ''}`,
                months: row.by_month.map(({ month, amount }) => ({ month, amount, to: row.drilldown[`by_month.${month}`] })),
              }))}
            />
            <Basis of={first} labels={t.formulas} />
          </State>
        )
      }}
    </Loaded>
  )
}

export default function ConceptsPage() {
  const t = useWords(words)
  return (
    <Surface
      title={t.title}
      lead={t.lead}
      path={PATH}
      names={['from', 'to', 'direction', 'level']}
      otherwise={{ direction: 'received', level: 'family' }}
      controls={({ own, change }) => (
        <>
          <Switch
            label={t.show}
            value={own['direction']!}
            choices={[
              ['received', t.bought],
              ['issued', t.sold],
            ]}
            choose={(value) => change({ direction: value })}
          />
          <Switch
            label={t.by}
            value={own['level']!}
            choices={LEVELS.map((level) => [level, t.level[level]] as const)}
            choose={(value) => change({ level: value })}
          />
        </>
      )}
    >
      {({ own }) => <All own={own} />}
    </Surface>
  )
}
