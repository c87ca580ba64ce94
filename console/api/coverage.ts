import { queryOptions } from '@tanstack/preact-query'
import { answer, api } from './client.ts'
import { FRESH_MS, LIVE_MS } from './queries.ts'
import type { CoverageMonth } from './routes.d.ts'

const PAGE = 100
/** 2018 until today, of both sources. */
const MOST_PAGES = 4

/** Every month of an RFC that can be read, with how its downloads ended. */
export const coverageQuery = (fiscal_entity_id: string) =>
  queryOptions({
    queryKey: ['coverage', fiscal_entity_id],
    queryFn: async () => {
      const all: CoverageMonth[] = []
      let cursor: string | undefined
      for (let page = 0; page < MOST_PAGES; page++) {
        const query = { limit: PAGE, ...(cursor && { cursor }) }
        const answered = await answer(
          api.GET('/v1/fiscal-entities/{fiscal_entity_id}/coverage', { params: { path: { fiscal_entity_id }, query } }),
        )
        all.push(...answered.data)
        if (!answered.next_cursor) break
        cursor = answered.next_cursor
      }
      return all
    },
    refetchInterval: ({ state }) => (state.data?.some((month) => month.status === 'requested') ? LIVE_MS * 2 : FRESH_MS * 2),
  })
