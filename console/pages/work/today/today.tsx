import { type QueryKey, useInfiniteQuery, useQuery } from '@tanstack/preact-query'
import { Link } from 'wouter-preact'
import { textOf } from '../../../api/alerts.ts'
import { answer, api } from '../../../api/client.ts'
import { entitiesQuery, everyPage } from '../../../api/queries.ts'
import type { Alert, BlacklistChangedEvent, PortfolioAttention, PortfolioObligation, PortfolioOpinion } from '../../../api/routes.d.ts'
import { sayOf } from '../../../api/standings.ts'
import { count, day, instant, money, NOTHING } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Badge } from '../../../parts/badge.tsx'
import { clientOf } from '../../../parts/entity.tsx'
import { Loaded } from '../../../parts/loaded.tsx'
import { type Endless, More } from '../../../parts/more.tsx'
import { Call, Panel, Title } from '../../../parts/page.tsx'
import { Empty, Failed, Skeleton } from '../../../parts/states.tsx'
import { type Column, Table } from '../../../parts/table.tsx'
import { useZone } from '../../../session.ts'
import { pageOf } from '../alerts/about.ts'
import { Blacklist } from '../cfdi/badges.tsx'
import { remedyOf } from '../rfcs/standing.tsx'
import { words as rfcs } from '../rfcs/words.ts'
import { words } from './words.ts'

const DUE_DAYS = 15
const LISTED_DAYS = 30
const DAY_MS = 86_400_000

interface Client {
  fiscal_entity_id: string
  rfc: string
  name?: string | null
}

interface Props<Row> {
  title: string
  lead: string
  none: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  keyOf: (row: Row) => string
  list?: Endless
}

/** What there is of one kind: a small table, or a sentence that there is nothing. */
const Part = <Row,>({ title, lead, none, ...table }: Props<Row>) => (
  <Panel flush={table.rows.length > 0} title={title} lead={table.rows.length > 0 ? lead : none}>
    <Table label={title} {...table} />
    {table.list && <More list={table.list} />}
  </Panel>
)

/** The same of what is read at once, all pages of it. */
function Read<Row>({
  queryKey,
  read,
  ...part
}: Omit<Props<Row>, 'rows' | 'list'> & {
  queryKey: QueryKey
  read: (query: { limit: number; cursor?: string }) => Promise<{ data: Row[]; next_cursor: string | null }>
}) {
  const query = useQuery<Row[]>({ queryKey: ['today', ...queryKey], queryFn: () => everyPage(read) })
  return <Loaded query={query}>{(rows) => <Part {...part} rows={rows} />}</Loaded>
}

/** The column that names the RFC. */
function useClient<Row extends Client>(hash = ''): Column<Row> {
  const { client } = useWords(words)
  const { data: entities = [] } = useQuery(entitiesQuery)
  const named = (one: Row) => clientOf(entities.find(({ fiscal_entity_id }) => fiscal_entity_id === one.fiscal_entity_id) ?? one)
  return { name: client, by: named, cell: (one) => <Link href={`/rfcs/${one.fiscal_entity_id}${hash}`}>{named(one)}</Link> }
}

function Attention() {
  const t = useWords(words)
  const { do: does } = useWords(rfcs)
  const zone = useZone()
  return (
    <Read<PortfolioAttention>
      {...{ title: t.attention, lead: t.attentionLead, none: t.noAttention, queryKey: ['attention'] }}
      read={(query) => answer(api.GET('/v1/portfolio/attention', { params: { query } }))}
      keyOf={({ fiscal_entity_id }) => fiscal_entity_id}
      columns={[
        useClient(),
        {
          name: t.says,
          cell: (one) => {
            const remedy = remedyOf(one)
            return (
              <span>
                {sayOf(one, zone)} {remedy && <Link href={remedy.href}>{does[remedy.what]}</Link>}
              </span>
            )
          },
        },
        {
          name: t.months,
          end: true,
          by: ({ partial_months: n }) => n,
          cell: ({ fiscal_entity_id, partial_months: n }) =>
            n > 0 && <Link href={`/cfdi/summary/monthly?fiscal_entity_id=${fiscal_entity_id}`}>{count(n)}</Link>,
        },
      ]}
    />
  )
}

function Due() {
  const t = useWords(words)
  return (
    <Read<PortfolioObligation>
      {...{ title: t.due, lead: t.dueLead(count(DUE_DAYS)), none: t.noDue, queryKey: ['due'] }}
      read={(query) => answer(api.GET('/v1/portfolio/obligations', { params: { query: { ...query, days: DUE_DAYS } } }))}
      keyOf={({ fiscal_entity_id, description, period }) => `${fiscal_entity_id} ${description} ${period}`}
      columns={[
        useClient(),
        { name: t.obligation, by: ({ description }) => description, cell: ({ description }) => description },
        { name: t.period, by: ({ period }) => period, cell: ({ period }) => period ?? NOTHING },
        {
          name: t.dueDate,
          by: ({ due_date }) => due_date,
          cell: ({ due_date, extended_due_date }) => (
            <span>
              {day(due_date)} {extended_due_date && extended_due_date !== due_date && <small>{t.extended(day(extended_due_date))}</small>}
            </span>
          ),
        },
        {
          name: t.daysLeft,
          end: true,
          by: ({ days_left }) => days_left,
          cell: ({ days_left }) => <Badge tone={days_left <= 1 ? 'bad' : days_left <= 5 ? 'wait' : 'idle'}>{count(days_left)}</Badge>,
        },
      ]}
    />
  )
}

