import { useQuery } from '@tanstack/preact-query'
import { Plus } from 'lucide-preact'
import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { openAlertsQuery } from '../../../api/alerts.ts'
import { type Standing, standingsQuery } from '../../../api/standings.ts'
import { count, NOTHING } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { ButtonLink } from '../../../parts/button.tsx'
import { Call, Figures, Title } from '../../../parts/page.tsx'
import { Empty, Failed, Skeleton } from '../../../parts/states.tsx'
import { Card } from './card.tsx'
import css from './rfcs.module.css'
import { words } from './words.ts'

/** What needs a person comes first. */
const ORDER: Record<Standing['state'], number> = { blocked: 0, waiting: 1, running: 2, idle: 3 }

const plain = (text: string): string => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()

const matches = ({ rfc, name, taxpayer_name }: Standing, sought: string): boolean =>
  plain(`${rfc} ${name ?? ''} ${taxpayer_name ?? ''}`).includes(plain(sought))

/** The months of so few RFCs are shown by themselves. */
const FEW = 2
const SEARCHED_FROM = 6

export default function Rfcs() {
  const t = useWords(words)
  const { data, error, refetch } = useQuery(standingsQuery)
  const { data: alerts } = useQuery(openAlertsQuery)
  const [sought, seek] = useState('')
  if (error && !data) return <Failed isPage error={error} retry={refetch} />
  if (!data) return <Skeleton rows={6} />
  const shown = data.filter((one) => matches(one, sought)).sort((a, b) => ORDER[a.state] - ORDER[b.state])
  const blocked = data.filter(({ state }) => state === 'blocked').length
  const figures = [
    { name: t.all, value: count(data.length) },
    { name: t.active, value: count(data.filter((one) => one.connection_status === 'active').length) },
    { name: t.attention, value: count(blocked) },
    { name: t.alerts, value: <Link href="/alerts">{alerts === undefined ? NOTHING : alerts || count(0)}</Link> },
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
            <input
              type="search"
              class={css.search}
              placeholder={t.search}
              aria-label={t.search}
              value={sought}
              onInput={({ currentTarget }) => seek(currentTarget.value)}
            />
          )}
          {shown.length === 0 && <Empty title={t.nobody} lead={t.nobodyLead} />}
          <ul class={css.cards}>
            {shown.map((standing) => (
              <Card key={standing.fiscal_entity_id} standing={standing} isOpen={data.length <= FEW} />
            ))}
          </ul>
        </>
      )}
      <Call call="GET /v1/sync" />
    </>
  )
}
