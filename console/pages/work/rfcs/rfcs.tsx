import { useQuery } from '@tanstack/preact-query'
import { Plus } from 'lucide-preact'
import { useState } from 'preact/hooks'
import { Link, useSearchParams } from 'wouter-preact'
import { openAlertsQuery } from '../../../api/alerts.ts'
import { nameOf, type Standing, sayOf, standingsQuery } from '../../../api/standings.ts'
import { Progress } from '../../../charts/progress.tsx'
import { count, instant, NOTHING } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { ButtonLink } from '../../../parts/button.tsx'
import { Call, Figures, Panel, Title } from '../../../parts/page.tsx'
import { Empty, Failed, Skeleton } from '../../../parts/states.tsx'
import { Switch } from '../../../parts/switch.tsx'
import { type Column, Table } from '../../../parts/table.tsx'
import { useZone } from '../../../session.ts'
import css from './rfcs.module.css'
import { Several } from './several.tsx'
import { remedyOf, StandingBadge } from './standing.tsx'
import { words } from './words.ts'

/** What needs a person comes first. */
const ORDER: Record<Standing['state'], number> = { blocked: 0, waiting: 1, running: 2, idle: 3 }

const plain = (text: string): string => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()

/** Whether each of the words that are sought is part of the RFC or of a name. */
const matches = ({ rfc, name, taxpayer_name }: Standing, sought: string): boolean => {
  const own = plain(`${rfc} ${name ?? ''} ${taxpayer_name ?? ''}`)
  return plain(sought)
    .split(/\s+/)
    .every((word) => own.includes(word))
}

const SEARCHED_FROM = 6

/** The states that the list can be narrowed to: how the connection stands where it is not active, else how its downloads do. */
const stateOf = ({ connection_status, state }: Standing) => (connection_status === 'active' ? state : 'inactive')
const STATES = ['any', 'blocked', 'waiting', 'running', 'idle', 'inactive'] as const

export default function Rfcs() {
  const t = useWords(words)
  const zone = useZone()
  const [params, set] = useSearchParams()
  const { data, error, refetch } = useQuery(standingsQuery)
  const { data: alerts } = useQuery(openAlertsQuery)
  const [sought, seek] = useState('')
  const [ticks, tick] = useState<ReadonlySet<string>>(new Set())
  if (error && !data) return <Failed isPage error={error} retry={refetch} />
  if (!data) return <Skeleton rows={6} />
  const state = STATES.find((one) => one === params.get('state')) ?? 'any'
  const found = data.filter((one) => matches(one, sought)).sort((a, b) => ORDER[a.state] - ORDER[b.state])
  const shown = state === 'any' ? found : found.filter((one) => stateOf(one) === state)
  const states = STATES.map((one) => [one, one === 'any' ? found.length : found.filter((each) => stateOf(each) === one).length] as const)
  const ticked = shown.filter(({ fiscal_entity_id }) => ticks.has(fiscal_entity_id))
  const blocked = data.filter((one) => one.state === 'blocked').length
  const figures = [
    { name: t.all, value: count(data.length) },
    { name: t.active, value: count(data.filter((one) => one.connection_status === 'active').length) },
    { name: t.attention, value: blocked > 0 ? <Link href="/?state=blocked">{count(blocked)}</Link> : count(0) },
    { name: t.alerts, value: <Link href="/alerts">{alerts === undefined ? NOTHING : alerts || count(0)}</Link> },
  ]
  const toggle = (ids: readonly string[], isOn: boolean) =>
    tick((before) => new Set([...before].filter((id) => !ids.includes(id)).concat(isOn ? ids : [])))
  const box = (label: string, ids: readonly string[]) => (
    <input
      type="checkbox"
      aria-label={label}
      checked={ids.length > 0 && ids.every((id) => ticks.has(id))}
      onChange={({ currentTarget }) => toggle(ids, currentTarget.checked)}
    />
  )
  const columns: Column<Standing>[] = [
    {
      name: 'RFC',
      by: ({ rfc }) => rfc,
      cell: (one) => (
        <span class={css.name} data-rfc={one.rfc}>
          {box(t.tick(one.rfc), [one.fiscal_entity_id])}
          <Link href={`/rfcs/${one.fiscal_entity_id}`}>{one.rfc}</Link>
        </span>
      ),
    },
    { name: t.name, by: nameOf, cell: (one) => <span class={css.line}>{nameOf(one)}</span> },
    { name: t.state, by: (one) => t.states[stateOf(one)], cell: (one) => <StandingBadge {...one} /> },
    {
      name: t.says,
      cell: (one) => {
        const remedy = remedyOf(one)
        return (
          <>
            <span class={css.line} title={sayOf(one, zone)}>
              {sayOf(one, zone)}
            </span>
            {remedy && <Link href={remedy.href}>{t.do[remedy.what]}</Link>}
          </>
        )
      },
    },
    {
      name: t.progress,
      end: true,
      by: ({ percent }) => percent,
      cell: ({ rfc, jobs, percent }) =>
        jobs.total > 0 && (
          <span class={css.progress}>
            <Progress jobs={jobs} label={`${rfc}: ${percent} %`} />
            {t.of(count(jobs.succeeded), count(jobs.total))}
            {jobs.failed > 0 && ` · ${t.failed(count(jobs.failed))}`}
          </span>
        ),
    },
    { name: t.last, end: true, by: ({ last_success_at: at }) => at, cell: ({ last_success_at: at }) => at && instant(at, zone) },
  ]
  return (
    <>
      <Title text={t.title} lead={t.lead}>
        <ButtonLink href="/connect" kind="primary" needs="admin">
          <Plus size={17} aria-hidden="true" />
          {t.connect}
        </ButtonLink>
      </Title>
      {data.length === 0 ? (
        <Empty title={t.none} lead={t.noneLead} action={{ label: t.connect, href: '/connect' }} />
      ) : (
        <>
          <Figures figures={figures} />
          {data.length >= SEARCHED_FROM && (
            <div class={css.narrow}>
              <input
                type="search"
                class={css.search}
                placeholder={t.search}
                aria-label={t.search}
                value={sought}
                onInput={({ currentTarget }) => seek(currentTarget.value)}
              />
              <Switch
                label={t.state}
                value={state}
                choices={states.filter(([one, n]) => n > 0 || one === state).map(([one, n]) => [one, `${t.states[one]} ${count(n)}`])}
                choose={(value) => set(value === 'any' ? {} : { state: value })}
              />
            </div>
          )}
          <Several ticked={ticked} clear={() => tick(new Set())} />
          {shown.length === 0 ? (
            <Empty title={t.nobody} lead={t.nobodyLead} />
          ) : (
            <Panel flush>
              <div class={css.dense}>
                <div class={css.all}>
                  {box(
                    t.tickAll,
                    shown.map(({ fiscal_entity_id }) => fiscal_entity_id),
                  )}
                  {t.tickAll}
                </div>
                <Table<Standing> label={t.title} columns={columns} rows={shown} keyOf={({ fiscal_entity_id }) => fiscal_entity_id} />
              </div>
            </Panel>
          )}
        </>
      )}
      <Call call="GET /v1/sync" />
    </>
  )
}
