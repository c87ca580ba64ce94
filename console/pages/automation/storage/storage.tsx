import { useInfiniteQuery } from '@tanstack/preact-query'
import { Plus } from 'lucide-preact'
import { Link, useLocation } from 'wouter-preact'
import { answer, api } from '../../../api/client.ts'
import type { StorageConnector } from '../../../api/routes.d.ts'
import { count, instant } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Button } from '../../../parts/button.tsx'
import { Loaded } from '../../../parts/loaded.tsx'
import { More } from '../../../parts/more.tsx'
import { Call, Panel, Title } from '../../../parts/page.tsx'
import { Empty } from '../../../parts/states.tsx'
import { Table } from '../../../parts/table.tsx'
import { useZone } from '../../../session.ts'
import { ConnectorBadge } from '../connector/state.tsx'
import { words } from '../connector/words.ts'

export default function Storage() {
  const t = useWords(words)
  const zone = useZone()
  const [, go] = useLocation()
  const list = useInfiniteQuery({
    queryKey: ['storage'],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor }) =>
      answer(api.GET('/v1/storage-connectors', { params: { query: { limit: 50, ...(cursor && { cursor }) } } })),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  })
  return (
    <>
      <Title text={t.title} lead={t.lead}>
        <Button kind="primary" needs="admin" onClick={() => go('/storage/new')}>
          <Plus size={17} aria-hidden="true" />
          {t.create}
        </Button>
      </Title>
      <Loaded query={list} rows={2}>
        {({ pages }) => {
          const rows = pages.flatMap(({ data }) => data)
          if (rows.length === 0) return <Empty title={t.none} lead={t.noneLead} />
          return (
            <Panel flush>
              <Table<StorageConnector>
                label={t.title}
                rows={rows}
                keyOf={({ connector_id }) => connector_id}
                list={list}
                columns={[
                  {
                    name: t.name,
                    cell: (one) => (
                      <Link href={`/storage/${one.connector_id}`}>
                        <b>{one.name}</b>
                      </Link>
                    ),
                  },
                  { name: t.provider, cell: (one) => t.providers[one.provider] },
                  { name: t.state, cell: (one) => <ConnectorBadge connector={one} /> },
                  { name: t.copied, end: true, cell: (one) => count(one.copied_count) },
                  { name: t.pending, end: true, cell: (one) => count(one.pending_count) },
                  { name: t.last, cell: (one) => instant(one.last_copied_at, zone) },
                ]}
              />
            </Panel>
          )
        }}
      </Loaded>
      <More list={list} />
      <Call call="GET /v1/storage-connectors" />
    </>
  )
}
