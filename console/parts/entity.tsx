import { useQuery } from '@tanstack/preact-query'
import { useEffect } from 'preact/hooks'
import { useSearchParams } from 'wouter-preact'
import { entitiesQuery } from '../api/queries.ts'
import type { FiscalEntity } from '../api/routes.d.ts'
import { useWords } from '../language.ts'
import css from './entity.module.css'
import { words } from './words.ts'

/** The RFC that this tab showed last: links of the menu name none, and whoever follows one stays with the RFC. */
let last: string | undefined

/** Remembers the RFC that a page shows. */
export function useRemembered(fiscal_entity_id: string | undefined): void {
  useEffect(() => {
    if (fiscal_entity_id) last = fiscal_entity_id
  }, [fiscal_entity_id])
}

/** The RFC that the address names (`fiscal_entity_id`); when it names none, the one of this tab, or the first one that can be read. */
export function useEntity() {
  const [params, set] = useSearchParams()
  const { data: entities, error, refetch } = useQuery(entitiesQuery)
  const named = params.get('fiscal_entity_id')
  const of = (id: string | null | undefined) => entities?.find((one) => one.fiscal_entity_id === id)
  const kept = named ? undefined : of(last)
  const entity = of(named) ?? kept ?? (named ? undefined : (entities?.find((one) => one.status === 'active') ?? entities?.[0]))
  useRemembered(named ? entity?.fiscal_entity_id : undefined)
  // The address says which RFC it shows, for whoever it is sent to.
  useEffect(() => {
    if (kept)
      set(
        (old) => {
          old.set('fiscal_entity_id', kept.fiscal_entity_id)
          return old
        },
        { replace: true },
      )
  }, [kept?.fiscal_entity_id])
  /** Another RFC, with the same filters. */
  const choose = (id: string) =>
    set((old) => {
      old.set('fiscal_entity_id', id)
      old.delete('cursor')
      return old
    })
  return { entity, entities, error, refetch, choose, params, set }
}

/** An RFC with its name, where it has one. */
export const clientOf = ({ rfc, name }: { rfc: string; name?: string | null }): string => (name ? `${rfc} · ${name}` : rfc)

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
      {entities.map((one) => (
        <option key={one.fiscal_entity_id} value={one.fiscal_entity_id}>
          {clientOf(one)}
        </option>
      ))}
    </select>
  )
}
