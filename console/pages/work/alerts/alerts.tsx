import { useInfiniteQuery, useQuery } from '@tanstack/preact-query'
import { Link, useSearchParams } from 'wouter-preact'
import { textOf } from '../../../api/alerts.ts'
import { answer, api } from '../../../api/client.ts'
import { entitiesQuery, useSend } from '../../../api/queries.ts'
import type { Alert, AlertKind, FiscalEntity } from '../../../api/routes.d.ts'
import { instant, money } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Badge } from '../../../parts/badge.tsx'
import { Button } from '../../../parts/button.tsx'
import { Chips } from '../../../parts/chips.tsx'
import { clientOf } from '../../../parts/entity.tsx'
import { Select } from '../../../parts/field.tsx'
import { Loaded } from '../../../parts/loaded.tsx'
import { More } from '../../../parts/more.tsx'
import { Call, Panel, Title } from '../../../parts/page.tsx'
import { Empty, Problem } from '../../../parts/states.tsx'
import { Switch } from '../../../parts/switch.tsx'
import { FilterWords } from '../../../parts/wrong.tsx'
import { useZone } from '../../../session.ts'
import { openFirst, pageOf } from './about.ts'
import css from './alerts.module.css'
import { words } from './words.ts'

interface Filters {
  kind?: AlertKind
  fiscal_entity_id?: string
  state?: 'open' | 'resolved'
}
const NAMES = ['kind', 'fiscal_entity_id', 'state'] as const

function Item({ alert, entities }: { alert: Alert; entities: readonly FiscalEntity[] }) {
  const t = useWords(words)
  const zone = useZone()
  const reading = useSend(
    (alert_id: string, headers) => answer(api.POST('/v1/alerts/{alert_id}/read', { params: { path: { alert_id } }, headers })),
    ['alerts'],
  )
  const client = entities.find(({ fiscal_entity_id }) => fiscal_entity_id === alert.fiscal_entity_id)
  const href = pageOf(alert)
  return (
    <li class={css.item}>
      <div>
        {alert.resolved_at === null ? (
          <Badge tone={alert.severity === 'critical' ? 'bad' : 'wait'}>{t.severity[alert.severity]}</Badge>
        ) : (
          <Badge tone="good">{t.resolved}</Badge>
        )}
        {client ? <Link href={`/rfcs/${client.fiscal_entity_id}`}>{clientOf(client)}</Link> : alert.rfc}
        {alert.amount !== null && <b>{money(alert.amount, alert.currency)}</b>}
        <small>
          {t.kind[alert.kind]} · {instant(alert.created_at, zone)}
          {alert.resolved_at !== null && ` · ${t.wasResolved(instant(alert.resolved_at, zone))}`}
        </small>
      </div>
      <p>{textOf(alert)}</p>
      <div>
        {href && <Link href={href}>{t.open}</Link>}
        {alert.read_at === null ? (
          <Button small needs="admin" isBusy={reading.isPending} onClick={() => reading.mutate(alert.alert_id)}>
            {t.read}
          </Button>
        ) : (
          <small>{t.wasRead(instant(alert.read_at, zone))}</small>
        )}
      </div>
      <Problem error={reading.error} />
    </li>
  )
}

export default function Alerts() {
  const t = useWords(words)
  const [params, set] = useSearchParams()
  const { data: entities = [] } = useQuery(entitiesQuery)
  const isAll = params.get('is_read') === 'any'
  // An address may say any text: what the API does not know it refuses, and the page says so.
  const filters: Filters = Object.fromEntries(NAMES.flatMap((name) => (params.get(name) ? [[name, params.get(name)]] : [])))
  const asked = { sort: 'weight', ...filters, ...(!isAll && { is_read: false }) } as const
  const alerts = useInfiniteQuery({
    queryKey: ['alerts', asked],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor }) =>
      answer(api.GET('/v1/alerts', { params: { query: { limit: 50, ...asked, ...(cursor && { cursor }) } } })),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  })
  const reading = useSend((query: Filters, headers) => answer(api.POST('/v1/alerts/read', { params: { query }, headers })), ['alerts'])
  const change = (name: string, value: string) =>
    set((old) => {
      if (value) old.set(name, value)
      else old.delete(name)
      return old
    })
  const choices: Record<(typeof NAMES)[number], [string, string][]> = {
    kind: Object.entries(t.kind),
    fiscal_entity_id: entities.map((one) => [one.fiscal_entity_id, clientOf(one)]),
    state: Object.entries(t.state),
  }
  const sayOf = (name: string, value: string) => {
    const known = NAMES.find((one) => one === name)
    return { label: known ? t.names[known] : name, value: (known && choices[known].find(([one]) => one === value)?.[1]) ?? value }
  }
  const chips = NAMES.flatMap((name) => (filters[name] ? [{ name, ...sayOf(name, filters[name]) }] : []))
  const hasUnread = alerts.data?.pages.some(({ data }) => data.some(({ read_at }) => read_at === null)) ?? false
  return (
    <>
      <Title text={t.title} lead={t.lead}>
        <Switch
          label={t.show}
          value={isAll ? 'any' : 'false'}
          choices={[
            ['false', t.unread],
            ['any', t.all],
          ]}
          choose={(value) => change('is_read', value === 'any' ? 'any' : '')}
        />
        {hasUnread && (
          <Button needs="admin" isBusy={reading.isPending} onClick={() => reading.mutate(filters)}>
            {chips.length > 0 ? t.readThese : t.readAll}
          </Button>
        )}
      </Title>
      <Problem error={reading.error} />
      <Chips chips={chips} remove={(name) => change(name, '')} clear={() => set(isAll ? { is_read: 'any' } : {})}>
        {NAMES.map((name) => (
          <Select
            key={name}
            label={t.names[name]}
            value={filters[name] ?? ''}
            onChange={({ currentTarget }) => change(name, currentTarget.value)}
          >
            <option value="">{name === 'fiscal_entity_id' ? t.anyRfc : t.any}</option>
            {choices[name].map(([value, text]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </Select>
        ))}
      </Chips>
      <FilterWords.Provider value={sayOf}>
        <Loaded query={alerts} rows={3}>
          {({ pages }) => {
            const all = pages.flatMap(({ data }) => openFirst(data))
            if (all.length === 0)
              return chips.length > 0 ? (
                <Empty title={t.noneFiltered} lead={t.noneFilteredLead} />
              ) : (
                <Empty title={t.none} lead={t.noneLead} />
              )
            return (
              <Panel flush>
                <ul>
                  {all.map((alert) => (
                    <Item key={alert.alert_id} alert={alert} entities={entities} />
                  ))}
                </ul>
              </Panel>
            )
          }}
        </Loaded>
      </FilterWords.Provider>
      <More list={alerts} />
      <Call call={`GET /v1/alerts?${new URLSearchParams(Object.entries(asked).map(([name, value]) => [name, String(value)]))}`} />
    </>
  )
}
