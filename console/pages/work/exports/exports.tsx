import { useInfiniteQuery, useQuery } from '@tanstack/preact-query'
import { useState } from 'preact/hooks'
import { answer, api } from '../../../api/client.ts'
import { entitiesQuery, FRESH_MS, LIVE_MS, useSend } from '../../../api/queries.ts'
import type { Export } from '../../../api/routes.d.ts'
import { bytes, count, day, instant, NOTHING } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Badge, type Tone } from '../../../parts/badge.tsx'
import { Button, ButtonLink } from '../../../parts/button.tsx'
import { Dialog } from '../../../parts/dialog.tsx'
import { Actions } from '../../../parts/field.tsx'
import { Loaded } from '../../../parts/loaded.tsx'
import { More } from '../../../parts/more.tsx'
import { Call, Panel, Title } from '../../../parts/page.tsx'
import { Empty, Problem } from '../../../parts/states.tsx'
import { Table } from '../../../parts/table.tsx'
import { useMayWrite, useZone } from '../../../session.ts'
import { useFilterText } from '../cfdi/filters.tsx'
import css from './exports.module.css'
import { words } from './words.ts'

const TONES: Record<Export['status'], Tone> = { queued: 'wait', running: 'going', ready: 'good', failed: 'bad', expired: 'idle' }

const isMoving = ({ status }: Export): boolean => status === 'queued' || status === 'running'

function Remove({ one, close }: { one: Export; close: () => void }) {
  const t = useWords(words)
  const { export_id } = one
  const remove = useSend(
    (_: null) => answer(api.DELETE('/v1/exports/{export_id}', { params: { path: { export_id } } })),
    ['exports', 'billing'],
  )
  return (
    <Dialog title={t.removeTitle} close={close}>
      <p>{t.removeLead}</p>
      <Problem error={remove.error} />
      <Actions>
        <Button onClick={close}>{t.cancel}</Button>
        <Button kind="danger" isBusy={remove.isPending} onClick={() => remove.mutate(null, { onSuccess: close })}>
          {t.remove}
        </Button>
      </Actions>
    </Dialog>
  )
}

export default function Exports() {
  const t = useWords(words)
  const zone = useZone()
  const mayWrite = useMayWrite()
  const textOf = useFilterText()
  const { data: entities } = useQuery(entitiesQuery)
  const [removed, remove] = useState<Export | null>(null)
  const list = useInfiniteQuery({
    queryKey: ['exports'],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor }) => answer(api.GET('/v1/exports', { params: { query: { limit: 25, ...(cursor && { cursor }) } } })),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    refetchInterval: ({ state }) => (state.data?.pages.some(({ data }) => data.some(isMoving)) ? LIVE_MS : FRESH_MS),
  })
  const rfcOf = (id: string) => entities?.find(({ fiscal_entity_id }) => fiscal_entity_id === id)?.rfc
  const nameOf = ({ kind, format }: Export) => `${t.kind[kind]} · ${format.toUpperCase()}`
  const filtersOf = ({ filters }: Export) =>
    Object.entries(filters)
      .map(([name, value]) => textOf(name, String(value)))
      .map(({ label, value }) => `${label}: ${value}`)
      .join(' · ')
  return (
    <>
      <Title text={t.title} lead={t.lead}>
        <ButtonLink href="/cfdi?export=1" needs="admin">
          {t.begin}
        </ButtonLink>
      </Title>
      <Loaded query={list} rows={4}>
        {({ pages }) => {
          const rows = pages.flatMap(({ data }) => data)
          if (rows.length === 0)
            return <Empty title={t.none} lead={t.noneLead} {...(mayWrite && { action: { label: t.begin, href: '/cfdi?export=1' } })} />
          return (
            <Panel flush>
              <Table<Export>
                label={t.title}
                rows={rows}
                keyOf={({ export_id }) => export_id}
                list={list}
                columns={[
                  {
                    name: t.content,
                    cell: (one) => (
                      <span class={css.two}>
                        <b>{nameOf(one)}</b>
                        <small>{rfcOf(one.fiscal_entity_id)}</small>
                      </span>
                    ),
                  },
                  { name: t.filters, cell: (one) => <small>{filtersOf(one) || t.noFilters}</small> },
                  {
                    name: t.status,
                    cell: (one) => (
                      <span class={css.two} role={isMoving(one) ? 'status' : undefined}>
                        <Badge tone={TONES[one.status]}>{t.state[one.status]}</Badge>
                        <small>
                          {one.error_code}
                          {one.status === 'running' && one.scanned_through && t.scanned(day(one.scanned_through))}
                        </small>
                      </span>
                    ),
                  },
                  { name: t.rows, end: true, cell: (one) => count(one.rows) },
                  {
                    name: t.documents,
                    end: true,
                    cell: (one) => (
                      <span class={css.end}>
                        {count(one.documents)}
                        {one.documents_without_xml > 0 && <small>{t.withoutXml(count(one.documents_without_xml))}</small>}
                      </span>
                    ),
                  },
                  { name: t.size, end: true, cell: (one) => (one.status === 'ready' ? bytes(one.bytes) : NOTHING) },
                  { name: t.created, cell: (one) => instant(one.created_at, zone) },
                  { name: t.expires, cell: (one) => instant(one.expires_at, zone) },
                  {
                    name: t.actions,
                    end: true,
                    cell: (one) => (
                      <span class={css.actions}>
                        {one.status === 'ready' && (
                          <a href={`/v1/exports/${one.export_id}/content`} download aria-label={t.downloadOf(nameOf(one))}>
                            {t.download}
                          </a>
                        )}
                        <Button small kind="quiet" needs="admin" aria-label={`${t.remove}: ${nameOf(one)}`} onClick={() => remove(one)}>
                          {t.remove}
                        </Button>
                      </span>
                    ),
                  },
                ]}
              />
            </Panel>
          )
        }}
      </Loaded>
      <More list={list} />
      <Call call="GET /v1/exports" />
      {removed && <Remove one={removed} close={() => remove(null)} />}
    </>
  )
}
