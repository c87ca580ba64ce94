import { type QueryKey, useInfiniteQuery, useQuery } from '@tanstack/preact-query'
import { Download, RefreshCw } from 'lucide-preact'
import { useEffect, useState } from 'preact/hooks'
import { useSearchParams } from 'wouter-preact'
import { answer, api, Refused } from '../../../api/client.ts'
import { FRESH_MS, LIVE_MS, useSend } from '../../../api/queries.ts'
import type { Report, ReportBuilding, ReportKey } from '../../../api/routes.d.ts'
import { instant, month as monthName } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Badge } from '../../../parts/badge.tsx'
import { Button, ButtonLink } from '../../../parts/button.tsx'
import { Loaded } from '../../../parts/loaded.tsx'
import { More } from '../../../parts/more.tsx'
import { Facts, Panel } from '../../../parts/page.tsx'
import { save, textFile } from '../../../parts/save.ts'
import { Empty, Problem, Skeleton } from '../../../parts/states.tsx'
import { Table } from '../../../parts/table.tsx'
import { useZone } from '../../../session.ts'
import { Basis } from '../figures/basis.tsx'
import css from '../figures/figures.module.css'
import { Missing, State } from '../figures/state.tsx'
import { type At, Surface } from '../figures/surface.tsx'
import { catalogQuery } from '../reports/reports.tsx'
import { words as catalogWords } from '../reports/words.ts'
import { Cell, isEnd, type Row } from './cell.tsx'
import { SHAPES, type Shape } from './columns.ts'
import { readCsv } from './csv.ts'
import { words } from './words.ts'

type Answered = Report | ReportBuilding
const isBuilding = (one: Answered | undefined): one is ReportBuilding => one !== undefined && 'status' in one

/** The most rows that the API gives at once. */
const MOST = 100

interface Which {
  report: ReportKey
  fiscal_entity_id: string
  rfc: string
}

/** Brings the report up to date, and downloads it. */
function Doing({ report, fiscal_entity_id, rfc }: Which) {
  const t = useWords(words)
  const [isSaving, setSaving] = useState(false)
  const [error, fail] = useState<Error | null>(null)
  const params = { path: { key: report }, query: { fiscal_entity_id } }
  const refresh = useSend(
    (_: null, header: { 'Idempotency-Key': string }) => answer(api.POST('/v1/reports/{key}/refresh', { params: { ...params, header } })),
    ['report'],
  )
  const download = async () => {
    fail(null)
    setSaving(true)
    try {
      const text = await readCsv(`/v1/reports/${report}?fiscal_entity_id=${fiscal_entity_id}&limit=${MOST}`)
      save(`${rfc}-${report}.csv`, textFile(text))
    } catch (reason) {
      fail(reason as Error)
    } finally {
      setSaving(false)
    }
  }
  return (
    <>
      <Button small needs="admin" isBusy={refresh.isPending} onClick={() => refresh.mutate(null)}>
        <RefreshCw size={15} aria-hidden="true" />
        {t.refresh}
      </Button>
      <Button small isBusy={isSaving} onClick={() => void download()}>
        <Download size={15} aria-hidden="true" />
        {t.csv}
      </Button>
      {refresh.isSuccess && <small role="status">{t.queued}</small>}
      <Problem error={refresh.error ?? error} />
    </>
  )
}

/** The rows of one kind. Of too many, those of one period are shown, which the address names. */
function Kind({ shape: { kind, columns, isReversed, by }, rows }: { shape: Shape; rows: readonly Row[] }) {
  const t = useWords(words)
  const [params, set] = useSearchParams()
  const own = kind === undefined ? rows : rows.filter((row) => row['kind'] === kind)
  const periods = by === undefined ? [] : [...new Set(own.map((row) => String(row[by])))].sort().reverse()
  const whole = own.findLast((row) => by !== undefined && row['is_partial'] === false)
  const period = params.get('period') ?? (whole && by ? String(whole[by]) : periods[0])
  const shown = by === undefined ? own : own.filter((row) => row[by] === period)
  const title = kind === undefined ? t.rows : t.kinds[kind]!
  if (own.length === 0) return null
  return (
    <Panel
      flush
      title={kind === undefined && by === undefined ? undefined : title}
      actions={
        by !== undefined && (
          <select
            aria-label={t.members[by]}
            value={period}
            onChange={({ currentTarget: { value } }) =>
              set(
                (old) => {
                  old.set('period', value)
                  return old
                },
                { replace: true },
              )
            }
          >
            {periods.map((one) => (
              <option key={one} value={one}>
                {monthName(one, 'long')}
              </option>
            ))}
          </select>
        )
      }
    >
      <Table<{ row: Row; n: number }>
        label={title}
        rows={(isReversed ? shown.toReversed() : shown).map((row, n) => ({ row, n }))}
        keyOf={({ n }) => String(n)}
        columns={columns.map(([member, one]) => ({
          name: t.members[member] ?? member,
          end: isEnd(one),
          cell: ({ row }) => <Cell row={row} member={member} kind={one} />,
        }))}
      />
    </Panel>
  )
}

