import { useQuery } from '@tanstack/preact-query'
import { Link } from 'wouter-preact'
import { answer, api } from '../../../api/client.ts'
import type { BlacklistBatch, RepseSupplier, RepseSupplierReport, RepseSupplierStatus } from '../../../api/routes.d.ts'
import { type Bar, Bars } from '../../../charts/bars.tsx'
import { count, day, instant, money, month as monthName, NOTHING } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Badge } from '../../../parts/badge.tsx'
import { Button } from '../../../parts/button.tsx'
import { EntityPicker, useEntity } from '../../../parts/entity.tsx'
import { Loaded } from '../../../parts/loaded.tsx'
import { Call, Facts, Figures, Panel, Title } from '../../../parts/page.tsx'
import { Empty, Failed, Problem, Skeleton } from '../../../parts/states.tsx'
import { Table } from '../../../parts/table.tsx'
import { isUnreadable, Unreadable } from '../../../parts/unreadable.tsx'
import { FilterWords } from '../../../parts/wrong.tsx'
import { useZone } from '../../../session.ts'
import { Blacklist, useListed } from '../cfdi/badges.tsx'
import { useFilterText } from '../cfdi/filters.tsx'
import { words as cfdi } from '../cfdi/words.ts'
import css from './suppliers.module.css'
import { words } from './words.ts'

/** A supplier without a registration may need none: only whoever gives specialized services does. */
const TONES: Record<RepseSupplierStatus, 'good' | 'wait' | 'idle'> = {
  registered: 'good',
  not_registered: 'idle',
  expired: 'wait',
  unknown: 'idle',
}
const STATES = ['registered', 'not_registered', 'expired', 'unknown'] as const
const PERIODS = ['1', '3', '6', '12', '24']
const MOST = 200
/** How often is looked whether suppliers were checked meanwhile. */
const UNCHECKED_MS = 15_000
/** Every public list, and what a search of CFDIs offers of the same filter. */
const ANY = Object.keys(cfdi.es.lists).join()
const LISTS = [ANY, ...Object.keys(cfdi.es.values['blacklist']!)]

type Item = BlacklistBatch['data'][number]

/** The page of the console with what a figure sums. */
const pageOf = (drilldown: string): string => drilldown.replace(/^\/v1/, '/console')

interface State {
  status: RepseSupplierStatus
  suppliers: number
  /** The API sums no amount of those that are registered. */
  amount: string | null
}

const statesOf = (report: RepseSupplierReport): State[] =>
  STATES.map((status) => ({
    status,
    suppliers: report[`${status}_count`],
    amount: {
      registered: null,
      not_registered: report.monto_no_registrado,
      expired: report.monto_vencido,
      unknown: report.monto_sin_verificar,
    }[status],
  }))

function Shares({ report }: { report: RepseSupplierReport }) {
  const t = useWords(words)
  const states = statesOf(report)
  const bars = states.map(
    ({ status, suppliers, amount }): Bar => ({
      key: status,
      label: t.state[status],
      says: t.says(t.state[status], count(suppliers), amount && money(amount)),
      parts: [{ series: TONES[status], amount: String(suppliers) }],
    }),
  )
  return (
    <Panel title={t.states} lead={t.range(monthName(report.from, 'long'), monthName(report.to, 'long'))}>
      <Figures
        figures={[
          { name: t.suppliers, value: count(report.supplier_count) },
          { name: t.total, value: money(report.monto_total) },
        ]}
      />
      <div class={css.states}>
        <Bars label={t.states} bars={bars} />
        <Table<State>
          label={t.states}
          rows={states}
          keyOf={({ status }) => status}
          columns={[
            { name: t.stateName, cell: ({ status }) => <Badge tone={TONES[status]}>{t.state[status]}</Badge> },
            { name: t.suppliers, end: true, by: ({ suppliers }) => suppliers, cell: ({ suppliers }) => count(suppliers) },
            { name: t.amount, end: true, cell: ({ amount }) => amount && money(amount) },
          ]}
        />
      </div>
    </Panel>
  )
}

