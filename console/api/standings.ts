import { queryOptions } from '@tanstack/preact-query'
import { language } from '../language.ts'
import { answer, api } from './client.ts'
import { FRESH_MS, LIVE_MS } from './queries.ts'
import type { FiscalEntity, SyncStatus } from './routes.d.ts'

/** An RFC and how it stands. */
export interface Standing {
  entity: FiscalEntity
  sync: SyncStatus
}

const PAGE = 100

async function everyPage<T>(read: (cursor: string | undefined) => Promise<{ data: T[]; next_cursor: string | null }>): Promise<T[]> {
  const all: T[] = []
  for (let cursor: string | undefined; ; ) {
    const page = await read(cursor)
    all.push(...page.data)
    if (!page.next_cursor) return all
    cursor = page.next_cursor
  }
}

const query = (cursor: string | undefined) => ({ params: { query: { limit: PAGE, ...(cursor && { cursor }) } } })

const readEntities = () => everyPage<FiscalEntity>((cursor) => answer(api.GET('/v1/fiscal-entities', query(cursor))))

/** One request for a hundred RFCs. */
const readSync = () => everyPage<SyncStatus>((cursor) => answer(api.GET('/v1/sync', query(cursor))))

async function readStandings(): Promise<Standing[]> {
  const [entities, syncs] = await Promise.all([readEntities(), readSync()])
  const all = new Map(syncs.map((sync) => [sync.fiscal_entity_id, sync]))
  return entities.flatMap((entity) => {
    const sync = all.get(entity.fiscal_entity_id)
    return sync ? [{ entity, sync }] : []
  })
}

export const isMoving = ({ sync }: Pick<Standing, 'sync'>): boolean => sync.state === 'running'

/** The sentence on how an RFC stands, in the language that is spoken. */
export const sayOf = ({ sync }: Pick<Standing, 'sync'>): string => (language() === 'es' ? sync.message_es : sync.summary)

/** Asked again often while something moves, seldom while nothing does, and never while nobody looks. */
export const standingsQuery = queryOptions({
  queryKey: ['standings'],
  queryFn: readStandings,
  refetchInterval: ({ state }) => (state.data?.some(isMoving) ? LIVE_MS : FRESH_MS),
})
