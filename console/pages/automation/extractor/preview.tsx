import { useQuery } from '@tanstack/preact-query'
import { useRef } from 'preact/hooks'
import { entitiesQuery } from '../../../api/queries.ts'
import type { ExtractorPreview, PreviewedRfc, PreviewedSource } from '../../../api/routes.d.ts'
import { Keys } from '../../../charts/bars.tsx'
import { WindowLine } from '../../../charts/window.tsx'
import { count, day, instant } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Figures, Panel } from '../../../parts/page.tsx'
import { Failed, Skeleton } from '../../../parts/states.tsx'
import { Table } from '../../../parts/table.tsx'
import { useZone } from '../../../session.ts'
import css from '../parts/automation.module.css'
import { useSources } from '../parts/sources.ts'
import { words } from './words.ts'

const SOURCES = [
  ['sat_cfdi_issued', 'issued'],
  ['sat_cfdi_received', 'received'],
] as const
/** RFCs whose windows are drawn; those of more are listed. */
const DRAWN = 2

/** The windows of an RFC, as they are and as a run would make them. */
function useWindowText() {
  const t = useWords(words)
  const zone = useZone()
  const { data: entities } = useQuery(entitiesQuery)
  type Side = PreviewedRfc['windows']['sat_cfdi_issued']
  const textOf = ({ visible_from: from, visible_to: to }: Side, none: string) => (from && to ? t.span(day(from), instant(to, zone)) : none)
  return ({ fiscal_entity_id, windows, windows_after }: PreviewedRfc, source: (typeof SOURCES)[number][0]) => {
    const isOpen = entities?.find((one) => one.fiscal_entity_id === fiscal_entity_id)?.window_state === 'open'
    return { now: textOf(windows[source], isOpen ? t.everything : t.nothing), after: textOf(windows_after[source], t.nothing) }
  }
}

function Windows({ rfcs }: { rfcs: readonly PreviewedRfc[] }) {
  const t = useWords(words)
  const textOf = useWindowText()
  const cell = (one: PreviewedRfc, source: (typeof SOURCES)[number][0]) => {
    const { now, after } = textOf(one, source)
    return now === after ? (
      `${after} (${t.same})`
    ) : (
      <span>
        {after}
        <br />
        <small>
          {t.now}: {now}
        </small>
      </span>
    )
  }
  return (
    <Panel title={t.windows} lead={t.windowsLead} flush>
      {rfcs.length <= DRAWN &&
        rfcs.map((one) => (
          <div key={one.rfc} class={`${css.lines} ${css.stack}`}>
            {(['now', 'after'] as const).map((when) => (
              <div key={when}>
                <h3>{t[when === 'now' ? 'windowNow' : 'windowAfter'](one.rfc)}</h3>
                <WindowLine
                  label={one.rfc}
                  spans={SOURCES.map(([source, series]) => {
                    const { visible_from: from, visible_to: to } = one[when === 'now' ? 'windows' : 'windows_after'][source]
                    return { name: t[series], from, to, series, says: `${t[series]}: ${textOf(one, source)[when]}` }
                  })}
                />
              </div>
            ))}
            <Keys keys={SOURCES.map(([, series]) => ({ series, name: t[series] }))} />
          </div>
        ))}
      <Table<PreviewedRfc>
        label={t.windows}
        rows={rfcs}
        keyOf={({ rfc }) => rfc}
        columns={[
          { name: 'RFC', cell: ({ rfc }) => <b>{rfc}</b> },
          { name: t.issued, cell: (one) => cell(one, 'sat_cfdi_issued') },
          { name: t.received, cell: (one) => cell(one, 'sat_cfdi_received') },
        ]}
      />
    </Panel>
  )
}

/** How the months multiply, where every RFC and source has as many and each of them is listed; all numbers are the API's. */
function useProduct() {
  const t = useWords(words)
  return ({ rfc_count, totals, rfcs, sources }: ExtractorPreview): string => {
    const parts = rfcs.flatMap((one) => one.sources.filter(({ months }) => months > 0))
    const [first] = parts
    const kinds = sources.filter(({ months }) => months > 0).length
    const isEven = first && rfcs.length === rfc_count && parts.every(({ months }) => months === first.months)
    return isEven && rfcs.every((one) => one.sources.filter(({ months }) => months > 0).length === kinds)
      ? t.product(count(first.months), count(rfc_count), count(kinds), count(totals.months))
      : t.perEach
  }
}

function Told({ preview }: { preview: ExtractorPreview }) {
  const { next_runs, rfc_count, totals, sources, rfcs, truncated } = preview
  const t = useWords(words)
  const zone = useZone()
  const productOf = useProduct()
  const { data: known } = useSources()
  const labelOf = (key: string) => known?.find((one) => one.key === key)?.label ?? key
  const [first] = next_runs
  return (
    <div role="status">
      <Panel title={first ? t.preview : t.previewNow} lead={first ? t.first(instant(first, zone)) : t.unscheduled} flush={rfc_count > 0}>
        {rfc_count === 0 ? (
          <p>{t.nobody}</p>
        ) : (
          <>
            <div class={css.lines}>
              <Figures
                figures={[
                  { name: t.rfcs, value: count(rfc_count) },
                  { name: t.monthsTotal, value: count(totals.months) },
                  { name: t.readable, value: count(totals.readable_months) },
                  { name: t.added, value: count(totals.new_months) },
                  { name: t.documents, value: count(totals.documents) },
                ]}
              />
              {totals.months > 0 && <p>{productOf(preview)}</p>}
              {totals.readable_months > 0 && <p>{t.window}</p>}
              <p>{t.costs}</p>
              {truncated && <p>{t.truncated}</p>}
            </div>
            <Table<PreviewedSource>
              label={t.preview}
              rows={sources.filter(({ months }) => months > 0)}
              keyOf={({ data_source_key }) => data_source_key}
              columns={[
                { name: t.sourceOf, cell: (one) => labelOf(one.data_source_key) },
                { name: t.monthsTotal, end: true, cell: (one) => count(one.months) },
                { name: t.readable, end: true, cell: (one) => count(one.readable_months) },
                { name: t.added, end: true, cell: (one) => count(one.new_months) },
              ]}
            />
          </>
        )}
      </Panel>
      {rfcs.length > 0 && <Windows rfcs={rfcs} />}
    </div>
  )
}

interface Props {
  preview: { data: ExtractorPreview | undefined; error: Error | null; refetch: () => unknown }
  mayAsk: boolean
}

/** What saving would fetch. What was told last stays while a field is wrong. */
export function Preview({ preview: { data, error, refetch }, mayAsk }: Props) {
  const t = useWords(words)
  const told = useRef<ExtractorPreview>()
  told.current = data ?? told.current
  if (!mayAsk)
    return (
      <Panel title={t.preview}>
        <p>{t.previewMember}</p>
      </Panel>
    )
  if (told.current) return <Told preview={told.current} />
  return error ? <Failed error={error} retry={refetch} /> : <Skeleton rows={3} />
}
