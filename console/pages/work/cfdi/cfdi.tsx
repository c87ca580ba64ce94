import { Download } from 'lucide-preact'
import { useEffect, useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import type { Cfdi } from '../../../api/routes.d.ts'
import { count, day, NOTHING } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Badge } from '../../../parts/badge.tsx'
import { Button } from '../../../parts/button.tsx'
import { EntityPicker, useEntity } from '../../../parts/entity.tsx'
import { Loaded } from '../../../parts/loaded.tsx'
import { Call, Panel, Title } from '../../../parts/page.tsx'
import { Empty, Failed, Skeleton } from '../../../parts/states.tsx'
import { Table } from '../../../parts/table.tsx'
import { isUnreadable, Unreadable } from '../../../parts/unreadable.tsx'
import { FilterWords } from '../../../parts/wrong.tsx'
import { useMayWrite } from '../../../session.ts'
import { Amount } from './amount.tsx'
import { remember } from './back.ts'
import { Blacklist, Estatus, Payment } from './badges.tsx'
import css from './cfdi.module.css'
import { chosen, searched, typedAmount } from './choose.ts'
import { EndOfList } from './endless.tsx'
import { Exporting } from './exporting.tsx'
import { CfdiFilters, type Filters, filtersOf, isDay, strangersOf, useFilterText } from './filters.tsx'
import { viewOf } from './kept-views.ts'
import { useCfdiList } from './list.ts'
import { hasTotal, nameOf } from './name.ts'
import { Sums } from './sums.tsx'
import { Views } from './views.tsx'
import { words } from './words.ts'

/** While somebody types. */
const PAUSE_MS = 350

function Search({ value, set }: { value: string; set: (q: string) => void }) {
  const t = useWords(words)
  const [typed, type] = useState(value)
  useEffect(() => type(value), [value])
  useEffect(() => {
    if (typed.trim() === value) return
    const timer = setTimeout(() => {
      set(typed.trim())
      // It is a filter from now on.
      if (typedAmount(typed) !== null) type('')
    }, PAUSE_MS)
    return () => clearTimeout(timer)
  }, [typed])
  return (
    <input
      type="search"
      class={css.search}
      aria-label={t.search}
      placeholder={t.search}
      value={typed}
      maxLength={100}
      onInput={({ currentTarget }) => type(currentTarget.value)}
    />
  )
}

function Rows({ rows, as_of }: { rows: readonly Cfdi[]; as_of: string | undefined }) {
  const t = useWords(words)
  return (
    <Table<Cfdi>
      label={t.list}
      rows={rows}
      keyOf={({ uuid }) => uuid}
      columns={[
        {
          name: t.folio,
          cell: (one) => (
            <Link
              href={`/cfdi/${one.uuid}?${new URLSearchParams({ fiscal_entity_id: one.fiscal_entity_id, ...(as_of && { as_of }) })}`}
              aria-label={t.open(nameOf(one))}
              class={css.open}
            >
              {nameOf(one)}
            </Link>
          ),
        },
        { name: t.date, cell: ({ fecha }) => <span class={css.day}>{day(fecha)}</span> },
        { name: t.status, cell: (one) => <Estatus cfdi={one} /> },
        {
          name: t.type,
          cell: ({ kind, tipo_comprobante }) => (kind === 'retenciones' ? t.retenciones : (t.tipo[tipo_comprobante ?? ''] ?? NOTHING)),
        },
        {
          name: t.counterparty,
          cell: ({ counterparty, direction }) => (
            <span class={css.party}>
              <small>{t[direction]}</small>
              <span>{counterparty.nombre ?? counterparty.rfc}</span>
              <Blacklist listed={counterparty.blacklist} />
            </span>
          ),
        },
        { name: t.total, end: true, cell: (one) => (hasTotal(one) ? <Amount of={one} amount={one.total} /> : NOTHING) },
        {
          name: t.balance,
          end: true,
          // Nobody owes what a cancelled document says.
          cell: (one) => (one.balance === null || one.estatus === 'cancelado' ? null : <Amount of={one} amount={one.balance} />),
        },
        { name: t.payment, cell: (one) => <Payment cfdi={one} /> },
      ]}
    />
  )
}

interface ListProps {
  fiscal_entity_id: string
  filters: Filters
  sort: string
  clear: () => void
  exportAll: () => void
}

const askedOf = (filters: Filters, sort: string): Filters => ({ ...filters, ...(sort && { sort }) })

