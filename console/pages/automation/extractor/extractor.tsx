import { useInfiniteQuery, useQuery } from '@tanstack/preact-query'
import { Link } from 'wouter-preact'
import { answer, api } from '../../../api/client.ts'
import type { Run } from '../../../api/routes.d.ts'
import { count, instant } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Badge } from '../../../parts/badge.tsx'
import { Loaded } from '../../../parts/loaded.tsx'
import { More } from '../../../parts/more.tsx'
import { Call, Panel } from '../../../parts/page.tsx'
import { Empty, Failed, Skeleton } from '../../../parts/states.tsx'
import { Table } from '../../../parts/table.tsx'
import { useMayWrite, useZone } from '../../../session.ts'
import { extractorsQuery } from '../parts/queries.ts'
import { words as runWords } from '../runs/words.ts'
import { Head } from './actions.tsx'
import { Editor } from './editor.tsx'
import { words } from './words.ts'

const TONES = { planned: 'going', dispatched: 'good', no_connections: 'idle', cancelled: 'idle' } as const

export default function OneExtractor({ extractor_id = '' }: { extractor_id?: string }) {
  const t = useWords(words)
  const { triggers, membersRead, membersReadLead } = useWords(runWords)
  const mayRead = useMayWrite()
  const zone = useZone()
  const { data, error, refetch } = useQuery(extractorsQuery)
  const runs = useInfiniteQuery({
    queryKey: ['extractor-runs', extractor_id],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor }) =>
      answer(
        api.GET('/v1/extractors/{extractor_id}/runs', {
          params: { path: { extractor_id }, query: { limit: 50, ...(cursor && { cursor }) } },
        }),
      ),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    enabled: mayRead,
  })
  if (error && !data) return <Failed isPage error={error} retry={refetch} />
  if (!data) return <Skeleton rows={6} />
  const extractor = data.find((one) => one.extractor_id === extractor_id)
  if (!extractor) return <Empty isPage title={t.missing} lead={t.missingLead} action={{ label: t.list, href: '/extractors' }} />
  const known = runs.data?.pages.flatMap((page) => page.data) ?? []
  return (
    <>
      <Head extractor={extractor} />
      <Editor key={extractor_id} stored={extractor} runs={known} />
      <Panel title={t.runs} lead={t.runsLead} flush>
        {mayRead ? (
          <Loaded query={runs} rows={2}>
            {() =>
              known.length === 0 ? (
                <Empty title={t.noRuns} />
              ) : (
                <Table<Run>
                  label={t.runs}
                  rows={known}
                  keyOf={({ run_id }) => run_id}
                  list={runs}
                  columns={[
                    { name: t.started, cell: (run) => <Link href={`/runs/${run.run_id}`}>{instant(run.started_at, zone)}</Link> },
                    { name: t.trigger, cell: (run) => triggers[run.trigger] },
                    { name: t.status, cell: (run) => <Badge tone={TONES[run.status]}>{t.states[run.status]}</Badge> },
                    { name: t.connections, end: true, cell: (run) => count(run.connections) },
                    { name: t.dispatched, end: true, cell: (run) => count(run.dispatched) },
                    { name: t.gap, end: true, cell: (run) => count(run.gap_jobs) },
                  ]}
                />
              )
            }
          </Loaded>
        ) : (
          <Empty title={membersRead} lead={membersReadLead} />
        )}
      </Panel>
      <More list={runs} />
      <Call call={`GET /v1/extractors/${extractor_id}/runs`} />
    </>
  )
}