/** The documents with a counterparty. */
const documentsOf = ({ fiscal_entity_id, counterparty_rfc }: BlacklistChangedEvent, direction: 'issued' | 'received'): string =>
  `/cfdi?${new URLSearchParams({ fiscal_entity_id, counterparty_rfc, direction })}`

function Listed() {
  const t = useWords(words)
  const zone = useZone()
  const sum = (one: BlacklistChangedEvent, direction: 'issued' | 'received', amount: string | null) =>
    amount && (
      <Link href={documentsOf(one, direction)} aria-label={`${one.counterparty_rfc}: ${money(amount)}`}>
        {money(amount)}
      </Link>
    )
  return (
    <Read<BlacklistChangedEvent>
      {...{ title: t.listed, lead: t.listedLead(count(LISTED_DAYS)), none: t.noListed, queryKey: ['listed'] }}
      read={async (query) => {
        const since = `${new Date(Date.now() - LISTED_DAYS * DAY_MS).toISOString().slice(0, 10)}T00:00:00Z`
        const { data, next_cursor } = await answer(api.GET('/v1/portfolio/listed', { params: { query: { ...query, since } } }))
        return { data: data.filter((one) => one.event === 'blacklist.changed'), next_cursor }
      }}
      keyOf={({ event_id }) => event_id}
      columns={[
        {
          name: t.counterparty,
          by: ({ counterparty_name, counterparty_rfc }) => counterparty_name || counterparty_rfc,
          cell: ({ counterparty_name, counterparty_rfc }) => (
            <span>
              {counterparty_name} <small>{counterparty_rfc}</small>
            </span>
          ),
        },
        {
          name: t.list,
          by: ({ list_label }) => list_label,
          cell: ({ source, situacion }) => <Blacklist listed={{ source, situacion }} />,
        },
        useClient(),
        { name: t.purchases, end: true, by: (one) => one.purchases_mxn, cell: (one) => sum(one, 'received', one.purchases_mxn) },
        { name: t.sales, end: true, by: (one) => one.sales_mxn, cell: (one) => sum(one, 'issued', one.sales_mxn) },
        { name: t.since, end: true, by: ({ occurred_at }) => occurred_at, cell: ({ occurred_at }) => instant(occurred_at, zone) },
      ]}
    />
  )
}

type Told = Alert & { fiscal_entity_id: string; rfc: string }

/** The unread alerts of a kind that is always about an RFC. */
function News({
  kind,
  hash,
  ...part
}: {
  kind: 'cfdi.cancelled_after_payment' | 'mailbox.notification_received'
  hash?: string
  title: string
  lead: string
  none: string
}) {
  const t = useWords(words)
  const zone = useZone()
  const asked = { kind, is_read: false, sort: 'weight', state: 'open' } as const
  const alerts = useInfiniteQuery({
    queryKey: ['alerts', asked],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor }) =>
      answer(api.GET('/v1/alerts', { params: { query: { limit: 20, ...asked, ...(cursor && { cursor }) } } })),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  })
  const columns: Column<Told>[] = [
    useClient(hash),
    {
      name: t.what,
      cell: (one) => <Link href={pageOf(one) ?? `/alerts?kind=${kind}`}>{textOf(one)}</Link>,
    },
    {
      name: t.amount,
      end: true,
      by: ({ amount }) => amount,
      cell: ({ amount, currency }) => amount !== null && money(amount, currency),
    },
    { name: t.found, end: true, by: ({ created_at }) => created_at, cell: ({ created_at }) => instant(created_at, zone) },
  ]
  return (
    <Loaded query={alerts}>
      {({ pages }) => {
        const rows = pages.flatMap(({ data }) => data as Told[])
        const isSummed = rows.some(({ amount }) => amount !== null)
        return (
          <Part
            {...part}
            rows={rows}
            list={alerts}
            keyOf={({ alert_id }) => alert_id}
            columns={columns.filter(({ name }) => isSummed || name !== t.amount)}
          />
        )
      }}
    </Loaded>
  )
}

function Opinions() {
  const t = useWords(words)
  return (
    <Read<PortfolioOpinion>
      {...{ title: t.opinions, lead: t.opinionsLead, none: t.noOpinions, queryKey: ['opinions'] }}
      read={(query) => answer(api.GET('/v1/portfolio/opinions', { params: { query: { ...query, sense: 'negativo' } } }))}
      keyOf={({ fiscal_entity_id }) => fiscal_entity_id}
      columns={[
        useClient(),
        { name: t.folio, cell: ({ folio }) => folio },
        { name: t.opinionDay, end: true, by: ({ document_date }) => document_date, cell: ({ document_date }) => day(document_date) },
      ]}
    />
  )
}

export default function Today() {
  const t = useWords(words)
  const { data: entities, error, refetch } = useQuery(entitiesQuery)
  if (error && !entities) return <Failed isPage error={error} retry={refetch} />
  if (!entities) return <Skeleton rows={6} />
  return (
    <>
      <Title text={t.title} lead={t.lead} />
      {entities.length === 0 ? (
        <Empty title={t.none} lead={t.noneLead} action={{ label: t.connect, href: '/connect' }} />
      ) : (
        <>
          <Attention />
          <Due />
          <Listed />
          <News {...{ title: t.cancelled, lead: t.cancelledLead, none: t.noCancelled, kind: 'cfdi.cancelled_after_payment' }} />
          <News
            {...{ title: t.mailbox, lead: t.mailboxLead, none: t.noMailbox, kind: 'mailbox.notification_received', hash: '#mailbox' }}
          />
          <Opinions />
        </>
      )}
      <Call call={`GET /v1/portfolio/attention, /obligations?days=${DUE_DAYS}, /listed, /opinions?sense=negativo`} />
    </>
  )
}
