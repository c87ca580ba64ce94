import type { Concentration, ConcentrationRow } from '../../../api/routes.d.ts'
import { Gauge } from '../../../charts/gauge.tsx'
import { Pareto } from '../../../charts/pareto.tsx'
import { count, day, decimal, money } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Badge, type Tone } from '../../../parts/badge.tsx'
import { Loaded } from '../../../parts/loaded.tsx'
import { type Endless, More } from '../../../parts/more.tsx'
import { Figures, Panel } from '../../../parts/page.tsx'
import { Empty } from '../../../parts/states.tsx'
import { Switch } from '../../../parts/switch.tsx'
import { Table } from '../../../parts/table.tsx'
import { Blacklist } from '../../work/cfdi/badges.tsx'
import { Basis } from '../figures/basis.tsx'
import { ByMonth } from '../figures/by-month.tsx'
import { Drill, pageOf, rate } from '../figures/drill.tsx'
import css from '../figures/figures.module.css'
import { type Own, usePages } from '../figures/read.ts'
import { Named, Share } from '../figures/share.tsx'
import { State } from '../figures/state.tsx'
import { Surface } from '../figures/surface.tsx'
import { words } from './words.ts'

const PATH = '/v1/cfdi/concentration'
const TONES: Record<NonNullable<Concentration['level']>, Tone> = { low: 'good', moderate: 'wait', high: 'bad' }
/** As many parties as a curve shows. */
const DRAWN = 25
/** What all parties have together, as the API says it. */
const WHOLE = '100.00'
const MOST_HHI = 10_000

/** The cut-offs that the answer used. */
const levelsOf = ({ basis }: Concentration) =>
  basis.rules.find(({ key }) => key === 'concentration.levels')?.value as { moderate: number; high: number } | undefined

function Head({ of }: { of: Concentration }) {
  const t = useWords(words)
  const levels = levelsOf(of)
  return (
    <Panel title={t.head[of.direction]} lead={t.headLead}>
      <Figures
        figures={[
          { name: t.total, value: <Drill to={of.drilldown['total']} label={t.total} text={money(of.total)} /> },
          { name: t.ranked, value: money(of.concentration_total) },
          { name: t.parties[of.direction], value: count(of.counterparty_count) },
          { name: t.top(1), value: rate(of.top1_share) },
          { name: t.top(3), value: rate(of.top3_share) },
          { name: t.top(5), value: rate(of.top5_share) },
          { name: t.top(10), value: rate(of.top10_share) },
          { name: t.effective, value: decimal(of.effective_n), note: of.effective_n !== null && t.alike },
        ]}
      />
      <p class={css.line}>
        {t.hhi} <b>{count(of.hhi)}</b> {of.level && <Badge tone={TONES[of.level]}>{t.level[of.level]}</Badge>}
      </p>
      {levels && (
        <>
          <Gauge
            value={of.hhi === null ? null : String(of.hhi)}
            most={MOST_HHI}
            zones={[
              { upTo: levels.moderate, series: 'good' },
              { upTo: levels.high, series: 'wait' },
              { upTo: MOST_HHI, series: 'bad' },
            ]}
          />
          <small>{t.levels(count(levels.moderate), count(levels.high))}</small>
        </>
      )}
    </Panel>
  )
}