/** On which lists a supplier is. Nothing while it is not known. */
function Lists({ item }: { item: Item | undefined }) {
  const t = useWords(words)
  const textOf = useListed()
  if (!item || item.is_listed === null) return <>{NOTHING}</>
  if (item.hits.length === 0) return <small>{t.clean}</small>
  return (
    <span class={css.badges}>
      {item.hits.map(({ source, situacion, is_active, since }) => (
        <span key={source} title={since ? day(since) : undefined}>
          {is_active || situacion ? (
            <Blacklist listed={{ source, situacion }} />
          ) : (
            <Badge tone="idle">{t.was(textOf({ source, situacion: null }))}</Badge>
          )}
        </span>
      ))}
    </span>
  )
}

function Rows({ report }: { report: RepseSupplierReport }) {
  const t = useWords(words)
  const listed = useWords(cfdi)
  const zone = useZone()
  const rfcs = report.suppliers.map(({ rfc }) => rfc)
  const lists = useQuery({
    queryKey: ['suppliers-lists', rfcs],
    enabled: rfcs.length > 0,
    queryFn: () => answer(api.POST('/v1/blacklists/lookup', { body: { rfcs } })),
  })
  const agesOf = ({ checked_sources }: BlacklistBatch): string =>
    checked_sources
      .map(({ source, list_label, list_updated_at, fetched_at }) => {
        const at = list_updated_at ?? fetched_at
        return `${listed.lists[source] ?? list_label} (${at ? day(at) : t.neverRead})`
      })
      .join(', ')
  const items = new Map(lists.data?.data.map((item) => [item.rfc, item]))
  return (
    <>
      {report.truncated && <p class={css.soft}>{t.truncated(count(report.suppliers.length), count(report.supplier_count))}</p>}
      <Problem error={lists.error} />
      <Panel flush title={t.list} lead={lists.data && t.listsAt(agesOf(lists.data))}>
        <Table<RepseSupplier>
          label={t.list}
          rows={report.suppliers}
          keyOf={({ rfc }) => rfc}
          columns={[
            {
              name: t.supplier,
              by: ({ rfc, name, razon_social }) => name ?? razon_social ?? rfc,
              cell: ({ rfc, name, razon_social }) => (
                <span class={css.party}>
                  <b>{name ?? razon_social ?? rfc}</b>
                  <small>{rfc}</small>
                </span>
              ),
            },
            {
              name: t.bought,
              end: true,
              by: ({ total_amount }) => total_amount,
              cell: ({ rfc, name, total_amount, invoice_count, drilldown }) => (
                <span class={css.bought}>
                  <a href={pageOf(drilldown)} aria-label={t.documents(name ?? rfc, money(total_amount))}>
                    {money(total_amount)}
                  </a>
                  <small>{t.invoices(count(invoice_count))}</small>
                </span>
              ),
            },
            { name: t.blacklist, cell: ({ rfc }) => <Lists item={items.get(rfc)} /> },
            {
              name: t.repse,
              by: ({ status }) => t.state[status],
              cell: ({ status, folio }) => (
                <span class={css.party}>
                  <Badge tone={TONES[status]}>{t.state[status]}</Badge>
                  {folio && <small>{t.folio(folio)}</small>}
                </span>
              ),
            },
            {
              name: t.valid,
              by: ({ vigencia_hasta }) => vigencia_hasta,
              cell: ({ vigencia_hasta, days_to_expiry }) =>
                vigencia_hasta && (
                  <span class={css.party}>
                    <span class={css.day}>{day(vigencia_hasta)}</span>
                    {days_to_expiry !== null && days_to_expiry >= 0 && <small>{t.inDays(count(days_to_expiry))}</small>}
                  </span>
                ),
            },
            {
              name: t.checked,
              by: ({ checked_at }) => checked_at,
              cell: ({ checked_at, is_stale }) => (
                <span class={css.party}>
                  {checked_at ? instant(checked_at, zone) : t.never}
                  {checked_at && is_stale && <small>{t.stale}</small>}
                </span>
              ),
            },
          ]}
        />
      </Panel>
    </>
  )
}

