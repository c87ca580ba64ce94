import { useInfiniteQuery, useQuery } from '@tanstack/preact-query'
import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { answer, api } from '../../../api/client.ts'
import { FRESH_MS, LIVE_MS } from '../../../api/queries.ts'
import type { RunProgress } from '../../../api/routes.d.ts'
import { instant, NOTHING } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Button } from '../../../parts/button.tsx'
import { EntityPicker, useEntity } from '../../../parts/entity.tsx'
import { Loaded } from '../../../parts/loaded.tsx'
import { More } from '../../../parts/more.tsx'
import { Call, Panel, Title } from '../../../parts/page.tsx'
import { Empty, Failed, Skeleton } from '../../../parts/states.tsx'
import { Table } from '../../../parts/table.tsx'
import { useMayWrite, useZone } from '../../../session.ts'
import { extractorsQuery } from '../parts/queries.ts'
import { Done, Outcome } from './outcome.tsx'
import { Range } from './range.tsx'
import { words } from './words.ts'

export default function Runs() {
  const t = useWords(words)
  const zone = useZone()
  const mayRead = useMayWrite()
  const { entity, entities, error, refetch, choose } = useEntity()
  const [isAsking, ask] = useState(false)
  const { data: extractors } = useQuery(extractorsQuery)
  const fiscal_entity_id = entity?.fiscal_entity_id ?? ''
  const list = useInfiniteQuery({
    queryKey: ['runs', fiscal_entity_id],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor }) =>
      answer(
        api.GET('/v1/fiscal-entities/{fiscal_entity_id}/runs', {
          params: { path: { fiscal_entity_id }, query: { limit: 20, ...(cursor && { cursor }) } },
        }),
      ),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    enabled: mayRead && fiscal_entity_id !== '',
    refetchInterval: ({ state }) =>
      state.data?.pages.some(({ data }) => data.some(({ outcome }) => outcome === null)) ? LIVE_MS : FRESH_MS,
  })
  if (error && !entities) return <Failed isPage error={error} retry={refetch} />
  if (!entities) return <Skeleton rows={4} />
  if (!entity) return <Empty isPage title={t.noRfc} lead={t.noRfcLead} action={{ label: t.connect, href: '/connect' }} />
  const nameOf = (id: string | null) => extractors?.find(({ extractor_id }) => extractor_id === id)?.name
  return (
    <>
      <Title of={entity?.rfc} text={t.title} lead={t.lead}>
        <EntityPicker entities={entities} entity={entity} choose={choose} />
        <Button kind="primary" needs="admin" disabled={entity.status !== 'active'} onClick={() => ask(true)}>
          {t.download}
        </Button>
      </Title>
      {mayRead ? (
        <Loaded query={list} rows={4}>
          {({ pages }) => {
            const rows = pages.flatMap(({ data }) => data)
            if (rows.length === 0) return <Empty title={t.none} lead={t.noneLead} />
            return (
              <Panel flush>
                <Table<RunProgress>
                  label={t.title}
                  rows={rows}
                  keyOf={({ run_id }) => run_id}
                  list={list}
                  columns={[
                    { name: t.started, cell: (run) => <Link href={`/runs/${run.run_id}`}>{instant(run.started_at, zone)}</Link> },
                    { name: t.trigger, cell: (run) => t.triggers[run.trigger] },
                    { name: t.extractor, cell: ({ extractor_id }) => nameOf(extractor_id) ?? NOTHING },
                    { name: t.outcome, cell: (run) => <Outcome run={run} /> },
                    { name: t.progress, cell: (run) => <Done run={run} /> },
                    { name: t.completed, cell: (run) => instant(run.completed_at, zone) },
                  ]}
                />
              </Panel>
            )
          }}
        </Loaded>
      ) : (
        <Empty title={t.membersRead} lead={t.membersReadLead} />
      )}
      <More list={list} />
      <Call call={`GET /v1/fiscal-entities/${fiscal_entity_id}/runs`} />
      {isAsking && <Range entity={entity} close={() => ask(false)} />}
    </>
  )
}
