import { useInfiniteQuery } from '@tanstack/preact-query'
import { answer, api } from '../../../api/client.ts'
import type { CfdiPage, paths } from '../../../api/routes.d.ts'

export type Query = NonNullable<paths['/v1/cfdi']['get']['parameters']['query']>

const PAGE = 25

/** The CFDIs of an RFC that match, page by page. Whoever asks for the same ones shares what was read. */
export const useCfdiList = (fiscal_entity_id: string, asked: Record<string, string>) =>
  useInfiniteQuery({
    queryKey: ['cfdi', fiscal_entity_id, asked],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor }) =>
      // An address may hold any text: what the API does not know it refuses, and the page says so. It says CSV only when it is asked to.
      answer(
        api.GET('/v1/cfdi', { params: { query: { ...(asked as Query), fiscal_entity_id, limit: PAGE, ...(cursor && { cursor }) } } }),
      ) as Promise<CfdiPage>,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  })
