import { queryOptions } from '@tanstack/preact-query'
import { language } from '../language.ts'
import { answer, api } from './client.ts'
import { everyPage, FRESH_MS, LIVE_MS, PAGE, readEntities } from './queries.ts'
import type { FiscalEntity, SyncStatus } from './routes.d.ts'

/** An RFC and how it stands. */
export interface Standing {
  entity: FiscalEntity
  sync: SyncStatus
}

/** One request for a hundred RFCs. */
const readSync = () => everyPage<SyncStatus>((query) => answer(api.GET('/v1/sync', { params: { query } })))

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

/** Of many RFCs one reading takes many calls: they stay under 20 a minute while nothing moves, and under 100 while something does. */
const IDLE_CALL_MS = 3_000
const LIVE_CALL_MS = 600
const callsFor = (all: readonly Standing[]): number => 2 * Math.max(1, Math.ceil(all.length / PAGE))

/** Asked again often while something moves, seldom while nothing does, and never while nobody looks. */
export const standingsQuery = queryOptions({
  queryKey: ['standings'],
  queryFn: readStandings,
  refetchInterval: ({ state: { data = [] } }) =>
    data.some(isMoving) ? Math.max(LIVE_MS, callsFor(data) * LIVE_CALL_MS) : Math.max(FRESH_MS, callsFor(data) * IDLE_CALL_MS),
})
