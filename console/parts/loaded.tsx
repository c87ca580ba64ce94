import type { ComponentChildren } from 'preact'
import { Failed, Skeleton } from './states.tsx'

interface Query<T> {
  data: T | undefined
  error: Error | null
  refetch: () => unknown
}

/** What a query has read, or what stands in its place. What was read stays while a later reading fails. */
export function Loaded<T>({ query, rows = 2, children }: { query: Query<T>; rows?: number; children: (data: T) => ComponentChildren }) {
  if (query.data !== undefined) return <>{children(query.data)}</>
  return query.error ? <Failed error={query.error} retry={query.refetch} /> : <Skeleton rows={rows} />
}
