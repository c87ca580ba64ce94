import { useInfiniteQuery, useQuery } from '@tanstack/preact-query'
import { useState } from 'preact/hooks'
import { Link, useSearchParams } from 'wouter-preact'
import { answer, api } from '../../../api/client.ts'
import { entitiesQuery } from '../../../api/queries.ts'
import type { AuditEvent } from '../../../api/routes.d.ts'
import { instant } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Button } from '../../../parts/button.tsx'
import { Chips } from '../../../parts/chips.tsx'
import { Field, Select } from '../../../parts/field.tsx'
import { Loaded } from '../../../parts/loaded.tsx'
import { More } from '../../../parts/more.tsx'
import { Call, Panel, Title } from '../../../parts/page.tsx'
import { Empty } from '../../../parts/states.tsx'
import { Table } from '../../../parts/table.tsx'
import { FilterWords } from '../../../parts/wrong.tsx'
import { useMayWrite, useZone } from '../../../session.ts'
import css from '../account.module.css'
import { dayIn, endOfDay, startOfDay } from '../days.ts'
import { credentialsQuery, membersQuery, rowsOf } from '../lists.ts'
import { words as common } from '../words.ts'
import { Known } from './known.tsx'
import { PROCESSES } from './spanish.ts'
import { ACTIONS, words } from './words.ts'

/** The filters of `GET /v1/audit-events`, which are the address of the page too. */
const NAMES = ['actor', 'action', 'since', 'until', 'resource_id'] as const
type Filters = Partial<Record<(typeof NAMES)[number], string>>

/** A year that is still being typed is no filter. */
const FIRST_DAY = '2000-01-01'

const SYSTEM = Object.keys(PROCESSES).map((one) => `system:${one}`)

/** The page of what was changed, by the form of its id. */
const PAGES: readonly [RegExp, (id: string) => string][] = [
  [/^fe_/, (id) => `/rfcs/${id}`],
  [/^ext_/, (id) => `/extractors/${id}`],
  [/^wh/, (id) => `/webhooks/${id}`],
  [/^[0-9a-f]{8}-/, (id) => `/cfdi/${id}`],
  [/^(mem|ivt)_/, () => '/team'],
  [/^fds_/, () => '/credentials'],
  [/^inv_/, () => '/billing'],
  [/^org_/, () => '/organization'],
  [/^stc_/, () => '/storage'],
  [/^exp_/, () => '/exports'],
]
const pageOf = (id: string): string | null => PAGES.find(([form]) => form.test(id))?.[1](id) ?? null

/** Who a credential or process is. Of a revoked credential only its key is known. */
function useActors() {
  const t = useWords(words)
  const c = useWords(common)
  const { data: credentials } = useInfiniteQuery(credentialsQuery)
  const { data: members } = useInfiniteQuery(membersQuery)
  const all = rowsOf(credentials).map(({ api_key, name, member_id }) => ({
    api_key,
    name: `${rowsOf(members).find((one) => one.member_id === member_id)?.name ?? member_id} · ${c.credential(name)}`,
  }))
  const nameOf = (actor: string): string =>
    actor.startsWith('system:') ? t.system(actor.slice('system:'.length)) : (all.find(({ api_key }) => api_key === actor)?.name ?? actor)
  return { all, nameOf }
}

/** The RFC of a fiscal entity, where it is still connected. */
function useRfcOf(): (id: string) => string | undefined {
  const { data } = useQuery(entitiesQuery)
  return (id) => (id.startsWith('fe_') ? data?.find((one) => one.fiscal_entity_id === id)?.rfc : undefined)
}

/** Whether nothing was stored of what was sent. */
const isRefused = (action: string): boolean => action.endsWith('_refused')

interface FiltersProps {
  filters: Filters
  set: (name: string, value: string) => void
  clear: () => void
}

