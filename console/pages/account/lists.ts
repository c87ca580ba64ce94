import { infiniteQueryOptions } from '@tanstack/preact-query'
import { answer, api } from '../../api/client.ts'

const PAGE = 100
const next = (page: { next_cursor: string | null }) => page.next_cursor ?? undefined
const paged = (cursor: string | undefined) => ({ params: { query: { limit: PAGE, ...(cursor && { cursor }) } } })

export const membersQuery = infiniteQueryOptions({
  queryKey: ['members'],
  initialPageParam: undefined as string | undefined,
  queryFn: ({ pageParam }) => answer(api.GET('/v1/team/members', paged(pageParam))),
  getNextPageParam: next,
})

export const invitationsQuery = infiniteQueryOptions({
  queryKey: ['invitations'],
  initialPageParam: undefined as string | undefined,
  queryFn: ({ pageParam }) => answer(api.GET('/v1/team/invitations', paged(pageParam))),
  getNextPageParam: next,
})

export const credentialsQuery = infiniteQueryOptions({
  queryKey: ['credentials'],
  initialPageParam: undefined as string | undefined,
  queryFn: ({ pageParam }) => answer(api.GET('/v1/credentials', paged(pageParam))),
  getNextPageParam: next,
})

/** Every row that was read of such a list. */
export const rowsOf = <Row>(list: { pages: readonly { data: Row[] }[] } | undefined): Row[] => list?.pages.flatMap(({ data }) => data) ?? []