function Rows({ rows, list }: { rows: readonly ConcentrationRow[]; list: Endless }) {
  const t = useWords(words)
  return (
    <Panel flush title={t.table} lead={t.tableLead}>
      <Table<ConcentrationRow>
        label={t.table}
        rows={rows}
        keyOf={({ rfc }) => rfc}
        list={list}
        columns={[
          {
            name: t.party,
            by: ({ name, rfc }) => name ?? rfc,
            cell: ({ rank, rfc, name, blacklist }) => (
              <Named name={name} code={rank === null ? rfc : `${count(rank)}. ${rfc}`}>
                <Blacklist listed={blacklist} />
              </Named>
            ),
          },
          {
            name: t.net,
            end: true,
            by: ({ total }) => total,
            cell: ({ rfc, total, drilldown }) => <Drill to={drilldown['total']} label={`${t.net}, ${rfc}`} text={money(total)} />,
          },
          { name: t.share, end: true, by: ({ share }) => share, cell: ({ share }) => <Share of={share} /> },
          {
            name: t.cumulative,
            end: true,
            by: ({ cumulative_share }) => cumulative_share,
            cell: ({ cumulative_share }) => rate(cumulative_share),
          },
          {
            name: t.invoices,
            end: true,
            by: ({ invoice_count }) => invoice_count,
            cell: ({ rfc, invoice_count, drilldown }) => (
              <Drill to={drilldown['invoice_count']} label={`${t.invoices}, ${rfc}`} text={count(invoice_count)} />
            ),
          },
          { name: t.months, end: true, by: ({ active_months }) => active_months, cell: ({ active_months }) => count(active_months) },
          { name: t.trend, end: true, by: ({ trend_pct }) => trend_pct, cell: ({ trend_pct }) => rate(trend_pct) },
          { name: t.cancelled, end: true, by: ({ cancelled_rate }) => cancelled_rate, cell: ({ cancelled_rate }) => rate(cancelled_rate) },
          {
            name: t.between,
            end: true,
            by: ({ last_issued_at }) => last_issued_at,
            cell: ({ first_issued_at, last_issued_at }) => (
              <span>
                {day(first_issued_at)}
                <br />
                {day(last_issued_at)}
              </span>
            ),
          },
        ]}
      />
    </Panel>
  )
}

function All({ own }: { own: Own }) {
  const t = useWords(words)
  const list = usePages<Concentration>(PATH, own)
  return (
    <Loaded query={list} rows={8}>
      {({ pages }) => {
        const first = pages[0]!
        const rows = pages.flatMap(({ data }) => data)
        if (rows.length === 0)
          return (
            <State of={first}>
              <Empty title={t.none} lead={t.noneLead} />
            </State>
          )
        const nameOf = ({ rfc, name }: ConcentrationRow) => name ?? rfc
        const parts = rows.flatMap((row) => {
          const { rank, rfc, share, cumulative_share, drilldown } = row
          if (rank === null || share === null || cumulative_share === null) return []
          const says = t.says(count(rank), nameOf(row), rate(share), rate(cumulative_share))
          return [{ key: rfc, href: pageOf(drilldown['total']), says, share, cumulative: cumulative_share }]
        })
        const drawn = parts.slice(0, DRAWN)
        return (
          <State of={first}>
            <Head of={first} />
            {parts.length > 0 && (
              <Panel title={t.curve} lead={t.curveLead}>
                <Pareto label={t.curve} parts={drawn} />
                {drawn.at(-1)!.cumulative !== WHOLE && <p>{t.drawn(count(drawn.length), rate(drawn.at(-1)!.cumulative))}</p>}
              </Panel>
            )}
            <Rows rows={rows} list={list} />
            <div class={css.bar}>
              <More list={list} />
            </div>
            <ByMonth
              which={t.party}
              series={first.direction}
              of={rows.map((row) => ({
                key: row.rfc,
                name: nameOf(row),
                months: row.by_month.map(({ month, total }) => ({ month, amount: total, to: row.drilldown[`by_month.${month}`] })),
              }))}
            />
            <Basis of={first} labels={t.formulas} />
          </State>
        )
      }}
    </Loaded>
  )
}

export default function ConcentrationPage() {
  const t = useWords(words)
  return (
    <Surface
      title={t.title}
      lead={t.lead}
      path={PATH}
      names={['from', 'to', 'direction', 'include_generic']}
      otherwise={{ direction: 'issued' }}
      controls={({ own, change }) => (
        <>
          <Switch
            label={t.show}
            value={own['direction']!}
            choices={[
              ['issued', t.customers],
              ['received', t.suppliers],
            ]}
            choose={(value) => change({ direction: value })}
          />
          <label>
            <input
              type="checkbox"
              checked={own['include_generic'] === 'true'}
              onChange={({ currentTarget }) => change({ include_generic: currentTarget.checked ? 'true' : '' })}
            />
            {t.generic}
          </label>
        </>
      )}
    >
      {({ own }) => <All own={own} />}
    </Surface>
  )
}
