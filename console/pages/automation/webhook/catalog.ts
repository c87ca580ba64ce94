import { queryOptions } from '@tanstack/preact-query'
import { answer, api } from '../../../api/client.ts'

export const catalogQuery = queryOptions({
  queryKey: ['event-catalog'],
  queryFn: async () => (await answer(api.GET('/v1/webhooks/event-catalog'))).data,
  staleTime: Number.POSITIVE_INFINITY,
})
