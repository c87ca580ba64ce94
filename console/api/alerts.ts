import { queryOptions } from '@tanstack/preact-query'
import { count, day } from '../format.ts'
import { language } from '../language.ts'
import { answer, api } from './client.ts'
import { withDays } from './instants.ts'
import type { Alert } from './routes.d.ts'

/** What an alert says in the language that is spoken, with its days as the pages say them. */
export const textOf = ({ message, message_es }: Alert): string => withDays(language() === 'es' ? message_es : message, day)

/** So many are counted. */
const MOST = 20
const EVERY_MS = 60_000

/**
 * How many alerts are unread and their cause lasts, as the menu says it: `3`, `20+` when there may be more, empty without any. It is asked for
 * again when one is marked as read, and once a minute.
 */
export const openAlertsQuery = queryOptions({
  queryKey: ['alerts', 'open'],
  refetchInterval: EVERY_MS,
  queryFn: async () => {
    const { data, has_more } = await answer(api.GET('/v1/alerts', { params: { query: { is_read: false, state: 'open', limit: MOST } } }))
    return data.length === 0 ? '' : `${count(data.length)}${has_more ? '+' : ''}`
  },
})