function Read({ report, fiscal_entity_id, rfc }: Which) {
  const t = useWords(words)
  const zone = useZone()
  // A period is chosen from all of them.
  const isByPeriod = SHAPES[report].some(({ by }) => by !== undefined)
  const queryKey: QueryKey = ['report', report, fiscal_entity_id]
  const list = useInfiniteQuery({
    queryKey,
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor }) =>
      answer(
        api.GET('/v1/reports/{key}', {
          params: { path: { key: report }, query: { fiscal_entity_id, limit: MOST, ...(cursor && { cursor }) } },
        }),
      ) as Promise<Answered>,
    getNextPageParam: (page) => (isBuilding(page) ? undefined : (page.next_cursor ?? undefined)),
    refetchInterval: ({ state: { data } }) => {
      const made = data?.pages[0]
      return isBuilding(made) ? LIVE_MS * 2 : made?.is_stale ? FRESH_MS : false
    },
  })
  const { hasNextPage, isFetching, isError, fetchNextPage } = list
  useEffect(() => {
    if (isByPeriod && hasNextPage && !isFetching && !isError) void fetchNextPage()
  }, [isByPeriod, hasNextPage, isFetching, isError])
  if (list.error instanceof Refused && list.error.problem?.code === 'report.window_bounded')
    return <Empty title={t.bounded} lead={t.boundedLead(rfc)} action={{ label: t.extractors, href: '/extractors' }} />
  return (
    <Loaded query={list} rows={8}>
      {({ pages }) => {
        const [first] = pages
        if (first === undefined || isBuilding(first))
          return (
            <>
              <Empty title={t.building} lead={t.buildingLead} />
              <Skeleton rows={4} />
            </>
          )
        const rows = pages.flatMap((page) => (isBuilding(page) ? [] : (page.data.rows as unknown as Row[])))
        const { generated_at, source_watermark, through, is_stale, data } = first
        return (
          <>
            <Panel
              lead={<Badge tone={is_stale ? 'wait' : 'good'}>{is_stale ? t.stale : t.fresh}</Badge>}
              actions={<Doing report={report} fiscal_entity_id={fiscal_entity_id} rfc={rfc} />}
            >
              <Facts
                facts={[
                  [t.made, instant(generated_at, zone)],
                  through === null ? [t.watermark, instant(source_watermark, zone)] : [t.through, instant(through, zone)],
                ]}
              />
            </Panel>
            <State of={{ fiscal_entity_id, data_quality: data.data_quality }} />
            {isByPeriod && hasNextPage && !isError ? (
              <Skeleton rows={6} />
            ) : rows.length === 0 ? (
              <Empty title={t.none} lead={t.noneLead} />
            ) : (
              <Missing.Provider value={data.data_quality.missing_months}>
                {SHAPES[report].map((shape) => (
                  <Kind key={shape.kind} shape={shape} rows={rows} />
                ))}
              </Missing.Provider>
            )}
            <div class={css.bar}>{(!isByPeriod || isError) && <More list={list} />}</div>
            <Basis of={data} labels={t.members} />
          </>
        )
      }}
    </Loaded>
  )
}

export default function ReportPage({ report: named = '' }: { report?: string }) {
  const t = useWords(words)
  const { translated } = useWords(catalogWords)
  const { data: catalog } = useQuery(catalogQuery)
  if (!Object.hasOwn(SHAPES, named)) return <Empty isPage title={t.unknown} action={{ label: t.back, href: '/reports' }} />
  const report = named as ReportKey
  const title = translated[report]?.[0] ?? catalog?.data.find(({ key }) => key === report)?.title ?? report
  const back = ({ entity: { fiscal_entity_id } }: At) => (
    <ButtonLink href={`/reports?fiscal_entity_id=${fiscal_entity_id}`}>{t.back}</ButtonLink>
  )
  return (
    <Surface
      isThing
      title={title}
      lead={translated[report]?.[1] ?? catalog?.data.find(({ key }) => key === report)?.description}
      path={`/v1/reports/${report}`}
      actions={back}
    >
      {({ entity: { fiscal_entity_id, rfc } }) => <Read report={report} fiscal_entity_id={fiscal_entity_id} rfc={rfc} />}
    </Surface>
  )
}
