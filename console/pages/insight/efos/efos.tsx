import { Link } from 'wouter-preact'
import type { EfosExposure, EfosRow } from '../../../api/routes.d.ts'
import { count, day, money } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Badge } from '../../../parts/badge.tsx'
import { Loaded } from '../../../parts/loaded.tsx'
import { type Endless, More } from '../../../parts/more.tsx'
import { type Figure, Figures, Panel } from '../../../parts/page.tsx'
import { Empty } from '../../../parts/states.tsx'
import { Switch } from '../../../parts/switch.tsx'
import { Table } from '../../../parts/table.tsx'
import { Basis } from '../figures/basis.tsx'
import { Drill, rate } from '../figures/drill.tsx'
import css from '../figures/figures.module.css'
import { type Own, usePages } from '../figures/read.ts'
import { Named } from '../figures/share.tsx'
import { State } from '../figures/state.tsx'
import { Surface } from '../figures/surface.tsx'
import { documentsOf } from './listed.ts'
import { Sides } from './sides.tsx'
import { isCleared, Situation } from './situation.tsx'
import { words } from './words.ts'

const PATH = '/v1/analytics/efos-exposure'
const STEPS = ['presunto_dof_at', 'definitivo_dof_at', 'resolved_at'] as const
const SUMS = ['amount', 'iva_acreditado', 'paid_amount', 'unpaid_amount'] as const

function Head({ of, rows, isPast }: { of: EfosExposure; rows: EfosRow[]; isPast: boolean }) {
  const t = useWords(words)
  const { direction, drilldown } = of
  const whole = direction === 'received' ? ('total_purchases' as const) : ('total_sales' as const)
  const share = direction === 'received' ? of.share_of_purchases : of.share_of_sales
  const figures: Figure[] = [
    { name: t.active, value: <Drill to={drilldown['active_amount']} label={t.active} text={money(of.active_amount)} /> },
    { name: t.share[direction], value: rate(share) },
    { name: t.whole[direction], value: <Drill to={drilldown[whole]} label={t.whole[direction]} text={money(of[whole])} /> },
  ]
  type One = EfosExposure['by_situacion'][number]
  const searchOf = (one: One) => documentsOf(rows, one, of.data_quality.drilldown['cfdi_total'], isPast)
  return (
    <Panel title={t.head[direction]} lead={t.headLead}>
      <Figures figures={figures} />
      {of.by_situacion.length > 0 && (
        <Table<One>
          label={t.bySituation}
          rows={of.by_situacion}
          keyOf={({ situacion }) => situacion}
          columns={[
            { name: t.bySituation, cell: ({ situacion }) => <Situation is={situacion} /> },
            {
              name: t.parties[direction],
              end: true,
              by: ({ counterparty_count }) => counterparty_count,
              cell: ({ counterparty_count }) => count(counterparty_count),
            },
            {
              name: t.invoices,
              end: true,
              cell: (one) => (
                <Drill
                  to={searchOf(one)?.invoices}
                  label={`${t.invoices}, ${t.situation[one.situacion]}`}
                  text={count(one.invoice_count)}
                />
              ),
            },
            {
              name: t.sum.amount,
              end: true,
              cell: (one) => (
                <Drill to={searchOf(one)?.amount} label={`${t.sum.amount}, ${t.situation[one.situacion]}`} text={money(one.amount)} />
              ),
            },
            {
              name: t.sum.iva_acreditado,
              end: true,
              by: ({ iva_acreditado }) => iva_acreditado,
              cell: ({ iva_acreditado }) => money(iva_acreditado),
            },
            { name: t.isr, end: true, cell: ({ situacion, isr_effect }) => (isCleared(situacion) ? t.notAtRisk : money(isr_effect)) },
          ]}
        />
      )}
    </Panel>
  )
}

function Rows({ rows, direction, list }: { rows: readonly EfosRow[]; direction: EfosExposure['direction']; list: Endless }) {
  const t = useWords(words)
  return (
    <Panel flush title={t.table[direction]} lead={t.tableLead}>
      <Table<EfosRow>
        label={t.table[direction]}
        rows={rows}
        keyOf={({ rfc }) => rfc}
        list={list}
        columns={[
          { name: t.party, by: ({ rfc, name }) => name ?? rfc, cell: ({ rfc, name }) => <Named name={name} code={rfc} /> },
          { name: t.bySituation, by: ({ situacion }) => t.situation[situacion], cell: ({ situacion }) => <Situation is={situacion} /> },
          {
            name: t.published,
            cell: (one) => (
              <small>
                {STEPS.filter((step) => one[step]).map((step) => (
                  <div key={step} class={css.nowrap}>
                    {t.step[step](day(one[step]))}
                  </div>
                ))}
              </small>
            ),
          },
          {
            name: t.deadline,
            by: ({ correction_deadline }) => correction_deadline,
            cell: ({ correction_deadline, deadline_basis }) =>
              correction_deadline && (
                <Badge tone={deadline_basis === 'estimated' ? 'wait' : 'bad'}>
                  {deadline_basis === 'estimated' ? t.estimated(day(correction_deadline)) : day(correction_deadline)}
                </Badge>
              ),
          },
          {
            name: t.invoices,
            end: true,
            by: ({ invoice_count }) => invoice_count,
            cell: ({ rfc, invoice_count, drilldown }) => (
              <Drill to={drilldown['invoice_count']} label={`${t.invoices}, ${rfc}`} text={count(invoice_count)} />
            ),
          },
          ...SUMS.map((name) => ({
            name: t.sum[name],
            end: true,
            by: (one: EfosRow) => one[name],
            cell: (one: EfosRow) => <Drill to={one.drilldown[name]} label={`${t.sum[name]}, ${one.rfc}`} text={money(one[name])} />,
          })),
          { name: t.isr, end: true, cell: ({ is_active, isr_effect }) => (is_active ? money(isr_effect) : t.notAtRisk) },
        ]}
      />
    </Panel>
  )
}

function All({ own }: { own: Own }) {
  const t = useWords(words)
  const list = usePages<EfosExposure>(PATH, own)
  return (
    <Loaded query={list} rows={8}>
      {({ pages }) => {
        const first = pages[0]!
        const { direction } = first
        const rows = pages.flatMap(({ data }) => data)
        return (
          <State of={first}>
            <Head of={first} rows={rows} isPast={'as_of' in own} />
            <p>
              {t.others} <Link href={`/cfdi/repse-suppliers?fiscal_entity_id=${first.fiscal_entity_id}`}>{t.suppliers}</Link>
            </p>
            <br />
            {rows.length === 0 ? (
              <Empty title={t.none[direction]} lead={t.noneLead} />
            ) : (
              <>
                <Sides rows={rows} of={first} />
                <Rows rows={rows} direction={direction} list={list} />
                <div class={css.bar}>
                  <More list={list} />
                </div>
              </>
            )}
            <Basis of={first} labels={t.formulas} />
          </State>
        )
      }}
    </Loaded>
  )
}

export default function EfosPage() {
  const t = useWords(words)
  return (
    <Surface
      title={t.title}
      lead={t.lead}
      path={PATH}
      names={['from', 'to', 'as_of', 'direction']}
      otherwise={{ direction: 'received' }}
      controls={({ own, change }) => (
        <Switch
          label={t.show}
          value={own['direction']!}
          choices={[
            ['received', t.parties.received],
            ['issued', t.parties.issued],
          ]}
          choose={(value) => change({ direction: value })}
        />
      )}
    >
      {({ own }) => <All own={own} />}
    </Surface>
  )
}
