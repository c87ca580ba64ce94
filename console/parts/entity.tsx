import { useQuery } from '@tanstack/preact-query'
import { useSearchParams } from 'wouter-preact'
import { entitiesQuery } from '../api/queries.ts'
import type { FiscalEntity } from '../api/routes.d.ts'
import { useWords } from '../language.ts'
import css from './entity.module.css'
import { words } from './words.ts'

/** The RFC that the address names (`fiscal_entity_id`); the first one that can be read when it names none. */
export function useEntity() {
  const [params, set] = useSearchParams()
  const { data: entities, error, refetch } = useQuery(entitiesQuery)
  const named = params.get('fiscal_entity_id')
  const entity =
    entities?.find((one) => one.fiscal_entity_id === named) ??
    (named ? undefined : (entities?.find((one) => one.status === 'active') ?? entities?.[0]))
  /** Another RFC, with the same filters. */
  const choose = (id: string) =>
    set((old) => {
      old.set('fiscal_entity_id', id)
      old.delete('cursor')
      return old
    })
  return { entity, entities, error, refetch, choose, params, set }
}

/** Chooses the RFC of a page. */
export function EntityPicker({
  entities,
  entity,
  choose,
}: {
  entities: readonly FiscalEntity[]
  entity: FiscalEntity | undefined
  choose: (id: string) => void
}) {
  const t = useWords(words)
  return (
    <select
      class={css.picker}
      aria-label={t.entity}
      value={entity?.fiscal_entity_id ?? ''}
      onChange={({ currentTarget }) => choose(currentTarget.value)}
    >
      {!entity && <option value="">{t.entity}</option>}
      {entities.map(({ fiscal_entity_id, rfc, name }) => (
        <option key={fiscal_entity_id} value={fiscal_entity_id}>
          {name ? `${rfc} · ${name}` : rfc}
        </option>
      ))}
    </select>
  )
}