interface Asked {
  fiscal_entity_id: string
  months: number
  /** The lists, or situations on them, of which all suppliers are on one; empty for everybody. */
  blacklist: string
  everybody: () => void
}

function Report({ fiscal_entity_id, months, blacklist, everybody }: Asked) {
  const t = useWords(words)
  const asked = { fiscal_entity_id, months, ...(blacklist && { blacklist }) }
  const report = useQuery({
    queryKey: ['suppliers', asked],
    queryFn: () => answer(api.GET('/v1/cfdi/repse-suppliers', { params: { query: { ...asked, limit: MOST } } })),
    // Who is not checked yet is asked about in the background.
    refetchInterval: ({ state }) => ((state.data?.unknown_count ?? 0) > 0 ? UNCHECKED_MS : false),
  })
  return (
    <FilterWords.Provider value={useFilterText()}>
      <Loaded query={report} rows={6}>
        {(read) =>
          read.supplier_count === 0 && blacklist ? (
            <Empty title={t.noneListed} lead={t.noneListedLead}>
              <Button kind="primary" onClick={everybody}>
                {t.everyone}
              </Button>
            </Empty>
          ) : read.supplier_count === 0 ? (
            <Empty title={t.none} lead={t.noneLead} />
          ) : (
            <>
              <Shares report={read} />
              <Rows report={read} />
              <p class={css.soft}>
                {t.listedLead} <Link href={`/analytics/efos-exposure?fiscal_entity_id=${fiscal_entity_id}`}>{t.listed}</Link>
              </p>
              <Panel title={t.basis}>
                <Facts facts={Object.entries(read.basis).map(([key, text]) => [t.basisKeys[key] ?? key, t.basisText[key] ?? text])} />
              </Panel>
            </>
          )
        }
      </Loaded>
      <Call call={`GET /v1/cfdi/repse-suppliers?${new URLSearchParams({ ...asked, months: String(months) })}`} />
    </FilterWords.Provider>
  )
}

export default function Suppliers() {
  const t = useWords(words)
  const textOf = useFilterText()
  const { entity, entities, error, refetch, choose, params, set } = useEntity()
  if (error && !entities) return <Failed isPage error={error} retry={refetch} />
  if (!entities) return <Skeleton rows={6} />
  if (entities.length === 0)
    return <Empty isPage title={t.connectTitle} lead={t.connectLead} action={{ label: t.connect, href: '/connect' }} />
  const asked = params.get('months') ?? ''
  const months = PERIODS.includes(asked) ? asked : '12'
  const blacklist = params.get('blacklist') ?? ''
  const change = (name: string, value: string) =>
    set((old) => {
      if (value) old.set(name, value)
      else old.delete(name)
      return old
    })
  return (
    <>
      <Title of={entity?.rfc} text={t.title} lead={t.lead}>
        <EntityPicker entities={entities} entity={entity} choose={choose} />
        <select aria-label={t.lists} value={blacklist} onChange={({ currentTarget }) => change('blacklist', currentTarget.value)}>
          <option value="">{t.everyone}</option>
          {[...new Set([...LISTS, ...(blacklist ? [blacklist] : [])])].map((one) => (
            <option key={one} value={one}>
              {one === ANY ? t.anyList : textOf('blacklist', one).value}
            </option>
          ))}
        </select>
        <select aria-label={t.period} value={months} onChange={({ currentTarget }) => change('months', currentTarget.value)}>
          {PERIODS.map((one) => (
            <option key={one} value={one}>
              {one === '1' ? t.month : t.months(one)}
            </option>
          ))}
        </select>
      </Title>
      {entity && isUnreadable(entity) ? (
        <Unreadable entity={entity} />
      ) : entity ? (
        <Report
          fiscal_entity_id={entity.fiscal_entity_id}
          months={Number(months)}
          blacklist={blacklist}
          everybody={() => change('blacklist', '')}
        />
      ) : (
        <Empty title={t.unknownRfc} />
      )}
    </>
  )
}
