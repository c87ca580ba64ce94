import { useQuery } from '@tanstack/preact-query'
import { Link } from 'wouter-preact'
import { answer, api } from '../../../api/client.ts'
import type { CfdiMonth, CfdiMonthlySummary } from '../../../api/routes.d.ts'
import { type Bar, Bars, Keys } from '../../../charts/bars.tsx'
import { count, day, instant, money, month as monthName } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Badge, type Tone } from '../../../parts/badge.tsx'
import { EntityPicker, useEntity } from '../../../parts/entity.tsx'
import { Loaded } from '../../../parts/loaded.tsx'
import { Call, Facts, Panel, Title } from '../../../parts/page.tsx'
import { Empty, Failed, Skeleton } from '../../../parts/states.tsx'
import { Switch } from '../../../parts/switch.tsx'
import { Table } from '../../../parts/table.tsx'
import { isUnreadable, Unreadable } from '../../../parts/unreadable.tsx'
import { useZone } from '../../../session.ts'
import { monthExportOf } from '../cfdi/month-export.ts'
import css from './months.module.css'
import { words } from './words.ts'

const DATA: Record<CfdiMonth['data_status'], Tone> = { complete: 'good', downloading: 'going', missing: 'bad' }
const MONTH = /^\d{4}-(0[1-9]|1[0-2])$/

/** The page of the console with what a figure sums. */
const pageOf = (drilldown: string): string => drilldown.replace(/^\/v1/, '/console')
const isCut = ({ is_partial, data_status }: CfdiMonth): boolean => is_partial || data_status !== 'complete'

/** A bar of both directions leads to both of them: the same documents without the direction. */
function hrefOf(rows: readonly CfdiMonth[]): string {
  const [path, query] = pageOf(rows[0]!.drilldown).split('?') as [string, string]
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
      [t[row.direction], money(row.net), row.is_partial && row.through_date && t.cutSays(day(row.through_date))].filter(Boolean).join(' '),
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
            cell: ({ month, direction, drilldown }) => (
              <a href={pageOf(drilldown)} class={css.month} aria-label={t.documents(monthName(month), t[direction])}>
                {monthName(month)}
              </a>
            ),
          },
          { name: t.direction, cell: ({ direction }) => t[direction] },
          {
            name: t.exports,
            cell: ({ month, direction }) => (
              <Link href={monthExportOf(fiscal_entity_id, month, direction)} aria-label={t.exportOf(monthName(month), t[direction])}>
                {t.exports}
              </Link>
            ),
          },
          { name: t.net, end: true, cell: ({ net }) => <b>{money(net)}</b> },
          { name: t.total, end: true, cell: ({ total }) => money(total) },
          { name: t.count, end: true, cell: (one) => count(one.count) },
          { name: t.cancelled, end: true, cell: ({ cancelled_count }) => count(cancelled_count) },
          { name: t.subtotal, end: true, cell: ({ subtotal }) => money(subtotal) },
          { name: t.discount, end: true, cell: ({ descuento }) => money(descuento) },
          { name: t.credit, end: true, cell: ({ credit_notes }) => money(credit_notes) },
          { name: t.iva, end: true, cell: ({ iva_trasladado }) => money(iva_trasladado) },
          { name: t.ivaWithheld, end: true, cell: ({ iva_retenido }) => money(iva_retenido) },
          { name: t.isr, end: true, cell: ({ isr_retenido }) => money(isr_retenido) },
          { name: t.pue, end: true, cell: ({ pue_total }) => money(pue_total) },
          { name: t.ppd, end: true, cell: ({ ppd_total }) => money(ppd_total) },
          {
            name: t.data,
            cell: ({ data_status, is_partial, through_date }) => (
              <span class={css.badges}>
                <Badge tone={DATA[data_status]}>{t.state[data_status]}</Badge>
                {is_partial && <Badge tone="wait">{through_date ? t.partialTo(day(through_date)) : t.partial}</Badge>}
              </span>
            ),
          },
        ]}
      />
    </Panel>
  )
}

interface Query {
  fiscal_entity_id: string
  from?: string
  to?: string
  direction?: 'issued' | 'received'
}

function Summary({ query }: { query: Query }) {
  const t = useWords(words)
  const summary = useQuery({
    queryKey: ['months', query],
    queryFn: () => answer(api.GET('/v1/cfdi/summary/monthly', { params: { query } })) as Promise<CfdiMonthlySummary>,
  })
  return (
    <>
      <Loaded query={summary} rows={6}>
        {(read) =>
          read.data.length === 0 ? (
            <Empty title={t.none} lead={t.noneLead} />
          ) : (
            <>
              <Chart data={read.data} />
              <Figures summary={read} fiscal_entity_id={query.fiscal_entity_id} />
              <Panel title={t.basis}>
                <Facts facts={Object.entries(read.basis).map(([key, text]) => [t.basisKeys[key] ?? key, t.basisText[key] ?? text])} />
              </Panel>
            </>
          )
        }
      </Loaded>
      <Call call={`GET /v1/cfdi/summary/monthly?${new URLSearchParams({ ...query })}`} />
    </>
  )
}

export default function Months() {
  const t = useWords(words)
  const { entity, entities, error, refetch, choose, params, set } = useEntity()
  if (error && !entities) return <Failed isPage error={error} retry={refetch} />
  if (!entities) return <Skeleton rows={6} />
  if (entities.length === 0)
    return <Empty isPage title={t.connectTitle} lead={t.connectLead} action={{ label: t.connect, href: '/connect' }} />
  const said = (name: string) => params.get(name) ?? ''
  const change = (name: string, value: string) =>
    set((old) => {
      if (value) old.set(name, value)
      else old.delete(name)
      return old
    })
  const direction = said('direction')
  const query: Query = {
    fiscal_entity_id: entity?.fiscal_entity_id ?? '',
    ...(said('from') && { from: said('from') }),
    ...(said('to') && { to: said('to') }),
    ...((direction === 'issued' || direction === 'received') && { direction }),
  }
  return (
    <>
      <Title text={t.title} lead={t.lead}>
        <EntityPicker entities={entities} entity={entity} choose={choose} />
      </Title>
      <div class={css.bar}>
        {(['from', 'to'] as const).map((name) => (
          <label key={name}>
            {t[name]}
            <input
              type="month"
              value={said(name).slice(0, 7)}
              onChange={({ currentTarget: { value } }) => (value === '' || MONTH.test(value)) && change(name, value)}
            />
          </label>
        ))}
        <Switch
          label={t.show}
          value={direction}
          choices={[
            ['', t.both],
            ['issued', t.issued],
            ['received', t.received],
          ]}
          choose={(value) => change('direction', value)}
        />
      </div>
      {entity && isUnreadable(entity) ? (
        <Unreadable entity={entity} />
      ) : entity ? (
        <Summary query={query} />
      ) : (
        <Empty title={t.unknownRfc} />
      )}
    </>
  )
}
