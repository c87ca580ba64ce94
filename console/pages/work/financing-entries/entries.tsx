import { useInfiniteQuery } from '@tanstack/preact-query'
import { Link } from 'wouter-preact'
import { answer, api } from '../../../api/client.ts'
import type { InsightEntriesPage, InsightEntry, paths } from '../../../api/routes.d.ts'
import { money } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { ButtonLink } from '../../../parts/button.tsx'
import { useEntity } from '../../../parts/entity.tsx'
import { Loaded } from '../../../parts/loaded.tsx'
import { More } from '../../../parts/more.tsx'
import { Call, Panel, Title } from '../../../parts/page.tsx'
import { Empty, Failed, Skeleton } from '../../../parts/states.tsx'
import { Table } from '../../../parts/table.tsx'
import { words } from '../financing/words.ts'

type Query = paths['/v1/analytics/financing/entries']['get']['parameters']['query']

const NAMES = ['figure', 'rfc', 'month', 'as_of', 'advance_rate', 'max_age_days', 'debtor_cap']

function List({ own }: { own: Record<string, string> }) {
  const t = useWords(words)
  const fiscal_entity_id = own['fiscal_entity_id']!
  const list = useInfiniteQuery({
    queryKey: ['financing-entries', own],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor }) =>
      answer(
        api.GET('/v1/analytics/financing/entries', {
          params: { query: { ...(own as unknown as Query), limit: 50, ...(cursor && { cursor }) } },
        }),
      ) as Promise<InsightEntriesPage>,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  })
  const linkOf = (uuid: string) => (
    <Link href={`/cfdi/${uuid}?fiscal_entity_id=${fiscal_entity_id}`}>
      <code>{uuid}</code>
    </Link>
  )
  return (
    <>
      <Loaded query={list} rows={6}>
        {({ pages }) => {
          const rows = pages.flatMap(({ data }) => data)
          if (rows.length === 0) return <Empty title={t.noEntries} lead={t.noEntriesLead} />
          return (
            <Panel flush>
              <Table<InsightEntry>
                label={t.entries}
                rows={rows}
                keyOf={({ uuid, applies_to }) => `${uuid} ${applies_to}`}
                columns={[
                  { name: t.document, cell: ({ uuid }) => linkOf(uuid) },
                  { name: t.appliesTo, cell: ({ applies_to }) => applies_to && linkOf(applies_to) },
                  { name: t.amount, end: true, cell: ({ amount }) => money(amount) },
                ]}
              />
            </Panel>
          )
        }}
      </Loaded>
      <More list={list} />
      <Call call={`GET /v1/analytics/financing/entries?${new URLSearchParams(own)}`} />
    </>
  )
}

export default function Entries() {
  const t = useWords(words)
  const { entity, entities, error, refetch, params } = useEntity()
  if (error && !entities) return <Failed isPage error={error} retry={refetch} />
  if (!entities) return <Skeleton rows={6} />
  if (!entity) return <Empty isPage title={t.unknownRfc} action={{ label: t.connect, href: '/connect' }} />
  const { fiscal_entity_id } = entity
  const own: Record<string, string> = { fiscal_entity_id, figure: 'receivables.outstanding' }
  for (const name of NAMES) {
    const value = params.get(name)
    if (value) own[name] = value
  }
  return (
    <>
      <Title
        text={t.entries}
        lead={`${t.entriesLead} ${entity.rfc} · ${[own['figure'], own['rfc'], own['month']].filter(Boolean).join(' · ')}`}
      >
        <ButtonLink href={`/analytics/financing?fiscal_entity_id=${fiscal_entity_id}`}>{t.back}</ButtonLink>
      </Title>
      <List own={own} />
    </>
  )
}
