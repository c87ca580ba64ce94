import { useInfiniteQuery, useQuery } from '@tanstack/preact-query'
import { answer, api } from '../../../api/client.ts'

/** The parameters of the API that an address names. */
export type Own = Record<string, string>

export const PAGE = 25

/** An address may name anything: what the API does not know it refuses, and the page says so. All surfaces of insight are asked alike. */
const read = <Answer>(path: string, query: object): Promise<Answer> =>
  answer(api.GET(path as '/v1/analytics/risk', { params: { query } })) as Promise<unknown> as Promise<Answer>

/** A surface that answers everything at once. */
export const useWhole = <Answer>(path: string, own: Own) => useQuery({ queryKey: [path, own], queryFn: () => read<Answer>(path, own) })

/** A surface that answers page by page. */
export const usePages = <Answer extends { next_cursor: string | null }>(path: string, own: Own, limit = PAGE) =>
  useInfiniteQuery({
    queryKey: [path, own],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor }) => read<Answer>(path, { ...own, limit, ...(cursor && { cursor }) }),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  })
