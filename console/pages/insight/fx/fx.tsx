import type { FxExposure, FxExposureRow } from '../../../api/routes.d.ts'
import { type Bar, Bars } from '../../../charts/bars.tsx'
import { day, decimal, money, NOTHING } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Badge } from '../../../parts/badge.tsx'
import { Loaded } from '../../../parts/loaded.tsx'
import { Facts, Figures, Panel } from '../../../parts/page.tsx'
import { Empty } from '../../../parts/states.tsx'
import { Table } from '../../../parts/table.tsx'
import { Basis } from '../figures/basis.tsx'
import { Drill, pageOf } from '../figures/drill.tsx'
import css from '../figures/figures.module.css'
import { type Own, useWhole } from '../figures/read.ts'
import { Share } from '../figures/share.tsx'
import { State } from '../figures/state.tsx'
import { Surface } from '../figures/surface.tsx'
import { words } from './words.ts'

const PATH = '/v1/analytics/fx-exposure'
const RISES = ['plus_1pct', 'plus_5pct', 'plus_10pct'] as const
type Sum = keyof FxExposureRow & keyof (typeof words)['es']['figure']

/** What of a currency is invoiced, open, and won or lost by its rate. */
function Currency({ of }: { of: FxExposureRow }) {
  const t = useWords(words)
  const { currency, drilldown } = of
  const sum = (name: Sum, code = 'MXN') => (
    <Drill to={drilldown[name]} label={`${t.figure[name]}, ${currency}`} text={money(of[name] as string | null, code)} />
  )
  const bar = (key: string, name: string, amount: string | null, series: Bar['parts'][number]['series'], to?: string): Bar => {
    const href = pageOf(to)
    return { key, label: name, ...(href && { href }), says: `${name}: ${money(amount)}`, parts: [{ series, amount }] }
  }
  return (
    <Panel
      title={currency}
      lead={of.current_rate === null ? t.noRate : t.rate(currency, decimal(of.current_rate), day(of.rate_date), of.rate_source ?? '')}
      actions={of.current_rate === null && <Badge tone="wait">{t.rateMissing}</Badge>}
    >
      <Figures
        figures={[
          { name: t.figure.net_open, value: money(of.net_open, currency) },
          { name: t.figure.booked_mxn, value: sum('booked_mxn') },
          { name: t.figure.current_mxn, value: money(of.current_mxn) },
          { name: t.figure.unrealized_gain_loss, value: money(of.unrealized_gain_loss) },
          { name: t.figure.realized_gain_loss, value: sum('realized_gain_loss') },
        ]}
      />
      <div class={css.pair}>
        <div>
          <h3>{t.valuation}</h3>
          <Bars
            label={`${t.valuation}, ${currency}`}
            bars={[
              bar('booked', t.booked, of.booked_mxn, 'idle', drilldown['booked_mxn']),
              bar('current', t.today, of.current_mxn, 'issued'),
              bar('unrealized', t.difference, of.unrealized_gain_loss, of.unrealized_gain_loss?.startsWith('-') ? 'bad' : 'good'),
            ]}
          />
        </div>
        <div>
          <h3>{t.sensitivity}</h3>
          <p>
            <small>{t.sensitivityLead(currency)}</small>
          </p>
          {of.sensitivity === null ? (
            NOTHING
          ) : (
            <Table<(typeof RISES)[number]>
              label={`${t.sensitivity}, ${currency}`}
              rows={RISES}
              keyOf={(rise) => rise}
              columns={[
                { name: t.rises, cell: (rise) => t.rise[rise] },
                { name: t.gains, end: true, cell: (rise) => money(of.sensitivity?.[rise]) },
              ]}
            />
          )}
        </div>
      </div>
      <Facts
        facts={[
          [t.figure.open_receivable, sum('open_receivable', currency)],
          [t.figure.open_payable, sum('open_payable', currency)],
          [t.figure.issued_amount, sum('issued_amount', currency)],
          [t.figure.received_amount, sum('received_amount', currency)],
          [t.figure.issued_mxn, sum('issued_mxn')],
          [t.figure.received_mxn, sum('received_mxn')],
        ]}
      />
    </Panel>
  )
}

/** Of all currencies: what the shares are shares of. */
function Totals({ of }: { of: FxExposure }) {
  const t = useWords(words)
  return (
    <Figures
      figures={[
        { name: t.totalSales, value: <Drill to={of.drilldown['total_sales']} label={t.totalSales} text={money(of.total_sales)} /> },
        {
          name: t.totalPurchases,
          value: <Drill to={of.drilldown['total_purchases']} label={t.totalPurchases} text={money(of.total_purchases)} />,
        },
      ]}
    />
  )
}

function All({ own }: { own: Own }) {
  const t = useWords(words)
  const query = useWhole<FxExposure>(PATH, own)
  return (
    <Loaded query={query} rows={8}>
      {(of) => (
        <State of={of}>
          {of.data.length === 0 ? (
            <>
              <Panel title={t.weight} lead={t.weightLead}>
                <Totals of={of} />
              </Panel>
              <Empty title={t.none} lead={t.noneLead} />
            </>
          ) : (
            <>
              <Panel title={t.weight} lead={t.weightLead}>
                <Totals of={of} />
                <Table<FxExposureRow>
                  label={t.weight}
                  rows={of.data}
                  keyOf={({ currency }) => currency}
                  columns={[
                    { name: t.currency, by: ({ currency }) => currency, cell: ({ currency }) => <b>{currency}</b> },
                    {
                      name: t.sales,
                      end: true,
                      by: (one) => one.share_of_sales,
                      cell: ({ share_of_sales }) => <Share of={share_of_sales} />,
                    },
                    {
                      name: t.purchases,
                      end: true,
                      by: (one) => one.share_of_purchases,
                      cell: ({ share_of_purchases }) => <Share of={share_of_purchases} />,
                    },
                    { name: t.figure.net_open, end: true, cell: ({ currency, net_open }) => money(net_open, currency) },
                    {
                      name: t.figure.unrealized_gain_loss,
                      end: true,
                      by: (one) => one.unrealized_gain_loss,
                      cell: (one) => money(one.unrealized_gain_loss),
                    },
                    {
                      name: t.figure.realized_gain_loss,
                      end: true,
                      by: (one) => one.realized_gain_loss,
                      cell: (one) => money(one.realized_gain_loss),
                    },
                  ]}
                />
              </Panel>
              {of.data.map((one) => (
                <Currency key={one.currency} of={one} />
              ))}
            </>
          )}
          <Basis of={of} labels={t.formulas} />
        </State>
      )}
    </Loaded>
  )
}

export default function FxPage() {
  const t = useWords(words)
  return (
    <Surface title={t.title} lead={t.lead} path={PATH} names={['from', 'to', 'as_of']}>
      {({ own }) => <All own={own} />}
    </Surface>
  )
}
