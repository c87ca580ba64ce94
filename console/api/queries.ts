import { QueryCache, QueryClient, queryOptions, useMutation, useQueryClient } from '@tanstack/preact-query'
import { useRef } from 'preact/hooks'
import { answer, api, Refused, type Session, session } from './client.ts'
import type { FiscalEntity } from './routes.d.ts'

/** Of what does not move: how long an answer counts as fresh, and how often it is asked for again at most. */
export const FRESH_MS = 30_000
/** Of what moves while somebody looks. */
export const LIVE_MS = 2_500

const isWorthRepeating = (failures: number, error: Error): boolean =>
  !(error instanceof Refused) || error.status === 0 || error.status >= 500 ? failures < 2 : error.status === 429 && failures < 3

const waitOf = (failures: number, error: Error): number =>
  error instanceof Refused && error.retryAfterSeconds !== null ? error.retryAfterSeconds * 1_000 : 1_000 * 2 ** failures

/** Everything that was read. Whichever answer says that nobody is signed in, nothing of it stays. */
export const queries: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError: (error) => leaveOn(error) }),
  defaultOptions: {
    queries: { staleTime: FRESH_MS, retry: isWorthRepeating, retryDelay: waitOf, networkMode: 'always' },
    mutations: { retry: false, networkMode: 'always', onError: (error) => leaveOn(error) },
  },
})

export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: () => session('GET'),
  staleTime: Number.POSITIVE_INFINITY,
})

/** Whether the session ended without being asked to. */
export const ended = { unasked: false }

const leaveOn = (error: Error): void => {
  if (error instanceof Refused && error.status === 401 && queries.getQueryData(sessionQuery.queryKey)) forget(true)
}

/** Shows the way in again. A page that watches a query keeps it alive, so the session goes first, and the pages with it. */
export function forget(unasked: boolean): void {
  ended.unasked = unasked
  queries.setQueryData(sessionQuery.queryKey, null)
  queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' })
}

export function enter(view: Session): void {
  ended.unasked = false
  queries.setQueryData(sessionQuery.queryKey, view)
}

/** The most that the API gives at once. */
export const PAGE = 100

/** All of a list, page after page. */
export async function everyPage<T>(
  read: (query: { limit: number; cursor?: string }) => Promise<{ data: T[]; next_cursor: string | null }>,
): Promise<T[]> {
  const all: T[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: { data: T[]; next_cursor: string | null } = await read({ limit: PAGE, ...(cursor && { cursor }) })
    all.push(...page.data)
    cursor = page.next_cursor
  }
  return all
}

const readEntities = (): Promise<FiscalEntity[]> =>
  everyPage(
    (query) =>
      answer(api.GET('/v1/fiscal-entities', { params: { query } })) as Promise<{ data: FiscalEntity[]; next_cursor: string | null }>,
  )

/** Every RFC, for pages that choose one. */
export const entitiesQuery = queryOptions({ queryKey: ['fiscal-entities'], queryFn: readEntities })

export const billingQuery = queryOptions({ queryKey: ['billing'], queryFn: () => answer(api.GET('/v1/billing')) })

/** What is used of each limit of the plan. It is asked for again with the former. */
export const usageQuery = queryOptions({ queryKey: ['billing', 'usage'], queryFn: () => answer(api.GET('/v1/billing/usage')) })

/**
 * A change: `const send = useSend((input, headers) => answer(api.POST('/v1/…', { body: input, headers })), ['what-it-changes'])`. It has one
 * Idempotency-Key until it succeeds, so that nothing happens twice. Afterwards the queries with these first members are asked again.
 */
export function useSend<Input, Output>(
  send: (input: Input, headers: { 'Idempotency-Key': string }) => Promise<Output>,
  changes: readonly string[] = [],
) {
  const client = useQueryClient()
  const kept = useRef<{ key: string; input: string } | null>(null)
  return useMutation<Output, Error, Input>({
    mutationFn: (input) => {
      // The same key with another content would be refused.
      const said = JSON.stringify(input) ?? ''
      if (kept.current?.input !== said) kept.current = { key: crypto.randomUUID(), input: said }
      return send(input, { 'Idempotency-Key': kept.current.key })
    },
    onSuccess: () => {
      kept.current = null
      return Promise.all(changes.map((name) => client.invalidateQueries({ queryKey: [name] })))
    },
  })
}
