import { queryOptions } from '@tanstack/preact-query'
import { language } from '../language.ts'
import { answer, api, Refused } from './client.ts'
import { FRESH_MS, LIVE_MS } from './queries.ts'
import type { FiscalEntity, SyncStatus } from './routes.d.ts'

/** Where the downloads of an RFC are. */
export interface Sync {
  fiscal_entity_id: string
  state: 'idle' | 'running' | 'waiting' | 'blocked'
  jobs: { queued: number; running: number; waiting: number; succeeded: number; failed: number; total: number }
  percent: number
  last_success_at: string | null
  next_run_at: string | null
  /** What is going on, why, when it goes on, and what to do. */
  summary: string
  message_es: string
}

/** An RFC and how it stands. */
export interface Standing {
  entity: FiscalEntity
  sync: Sync
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
const readSync = () => everyPage<Sync>((cursor) => answer(api.GET('/v1/sync' as never, query(cursor) as never) as never))

/** Of a service that has no GET /v1/sync. */
const syncOf = ({ fiscal_entity_id, status }: FiscalEntity, sync: SyncStatus): Sync => {
  const state = status !== 'active' ? 'blocked' : sync.status
  const [summary, message_es] = SAYS[status === 'active' ? sync.status : status]
  return { ...sync, fiscal_entity_id, state, jobs: { waiting: 0, ...sync.jobs }, next_run_at: null, summary, message_es }
}

const SAYS: Record<'idle' | 'running' | 'draft' | 'paused' | 'invalid_ciec', readonly [string, string]> = {
  idle: ['Everything that was asked for is downloaded.', 'Está descargado todo lo solicitado.'],
  running: ['Downloading now. You can close this page.', 'Descargando ahora. Puede cerrar esta página.'],
  draft: ['There is no CIEC or e.firma, so nothing is downloaded.', 'Falta la CIEC o la e.firma: sin ella no se descarga nada.'],
  paused: ['Paused: nothing is downloaded.', 'En pausa: no se descarga nada.'],
  invalid_ciec: ['The tax authority refuses the CIEC or e.firma.', 'El SAT rechaza la CIEC o la e.firma. Actualícela para continuar.'],
}

async function readEachSync(entities: readonly FiscalEntity[]): Promise<Sync[]> {
  const read = ({ fiscal_entity_id }: FiscalEntity) =>
    answer(api.GET('/v1/fiscal-entities/{fiscal_entity_id}/sync', { params: { path: { fiscal_entity_id } } }))
  return Promise.all(entities.map(async (entity) => syncOf(entity, await read(entity))))
}

async function readStandings(): Promise<Standing[]> {
  const [entities, syncs] = await Promise.all([
    readEntities(),
    readSync().catch((error: unknown) => {
      if (error instanceof Refused && error.status === 404) return null
      throw error
    }),
  ])
  const all = new Map((syncs ?? (await readEachSync(entities))).map((sync) => [sync.fiscal_entity_id, sync]))
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
