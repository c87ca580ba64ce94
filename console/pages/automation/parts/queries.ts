import { queryOptions } from '@tanstack/preact-query'
import { answer, api } from '../../../api/client.ts'

/** All of them: members may list extractors, and may not ask for one. */
export const extractorsQuery = queryOptions({ queryKey: ['extractors'], queryFn: () => answer(api.GET('/v1/extractors')) })

export const sourcesQuery = queryOptions({
  queryKey: ['data-sources'],
  queryFn: async () => (await answer(api.GET('/v1/fiscal-entities/data-sources'))).data,
  staleTime: Number.POSITIVE_INFINITY,
})
