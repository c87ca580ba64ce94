import { queryOptions } from '@tanstack/preact-query'
import { instant } from '../format.ts'
import { language } from '../language.ts'
import { answer, api } from './client.ts'
import { withInstants } from './instants.ts'
import { everyPage, FRESH_MS, LIVE_MS, PAGE } from './queries.ts'
import type { SyncStatus } from './routes.d.ts'

/** How an RFC stands. */
export type Standing = SyncStatus

/** One request for a hundred RFCs. */
const readStandings = () => everyPage<Standing>((query) => answer(api.GET('/v1/sync', { params: { query } })))

export const isMoving = ({ state }: Standing): boolean => state === 'running'

/** The sentence on how an RFC stands, in the language that is spoken. */
export const sayOf = ({ message_es, summary }: Pick<Standing, 'message_es' | 'summary'>, zone: string): string =>
  withInstants(language() === 'es' ? message_es : summary, zone, instant)

/** What an RFC is called: by the organization, else by its documents. */
export const nameOf = ({ name, taxpayer_name }: Standing): string | null => name ?? taxpayer_name

/**
 * Of many RFCs one reading takes many calls: with those of the menu they stay under 20 a minute while nothing moves, and under 100 while
 * something does.
 */
const IDLE_CALL_MS = 3_500
const LIVE_CALL_MS = 600
const callsFor = (all: readonly Standing[]): number => Math.max(1, Math.ceil(all.length / PAGE))

/** Asked again often while something moves, seldom while nothing does, and never while nobody looks. */
export const standingsQuery = queryOptions({
  queryKey: ['standings'],
  queryFn: readStandings,
  refetchInterval: ({ state: { data = [] } }) =>
    data.some(isMoving) ? Math.max(LIVE_MS, callsFor(data) * LIVE_CALL_MS) : Math.max(FRESH_MS, callsFor(data) * IDLE_CALL_MS),
})
