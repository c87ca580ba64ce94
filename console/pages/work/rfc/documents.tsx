import { useInfiniteQuery } from '@tanstack/preact-query'
import { answer, api } from '../../../api/client.ts'
import type { Document } from '../../../api/routes.d.ts'
import { bytes, day } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Loaded } from '../../../parts/loaded.tsx'
import { More } from '../../../parts/more.tsx'
import { Panel } from '../../../parts/page.tsx'
import { Empty } from '../../../parts/states.tsx'
import { Table } from '../../../parts/table.tsx'
import { words } from './words.ts'

/** The tax documents of the RFC, to download. */
export function Documents({ fiscal_entity_id }: { fiscal_entity_id: string }) {
  const t = useWords(words)
  const documents = useInfiniteQuery({
    queryKey: ['documents', fiscal_entity_id],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor }) =>
      answer(
        api.GET('/v1/fiscal-entities/{fiscal_entity_id}/documents', {
          params: { path: { fiscal_entity_id }, query: { limit: 10, ...(cursor && { cursor }) } },
        }),
      ),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  })
  const hrefOf = ({ document_id }: Document) => `/v1/fiscal-entities/${fiscal_entity_id}/documents/${document_id}/content`
  return (
    <>
      <Panel title={t.documents} flush>
        <Loaded query={documents}>
          {({ pages }) =>
            pages.every(({ data }) => data.length === 0) ? (
              <Empty title={t.documentsNone} />
            ) : (
              <Table<Document>
                label={t.documents}
                rows={pages.flatMap(({ data }) => data)}
                keyOf={({ document_id }) => document_id}
                list={documents}
                columns={[
                  { name: t.document, cell: ({ title }) => title },
                  { name: t.date, cell: ({ document_date }) => day(document_date) },
                  { name: t.size, end: true, cell: ({ size }) => bytes(size) },
                  {
                    name: t.download,
                    end: true,
                    cell: (one) => (
                      <a href={hrefOf(one)} download={one.name} aria-label={`${t.download}: ${one.title}`}>
                        {t.download}
                      </a>
                    ),
                  },
                ]}
              />
            )
          }
        </Loaded>
      </Panel>
      <More list={documents} />
    </>
  )
}
