import { useInfiniteQuery } from '@tanstack/preact-query'
import { answer, api } from '../../../api/client.ts'
import type { Debtor, FactoringPool, Financing } from '../../../api/routes.d.ts'
import { count, day, money, percent } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { EntityPicker, useEntity } from '../../../parts/entity.tsx'
import { Loaded } from '../../../parts/loaded.tsx'
import { More } from '../../../parts/more.tsx'
import { Call, Facts, Figures, Panel, Title } from '../../../parts/page.tsx'
import { Empty, Failed, Skeleton } from '../../../parts/states.tsx'
import { Table } from '../../../parts/table.tsx'
import { isUnreadable, Unreadable } from '../../../parts/unreadable.tsx'
import { Drill, rate } from '../../insight/figures/drill.tsx'
import { useSentence } from '../../insight/sentences/sentences.ts'
import { Blacklist } from '../cfdi/badges.tsx'
import css from './financing.module.css'
import { BUCKETS, days, Side } from './side.tsx'
import { words } from './words.ts'

function Debtors({ rows }: { rows: readonly Debtor[] }) {
  const t = useWords(words)
  if (rows.length === 0) return <Empty title={t.noDebtors} lead={t.noDebtorsLead} />
  return (
    <Panel flush title={t.debtors} lead={t.debtorsLead}>
      <Table<Debtor>
        label={t.debtors}
        rows={rows}
        keyOf={({ rfc }) => rfc}
        columns={[
          {
            name: t.debtor,
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
            cell: (one) => <Drill to={one.drilldown['outstanding']} label={`${t.outstanding}, ${one.rfc}`} text={money(one.outstanding)} />,
          },
          {
            name: t.overdue,
            end: true,
            cell: (one) => <Drill to={one.drilldown['overdue']} label={`${t.overdue}, ${one.rfc}`} text={money(one.overdue)} />,
          },
          { name: t.invoices, end: true, cell: ({ invoice_count }) => count(invoice_count) },
          ...BUCKETS.map((bucket) => ({ name: t.bucket[bucket], end: true, cell: ({ aging }: Debtor) => money(aging[bucket]) })),
          { name: t.oldest, cell: ({ oldest_due_date }) => <span class={css.day}>{day(oldest_due_date)}</span> },
          { name: t.days, end: true, cell: ({ weighted_days_to_pay }) => days(weighted_days_to_pay) },
          { name: t.onTime, end: true, cell: ({ on_time_rate }) => rate(on_time_rate) },
          { name: t.eligible, end: true, cell: ({ eligible_amount }) => money(eligible_amount) },
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

function Basis({ of }: { of: Financing }) {
  const t = useWords(words)
  const say = useSentence()
  const { data_quality: quality, basis } = of
  const { drilldown } = quality
  return (
    <Panel title={t.quality}>
      <Facts
        facts={[
          [
            t.withXml,
            <Drill
              key="xml"
              to={drilldown['with_xml']}
              label={t.withXml}
              text={t.of(count(quality.with_xml), count(quality.cfdi_total))}
            />,
          ],
          [
            t.unreconciled,
            <Drill
              key="unreconciled"
              to={drilldown['unreconciled_payments']}
              label={t.unreconciled}
              text={count(quality.unreconciled_payments)}
            />,
          ],
          [
            t.otherParties,
            <Drill key="parties" to={drilldown['other_parties']} label={t.otherParties} text={count(quality.other_parties)} />,
          ],
          [t.missingMonths, count(quality.months_missing)],
          [t.downloading, count(quality.months_downloading)],
        ]}
      />
      <details class={css.basis}>
        <summary>{t.formulas}</summary>
        <dl>
          {Object.entries(basis.formulas).map(([name, formula]) => (
            <div key={name}>
              <dt>
                <code>{name}</code>
              </dt>
              <dd>{say(formula)}</dd>
            </div>
          ))}
        </dl>
        {basis.notes.map((note) => (
          <p key={note}>{say(note)}</p>
        ))}
      </details>
    </Panel>
  )
}

function All({ fiscal_entity_id, as_of }: { fiscal_entity_id: string; as_of: string }) {
  const t = useWords(words)
  const own = { fiscal_entity_id, ...(as_of && { as_of }) }
  const list = useInfiniteQuery({
    queryKey: ['financing', own],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor }) =>
      answer(
        api.GET('/v1/analytics/financing', { params: { query: { ...own, limit: 25, ...(cursor && { cursor }) } } }),
      ) as Promise<Financing>,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  })
  return (
    <>
      <Loaded query={list} rows={8}>
        {({ pages }) => {
          const first = pages[0]!
          const { receivables, payables, pool } = first
          return (
            <>
              <Side
                name={t.receivables}
                own={receivables}
                turnover={[t.dso, receivables.dso]}
                expected={receivables.expected_inflows}
                expectedName={t.inflow}
                expectedKey="expected_inflows"
              />
              <Debtors rows={pages.flatMap(({ data }) => data)} />
              <More list={list} />
              <Side
                name={t.payables}
                own={payables}
                turnover={[t.dpo, payables.dpo]}
                expected={payables.expected_outflows}
                expectedName={t.outflow}
                expectedKey="expected_outflows"
              />
              <Pool pool={pool} />
              <Basis of={first} />
            </>
          )
        }}
      </Loaded>
      <Call call={`GET /v1/analytics/financing?${new URLSearchParams(own)}`} />
    </>
  )
}

export default function FinancingPage() {
  const t = useWords(words)
  const { entity, entities, error, refetch, choose, params, set } = useEntity()
  if (error && !entities) return <Failed isPage error={error} retry={refetch} />
  if (!entities) return <Skeleton rows={8} />
  if (entities.length === 0)
    return <Empty isPage title={t.connectTitle} lead={t.connectLead} action={{ label: t.connect, href: '/connect' }} />
  const as_of = params.get('as_of') ?? ''
  return (
    <>
      <Title text={t.title} lead={t.lead}>
        <EntityPicker entities={entities} entity={entity} choose={choose} />
        <label class={css.day}>
          {t.asOf}{' '}
          <input
            type="date"
            value={as_of}
            onChange={({ currentTarget: { value } }) =>
              set((old) => {
                if (value) old.set('as_of', value)
                else old.delete('as_of')
                return old
              })
            }
          />
        </label>
      </Title>
      {entity && isUnreadable(entity) ? (
        <Unreadable entity={entity} />
      ) : entity ? (
        <All fiscal_entity_id={entity.fiscal_entity_id} as_of={as_of} />
      ) : (
        <Empty title={t.unknownRfc} />
      )}
    </>
  )
}
