import { useQuery } from '@tanstack/preact-query'
import { Link } from 'wouter-preact'
import { answer, api } from '../../../api/client.ts'
import type { Debtor, FactoringPool, Financing } from '../../../api/routes.d.ts'
import { count, day, money, percent } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Loaded } from '../../../parts/loaded.tsx'
import { type Endless, More } from '../../../parts/more.tsx'
import { Facts, Figures, Panel } from '../../../parts/page.tsx'
import { Empty } from '../../../parts/states.tsx'
import { Table } from '../../../parts/table.tsx'
import { Basis } from '../../insight/figures/basis.tsx'
import { Drill, rate } from '../../insight/figures/drill.tsx'
import { type Own, usePages } from '../../insight/figures/read.ts'
import { State } from '../../insight/figures/state.tsx'
import { Surface } from '../../insight/figures/surface.tsx'
import { Blacklist } from '../cfdi/badges.tsx'
import css from './financing.module.css'
import { BUCKETS, days, Side } from './side.tsx'
import { words } from './words.ts'

const PATH = '/v1/analytics/financing'

function Debtors({ rows, list }: { rows: readonly Debtor[]; list: Endless }) {
  const t = useWords(words)
  if (rows.length === 0) return <Empty title={t.noDebtors} lead={t.noDebtorsLead} />
  return (
    <Panel flush title={t.debtors} lead={t.debtorsLead}>
      <Table<Debtor>
        label={t.debtors}
        rows={rows}
        keyOf={({ rfc }) => rfc}
        list={list}
        columns={[
          {
            name: t.debtor,
            by: ({ rfc, name }) => name ?? rfc,
            cell: ({ rfc, name, blacklist }) => (
              <span class={css.party}>
                <b>{name ?? rfc}</b>
                <small>{rfc}</small>
                <Blacklist listed={blacklist} />
              </span>
            ),
          },
          {
            name: t.outstanding,
            end: true,
            by: ({ outstanding }) => outstanding,
            cell: (one) => <Drill to={one.drilldown['outstanding']} label={`${t.outstanding}, ${one.rfc}`} text={money(one.outstanding)} />,
          },
          {
            name: t.overdue,
            end: true,
            by: ({ overdue }) => overdue,
            cell: (one) => <Drill to={one.drilldown['overdue']} label={`${t.overdue}, ${one.rfc}`} text={money(one.overdue)} />,
          },
          { name: t.invoices, end: true, by: ({ invoice_count }) => invoice_count, cell: ({ invoice_count }) => count(invoice_count) },
          ...BUCKETS.map((bucket) => ({
            name: t.bucket[bucket],
            end: true,
            by: ({ aging }: Debtor) => aging[bucket],
            cell: ({ aging }: Debtor) => money(aging[bucket]),
          })),
          {
            name: t.oldest,
            by: ({ oldest_due_date }) => oldest_due_date,
            cell: ({ oldest_due_date }) => <span class={css.day}>{day(oldest_due_date)}</span>,
          },
          {
            name: t.days,
            end: true,
            by: ({ weighted_days_to_pay }) => weighted_days_to_pay,
            cell: ({ weighted_days_to_pay }) => days(weighted_days_to_pay),
          },
          { name: t.onTime, end: true, by: ({ on_time_rate }) => on_time_rate, cell: ({ on_time_rate }) => rate(on_time_rate) },
          {
            name: t.eligible,
            end: true,
            by: ({ eligible_amount }) => eligible_amount,
            cell: ({ eligible_amount }) => money(eligible_amount),
          },
        ]}
      />
    </Panel>
  )
}

function Pool({ pool }: { pool: FactoringPool }) {
  const t = useWords(words)
  return (
    <Panel title={t.pool} lead={t.poolLead}>
      <Figures
        figures={[
          { name: t.fundable, value: <Drill to={pool.drilldown['fundable']} label={t.fundable} text={money(pool.fundable)} /> },
          {
            name: t.eligible,
            value: <Drill to={pool.drilldown['eligible_amount']} label={t.eligible} text={money(pool.eligible_amount)} />,
          },
          { name: t.invoices, value: count(pool.eligible_count) },
        ]}
      />
      <Facts
        facts={[
          [t.advance, percent(pool.advance_rate)],
          [t.cap, percent(pool.debtor_cap)],
          [t.maxAge, count(pool.max_age_days)],
        ]}
      />
      {pool.ineligible.length > 0 && (
        <div class={css.bleed}>
          <Table<FactoringPool['ineligible'][number]>
            label={t.reasons}
            rows={pool.ineligible}
            keyOf={({ reason }) => reason}
            columns={[
              { name: t.reasons, cell: ({ reason }) => t.reason[reason] },
              { name: t.invoices, end: true, cell: (one) => count(one.count) },
              {
                name: t.amount,
                end: true,
                cell: ({ reason, amount, drilldown }) => <Drill to={drilldown['amount']} label={t.reason[reason]} text={money(amount)} />,
              },
            ]}
          />
        </div>
      )}
    </Panel>
  )
}

/** Since when the windows show invoices: older ones are in no figure, whatever is still owed on them. */
function Since({ fiscal_entity_id }: { fiscal_entity_id: string }) {
  const t = useWords(words)
  const { data } = useQuery({
    queryKey: ['fiscal-entity', fiscal_entity_id],
    queryFn: () => answer(api.GET('/v1/fiscal-entities/{fiscal_entity_id}', { params: { path: { fiscal_entity_id } } })),
  })
  const [issued, received] = (['sat_cfdi_issued', 'sat_cfdi_received'] as const).map((source) => data?.windows[source].visible_from)
  if (!issued && !received) return null
  return (
    <p class={css.since}>
      {t.since(issued ? day(issued) : t.unseen, received ? day(received) : t.unseen)}{' '}
      <Link href="/extractors/new?scope=full_history">{t.wider}</Link>
    </p>
  )
}

function All({ own }: { own: Own }) {
  const t = useWords(words)
  const list = usePages<Financing>(PATH, own)
  return (
    <Loaded query={list} rows={8}>
      {({ pages }) => {
        const first = pages[0]!
        const { receivables, payables, pool } = first
        return (
          <>
            <State of={first} />
            <Since fiscal_entity_id={first.fiscal_entity_id} />
            <Side
              name={t.receivables}
              own={receivables}
              turnover={[t.dso, receivables.dso]}
              expected={receivables.expected_inflows}
              expectedName={t.inflow}
              expectedKey="expected_inflows"
              asOf={first.as_of}
            />
            <Debtors rows={pages.flatMap(({ data }) => data)} list={list} />
            <More list={list} />
            <Side
              name={t.payables}
              own={payables}
              turnover={[t.dpo, payables.dpo]}
              expected={payables.expected_outflows}
              expectedName={t.outflow}
              expectedKey="expected_outflows"
              asOf={first.as_of}
            />
            <Pool pool={pool} />
            <Basis of={first} labels={t.formulas} />
          </>
        )
      }}
    </Loaded>
  )
}

export default function FinancingPage() {
  const t = useWords(words)
  return (
    <Surface title={t.title} lead={t.lead} path={PATH} names={['as_of', 'advance_rate', 'max_age_days', 'debtor_cap']}>
      {({ own }) => <All own={own} />}
    </Surface>
  )
}
