import { useQuery } from '@tanstack/preact-query'
import { useId } from 'preact/hooks'
import { entitiesQuery } from '../../../api/queries.ts'
import { useWords } from '../../../language.ts'
import css from './automation.module.css'
import { Choices } from './choices.tsx'
import { words } from './words.ts'

interface Props {
  /** Null: all of them. */
  chosen: string[] | null
  set: (chosen: string[] | null) => void
  fault?: string | undefined
}

/** All RFCs, or some of them. */
export function RfcChoice({ chosen, set, fault }: Props) {
  const t = useWords(words)
  const name = useId()
  const { data = [] } = useQuery(entitiesQuery)
  return (
    <>
      <fieldset class={css.choices}>
        <legend>{t.rfcs}</legend>
        <label>
          <input type="radio" name={name} checked={chosen === null} onChange={() => set(null)} />
          {t.all}
        </label>
        <label>
          <input type="radio" name={name} checked={chosen !== null} onChange={() => set([])} />
          {t.some}
        </label>
      </fieldset>
      {chosen && data.length === 0 && <p>{t.noRfcs}</p>}
      {chosen && data.length > 0 && (
        <Choices
          legend={t.which}
          choices={data.map((one) => ({ value: one.fiscal_entity_id, name: one.rfc, note: one.name }))}
          chosen={chosen}
          set={set}
          fault={fault}
        />
      )}
    </>
  )
}

/** The RFC of an identifier, where it is known. */
export function useRfcOf(): (id: string) => string {
  const { data } = useQuery(entitiesQuery)
  return (id) => data?.find((one) => one.fiscal_entity_id === id)?.rfc ?? id
}
