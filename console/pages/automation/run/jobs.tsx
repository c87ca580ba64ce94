import { keepPreviousData, useInfiniteQuery } from '@tanstack/preact-query'
import { Link, useSearchParams } from 'wouter-preact'
import { answer, api } from '../../../api/client.ts'
import { FRESH_MS, LIVE_MS } from '../../../api/queries.ts'
import type { RunJob, RunProgress } from '../../../api/routes.d.ts'
import { count, instant, month, NOTHING } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Badge, type Tone } from '../../../parts/badge.tsx'
import { Select } from '../../../parts/field.tsx'
import { Loaded } from '../../../parts/loaded.tsx'
import { More } from '../../../parts/more.tsx'
import { Call, Panel } from '../../../parts/page.tsx'
import { Empty } from '../../../parts/states.tsx'
import { type Column, Table } from '../../../parts/table.tsx'
import { useZone } from '../../../session.ts'
import css from '../parts/automation.module.css'
import { useRfcOf } from '../parts/rfcs.tsx'
import { useSources } from '../parts/sources.ts'
import { words } from '../runs/words.ts'

const TONES: Record<RunJob['status'], Tone> = { queued: 'wait', running: 'going', waiting: 'wait', succeeded: 'good', failed: 'bad' }
const STATUSES = Object.keys(TONES) as RunJob['status'][]

/** The error class of what waits for another login. */
export const REFUSED = 'invalid_credentials'

export const Renew = ({ fiscal_entity_id }: { fiscal_entity_id: string }) => (
  <Link href={`/connect?fiscal_entity_id=${fiscal_entity_id}`}>{useWords(words).renew}</Link>
)

/** Each download of a run, with what it waits for or why it failed. The filter is in the address. */
export function Jobs({ run: { run_id, fiscal_entity_id, outcome } }: { run: RunProgress }) {
  const t = useWords(words)
  const zone = useZone()
  const rfcOf = useRfcOf()
  const [params, set] = useSearchParams()
  const { data: sources } = useSources()
  const status = STATUSES.find((one) => one === params.get('status'))
  const list = useInfiniteQuery({
    // When the run has ended, its jobs are asked for once more.
    queryKey: ['run-jobs', run_id, status ?? '', outcome],
    placeholderData: keepPreviousData,
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor }) =>
      answer(
        api.GET('/v1/runs/{run_id}/jobs', {
          params: { path: { run_id }, query: { limit: 25, ...(status && { status }), ...(cursor && { cursor }) } },
        }),
      ),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    // Of a long list, only what is at its beginning is watched while it moves.
    refetchInterval: ({ state }) => (outcome === null && (state.data?.pages.length ?? 0) < 2 ? 2 * LIVE_MS : FRESH_MS),
  })
  const why = ({ error_class, last_code, next_attempt_at, fiscal_entity_id: id, status }: RunJob) => (
    <>
      {error_class && (t.errors[error_class] ?? last_code)}
      {error_class === REFUSED && status === 'waiting' && <Renew fiscal_entity_id={id} />}
      {next_attempt_at && <small>{t.next(instant(next_attempt_at, zone))}</small>}
    </>
  )
  const columns: Column<RunJob>[] = [
    { name: t.source, cell: ({ data_source_key: key }) => sources?.find((one) => one.key === key)?.label ?? key },
    { name: t.month, cell: ({ period }) => (period ? month(period) : NOTHING) },
    ...(fiscal_entity_id
      ? []
      : [{ name: t.rfc, cell: (job: RunJob) => <Link href={`/rfcs/${job.fiscal_entity_id}`}>{rfcOf(job.fiscal_entity_id)}</Link> }]),
    { name: t.state, cell: (job) => <Badge tone={TONES[job.status]}>{t.jobStates[job.status]}</Badge> },
    { name: t.why, cell: (job) => <span class={css.stack}>{why(job)}</span> },
    { name: t.attempts, end: true, cell: ({ attempts }) => count(attempts) },
    { name: t.completed, cell: ({ finished_at }) => instant(finished_at, zone) },
  ]
  return (
    <>
      <Panel title={t.each} lead={t.eachLead} flush>
        <div class={`${css.lines} ${css.row}`}>
          <Select
            label={t.state}
            value={status ?? ''}
            onChange={({ currentTarget: { value } }) => set(value ? { status: value } : {}, { replace: true })}
          >
            <option value="">{t.any}</option>
            {STATUSES.map((one) => (
              <option key={one} value={one}>
                {t.jobStates[one]}
              </option>
            ))}
          </Select>
        </div>
        <Loaded query={list} rows={4}>
          {({ pages }) => {
            const rows = pages.flatMap(({ data }) => data)
            return rows.length === 0 ? (
              <Empty title={status ? t.noneSuch : t.outcomes.nothing} />
            ) : (
              <Table<RunJob> label={t.each} rows={rows} keyOf={({ job_id }) => job_id} columns={columns} />
            )
          }}
        </Loaded>
      </Panel>
      <More list={list} />
      <Call call={`GET /v1/runs/${run_id}/jobs${status ? `?status=${status}` : ''}`} />
    </>
  )
}