function AuditFilters({ filters, set, clear }: FiltersProps) {
  const t = useWords(words)
  const zone = useZone()
  const { all, nameOf } = useActors()
  const rfcOf = useRfcOf()
  const whenOf = (value: string) => (dayIn(value, zone) ? instant(value, zone) : value)
  const textOf = { actor: nameOf, action: t.action, since: whenOf, until: whenOf, resource_id: (id: string) => rfcOf(id) ?? id }
  const chips = NAMES.flatMap((name) => {
    const value = filters[name]
    return value ? [{ name, label: t.names[name]!, value: textOf[name](value) }] : []
  })
  const known = [...all.map(({ api_key }) => api_key), ...SYSTEM]
  return (
    <Chips chips={chips} remove={(name) => set(name, '')} clear={clear}>
      <Select label={t.names['actor']!} value={filters.actor ?? ''} onChange={({ currentTarget }) => set('actor', currentTarget.value)}>
        <option value="">{t.any}</option>
        {filters.actor && !known.includes(filters.actor) && <option value={filters.actor}>{filters.actor}</option>}
        <optgroup label={t.credentials}>
          {all.map(({ api_key, name }) => (
            <option key={api_key} value={api_key}>
              {name}
            </option>
          ))}
        </optgroup>
        <optgroup label={t.processes}>
          {SYSTEM.map((one) => (
            <option key={one} value={one}>
              {nameOf(one)}
            </option>
          ))}
        </optgroup>
      </Select>
      <Select label={t.names['action']!} value={filters.action ?? ''} onChange={({ currentTarget }) => set('action', currentTarget.value)}>
        <option value="">{t.any}</option>
        {filters.action && !ACTIONS[filters.action] && <option value={filters.action}>{filters.action}</option>}
        {Object.keys(ACTIONS).map((one) => (
          <option key={one} value={one}>
            {t.action(one)}
          </option>
        ))}
      </Select>
      <Field
        label={t.names['since']!}
        type="date"
        value={dayIn(filters.since ?? '', zone)}
        min={FIRST_DAY}
        onChange={({ currentTarget: one }) => one.checkValidity() && set('since', one.value && startOfDay(one.value, zone))}
      />
      <Field
        label={t.names['until']!}
        type="date"
        value={dayIn(filters.until ?? '', zone)}
        min={FIRST_DAY}
        onChange={({ currentTarget: one }) => one.checkValidity() && set('until', one.value && endOfDay(one.value, zone))}
      />
      <Field
        label={t.names['resource_id']!}
        value={filters.resource_id ?? ''}
        spellcheck={false}
        onChange={({ currentTarget }) => set('resource_id', currentTarget.value.trim())}
      />
    </Chips>
  )
}

function Events({ filters }: { filters: Filters }) {
  const t = useWords(words)
  const zone = useZone()
  const { nameOf } = useActors()
  const rfcOf = useRfcOf()
  const list = useInfiniteQuery({
    queryKey: ['audit-events', filters],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor }) =>
      answer(api.GET('/v1/audit-events', { params: { query: { ...filters, limit: 50, ...(cursor && { cursor }) } } })),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  })
  /** The same page with one more filter. */
  const only = (name: keyof Filters, value: string) => `/audit-events?${new URLSearchParams({ ...filters, [name]: value })}`
  return (
    <>
      <Loaded query={list} rows={6}>
        {(data) => {
          const rows = rowsOf(data)
          if (rows.length === 0) return <Empty title={t.none} lead={t.noneLead} />
          return (
            <Panel flush>
              <Table<AuditEvent>
                label={t.title}
                rows={rows}
                keyOf={({ audit_event_id }) => audit_event_id}
                list={list}
                columns={[
                  {
                    name: t.when,
                    cell: ({ created_at }) => (
                      <time class={css.time} dateTime={created_at} title={created_at}>
                        {instant(created_at, zone)}
                      </time>
                    ),
                  },
                  {
                    name: t.who,
                    cell: ({ actor }) => (
                      <Link href={only('actor', actor)} title={t.only(nameOf(actor))}>
                        {nameOf(actor)}
                      </Link>
                    ),
                  },
                  {
                    name: t.what,
                    cell: ({ action, changed }) => (
                      <span class={css.two}>
                        <b>{t.titled(action, changed) ?? t.action(action)}</b>
                        {changed.length > 0 && !isRefused(action) && <small>{t.changed(changed)}</small>}
                      </span>
                    ),
                  },
                  {
                    name: t.on,
                    cell: ({ resource_id, request_id }) => {
                      const href = pageOf(resource_id)
                      return (
                        <span class={css.two}>
                          <span class={css.row}>
                            <Link href={only('resource_id', resource_id)} title={t.only(rfcOf(resource_id) ?? resource_id)}>
                              {rfcOf(resource_id) ?? <code>{resource_id}</code>}
                            </Link>
                            {href && (
                              <Link href={href} aria-label={t.viewOf(rfcOf(resource_id) ?? resource_id)}>
                                {t.view}
                              </Link>
                            )}
                          </span>
                          <small>{request_id}</small>
                        </span>
                      )
                    },
                  },
                ]}
              />
            </Panel>
          )
        }}
      </Loaded>
      <More list={list} />
      <Call call={`GET /v1/audit-events${Object.keys(filters).length > 0 ? `?${new URLSearchParams(filters)}` : ''}`} />
    </>
  )
}

export default function Audit() {
  const t = useWords(words)
  const mayRead = useMayWrite()
  const [params, go] = useSearchParams()
  const [isAsking, ask] = useState(false)
  const filters: Filters = {}
  for (const name of NAMES) {
    const value = params.get(name)
    if (value) filters[name] = value
  }
  const set = (name: string, value: string) =>
    go(
      (old) => {
        if (value) old.set(name, value)
        else old.delete(name)
        return old
      },
      { replace: true },
    )
  return (
    <>
      <Title text={t.title} lead={t.lead}>
        <Button onClick={() => ask(true)}>{t.prove}</Button>
      </Title>
      {mayRead ? (
        <>
          <AuditFilters filters={filters} set={set} clear={() => go({})} />
          <FilterWords.Provider value={(name, value) => ({ label: t.names[name] ?? name, value })}>
            <Events filters={filters} />
          </FilterWords.Provider>
        </>
      ) : (
        <Empty title={t.membersRead} lead={t.membersReadLead} />
      )}
      {isAsking && <Known close={() => ask(false)} />}
    </>
  )
}