function List({ fiscal_entity_id, filters, sort, clear, exportAll }: ListProps) {
  const t = useWords(words)
  const asked = askedOf(filters, sort)
  const list = useCfdiList(fiscal_entity_id, asked)
  return (
    <FilterWords.Provider value={useFilterText()}>
      <Loaded query={list} rows={8}>
        {({ pages }) => {
          const rows = pages.flatMap(({ data }) => data) as Cfdi[]
          const last = pages.at(-1)!
          const status = pages.find((page) => page.data_status)?.data_status
          if (rows.length === 0 && !last.has_more)
            return Object.keys(filters).length > 0 ? (
              <Empty title={t.none} lead={t.noneLead}>
                <Button kind="primary" onClick={clear}>
                  {t.clear}
                </Button>
                <Button onClick={exportAll}>{t.exportUnfiltered}</Button>
              </Empty>
            ) : (
              <Empty title={t.noneYet} lead={t.noneYetLead} action={{ label: t.progress, href: `/rfcs/${fiscal_entity_id}` }} />
            )
          return (
            <>
              {status === 'downloading' && <Badge tone="going">{t.downloading}</Badge>}
              {status === 'missing' && <Badge tone="wait">{t.missing}</Badge>}
              <Sums fiscal_entity_id={fiscal_entity_id} filters={filters} />
              <Panel flush>
                <Rows rows={rows} as_of={filters['as_of']} />
              </Panel>
              <p class={css.shown} role="status">
                {t.shown(count(rows.length))} {last.has_more ? last.scanned_through && t.scanned(day(last.scanned_through)) : t.all}
              </p>
              <EndOfList list={list} pages={pages.length} rows={rows.length} />
            </>
          )
        }}
      </Loaded>
      <Call call={`GET /v1/cfdi?${new URLSearchParams({ fiscal_entity_id, ...asked })}`} />
    </FilterWords.Provider>
  )
}

export default function CfdiList() {
  const mayExport = useMayWrite()
  const t = useWords(words)
  const { entity, entities, error, refetch, choose, params, set } = useEntity()
  const search = params.toString()
  useEffect(() => remember(search), [search])
  if (error && !entities) return <Failed isPage error={error} retry={refetch} />
  if (!entities) return <Skeleton rows={8} />
  if (entities.length === 0)
    return <Empty isPage title={t.connectTitle} lead={t.connectLead} action={{ label: t.connect, href: '/connect' }} />
  const filters = filtersOf(params)
  const sort = params.get('sort') ?? ''
  const as_of = filters['as_of']
  const strangers = strangersOf(params)
  const change = (name: string, value: string) => set((old) => chosen(old, name, value), { replace: true })
  const own = entity ? { fiscal_entity_id: entity.fiscal_entity_id } : undefined
  const clear = () => set(own ?? {})
  // Other pages lead to the form of an export with its filters.
  const isExporting = params.get('export') === '1' && mayExport
  return (
    <>
      <Title of={entity?.rfc} text={t.title} lead={as_of ? undefined : t.lead}>
        <EntityPicker entities={entities} entity={entity} choose={choose} />
        <Button needs="admin" disabled={!entity} onClick={() => change('export', '1')}>
          <Download size={16} aria-hidden="true" />
          {t.exports}
        </Button>
      </Title>
      <div class={css.bar}>
        <Search value={filters['q'] ?? ''} set={(text) => set((old) => searched(old, text), { replace: true })} />
        <select aria-label={t.sort} value={sort || '-issued_at'} onChange={({ currentTarget }) => change('sort', currentTarget.value)}>
          {Object.entries(t.sorts).map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      </div>
      <CfdiFilters filters={filters} set={change} clear={clear} />
      <Views now={viewOf(params)} open={(view) => set({ ...Object.fromEntries(new URLSearchParams(view)), ...own })} />
      {as_of && isDay(as_of) && (
        <p class={css.note} role="note">
          <b>{t.asOf(day(as_of))}</b>
          <Button small onClick={() => change('as_of', '')}>
            {t.now}
          </Button>
        </p>
      )}
      {strangers.map((name) => (
        <p key={name} class={css.note} role="note">
          {t.stranger(name)}
          <Button small onClick={() => change(name, '')}>
            {t.removeStranger}
          </Button>
        </p>
      ))}
      {entity && isUnreadable(entity) ? (
        <Unreadable entity={entity} />
      ) : entity ? (
        <List {...{ filters, sort, clear }} fiscal_entity_id={entity.fiscal_entity_id} exportAll={() => set({ ...own, export: '1' })} />
      ) : (
        <Empty title={t.unknownRfc} />
      )}
      {isExporting && entity && (
        <Exporting entity={entity} filters={filters} asked={askedOf(filters, sort)} close={() => change('export', '')} />
      )}
    </>
  )
}
