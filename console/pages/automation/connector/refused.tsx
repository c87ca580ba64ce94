import { useInfiniteQuery } from '@tanstack/preact-query'
import { answer, api } from '../../../api/client.ts'
import type { StorageRefusedDocument } from '../../../api/routes.d.ts'
import { instant } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { More } from '../../../parts/more.tsx'
import { Panel } from '../../../parts/page.tsx'
import { Failed } from '../../../parts/states.tsx'
import { Table } from '../../../parts/table.tsx'
import { useZone } from '../../../session.ts'
import css from '../parts/automation.module.css'
import { useRfcOf } from '../parts/rfcs.tsx'
import { words } from './words.ts'

/** The documents that a destination refused while it took others; nothing when there are none. */
export function RefusedDocuments({ connector_id }: { connector_id: string }) {
  const t = useWords(words)
  const zone = useZone()
  const rfcOf = useRfcOf()
  const list = useInfiniteQuery({
    queryKey: ['refused', connector_id],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor }) =>
      answer(
        api.GET('/v1/storage-connectors/{connector_id}/refused-documents', {
          params: { path: { connector_id }, query: { limit: 20, ...(cursor && { cursor }) } },
        }),
      ),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  })
  if (list.error && !list.data) return <Failed error={list.error} retry={list.refetch} />
  const rows = list.data?.pages.flatMap(({ data }) => data) ?? []
  if (rows.length === 0) return null
  return (
    <>
      <Panel title={t.refused} lead={t.refusedLead} flush>
        <Table<StorageRefusedDocument>
          label={t.refused}
          rows={rows}
          keyOf={({ path }) => path}
          list={list}
          columns={[
            { name: t.path, cell: ({ path }) => <code class={css.wrap}>{path}</code> },
            { name: t.rfcs, cell: (one) => rfcOf(one.fiscal_entity_id) },
            { name: t.why, cell: ({ code, message }) => <span title={message}>{t.errors[code] ?? message}</span> },
            { name: t.when, cell: ({ at }) => instant(at, zone) },
          ]}
        />
      </Panel>
      <More list={list} />
    </>
  )
}
