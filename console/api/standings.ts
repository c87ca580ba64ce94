import { queryOptions } from '@tanstack/preact-query'
import { answer, api } from './client.ts'
import { FRESH_MS, LIVE_MS } from './queries.ts'
import type { FiscalEntity, SyncStatus } from './routes.d.ts'

/** How an RFC stands: what happens, why, when it goes on. */
export interface Standing {
  entity: FiscalEntity
  sync: SyncStatus | null
}

const PAGE = 100

async function everyEntity(): Promise<FiscalEntity[]> {
  const all: FiscalEntity[] = []
  for (let cursor: string | undefined; ; ) {
    const page = await answer(api.GET('/v1/fiscal-entities', { params: { query: { limit: PAGE, ...(cursor && { cursor }) } } }))
    all.push(...page.data)
    if (!page.next_cursor) return all
    cursor = page.next_cursor
  }
}

const syncOf = ({ fiscal_entity_id, status }: FiscalEntity): Promise<SyncStatus | null> =>
  status === 'active'
    ? answer(api.GET('/v1/fiscal-entities/{fiscal_entity_id}/sync', { params: { path: { fiscal_entity_id } } }))
    : Promise.resolve(null)

/** Every RFC with how it stands. */
async function readStandings(): Promise<Standing[]> {
  const entities = await everyEntity()
  return Promise.all(entities.map(async (entity) => ({ entity, sync: await syncOf(entity) })))
}

export const isMoving = ({ sync }: Standing): boolean => sync?.status === 'running'

/** Asked again often while something moves, seldom while nothing does, and never while nobody looks. */
export const standingsQuery = queryOptions({
  queryKey: ['standings'],
  queryFn: readStandings,
  refetchInterval: ({ state }) => (state.data?.some(isMoving) ? LIVE_MS : FRESH_MS),
})
