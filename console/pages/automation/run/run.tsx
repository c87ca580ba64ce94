import { useQuery } from '@tanstack/preact-query'
import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { answer, api } from '../../../api/client.ts'
import { FRESH_MS, LIVE_MS, useSend } from '../../../api/queries.ts'
import { Progress } from '../../../charts/progress.tsx'
import { count, day, instant, NOTHING } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Button, ButtonLink } from '../../../parts/button.tsx'
import { Call, Facts, Figures, Panel, Title } from '../../../parts/page.tsx'
import { Empty, Failed, Skeleton } from '../../../parts/states.tsx'
import { useMayWrite, useZone } from '../../../session.ts'
import { Ask } from '../parts/ask.tsx'
import css from '../parts/automation.module.css'
import { extractorsQuery } from '../parts/queries.ts'
import { useRfcOf } from '../parts/rfcs.tsx'
import { useSources } from '../parts/sources.ts'
import { Outcome } from '../runs/outcome.tsx'
import { words } from '../runs/words.ts'
import { Jobs, REFUSED, Renew } from './jobs.tsx'

const STATES = ['queued', 'running', 'waiting', 'succeeded', 'failed', 'total'] as const

export default function OneRun({ run_id = '' }: { run_id?: string }) {
  const t = useWords(words)
  const zone = useZone()
  const mayRead = useMayWrite()
  const rfcOf = useRfcOf()
  const [isAsking, ask] = useState(false)
  const params = { path: { run_id } }
  const { data: extractors } = useQuery(extractorsQuery)
  const { data: sources } = useSources()
  const {
    data: run,
    error,
    refetch,
  } = useQuery({
    queryKey: ['run', run_id],
    queryFn: () => answer(api.GET('/v1/runs/{run_id}', { params })),
    enabled: mayRead,
    refetchInterval: ({ state }) => (state.data?.outcome === null ? LIVE_MS : FRESH_MS),
  })
  const stopping = useSend(
    (_: undefined, headers) => answer(api.POST('/v1/runs/{run_id}/cancel', { params, headers })),
    ['run', 'run-jobs', 'runs', 'standings'],
  )
  if (!mayRead) return <Empty isPage title={t.membersRead} lead={t.membersReadLead} />
  if (error && !run) return <Failed isPage error={error} retry={refetch} />
  if (!run) return <Skeleton rows={4} />
  const { fiscal_entity_id, extractor_id } = run
  const extractor = extractors?.find((one) => one.extractor_id === extractor_id)
  const labels = run.data_source_keys?.map((key) => sources?.find((one) => one.key === key)?.label ?? key)
  return (
    <>
      <Title isThing text={t.runOf(instant(run.started_at, zone))} lead={t.triggers[run.trigger]}>
        {run.outcome === null && (
          <Button kind="danger" needs="admin" onClick={() => ask(true)}>
            {t.stop}
          </Button>
        )}
        <ButtonLink href={fiscal_entity_id ? `/runs?fiscal_entity_id=${fiscal_entity_id}` : '/runs'}>{t.list}</ButtonLink>
      </Title>
      <Panel title={t.jobs} lead={t.jobsLead} actions={<Outcome run={run} />}>
        <div class={css.stack} role="status">
          <Figures figures={STATES.map((state) => ({ name: t.states[state], value: count(run.jobs[state]) }))} />
          <Progress jobs={run.jobs} label={t.of(count(run.jobs.succeeded), count(run.jobs.total))} />
          {run.error_class && (
            <p>
              {run.jobs.failed > 0 ? t.whyFailed : t.whyWaits}: {t.errors[run.error_class] ?? run.error_class}{' '}
              {run.error_class === REFUSED && fiscal_entity_id && <Renew fiscal_entity_id={fiscal_entity_id} />}
            </p>
          )}
          {stopping.data && <p>{t.withdrawn(count(stopping.data.withdrawn_jobs))}</p>}
        </div>
      </Panel>
      <Panel title={t.summary}>
        <Facts
          facts={[
            [t.rfc, fiscal_entity_id ? <Link href={`/rfcs/${fiscal_entity_id}`}>{rfcOf(fiscal_entity_id)}</Link> : t.all],
            [t.extractor, extractor ? <Link href={`/extractors/${extractor_id}`}>{extractor.name}</Link> : NOTHING],
            ...(run.from ? [[t.range, `${day(run.from)} – ${day(run.to)}`] as const] : []),
            ...(labels ? [[t.askedSources, labels.join(', ')] as const] : []),
            ...(run.local_date ? [[t.dueOn, day(run.local_date)] as const] : []),
            [t.started, instant(run.started_at, zone)],
            [t.completed, instant(run.completed_at, zone)],
            [t.connections, count(run.connections)],
            [t.dispatched, count(run.dispatched)],
            [t.gap, count(run.gap_jobs)],
          ]}
        />
      </Panel>
      <Jobs run={run} />
      <Call call={`GET /v1/runs/${run_id}`} />
      {isAsking && (
        <Ask title={t.stopTitle} lead={t.stopLead} label={t.stop} send={stopping} done={() => ask(false)} close={() => ask(false)} />
      )}
    </>
  )
}
