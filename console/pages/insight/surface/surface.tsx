import type { ComponentChildren, ComponentType } from 'preact'
import type { FiscalEntity } from '../../../api/routes.d.ts'
import { useWords } from '../../../language.ts'
import { EntityPicker, useEntity } from '../../../parts/entity.tsx'
import { Title } from '../../../parts/page.tsx'
import { Empty, Failed, Skeleton } from '../../../parts/states.tsx'
import { isUnreadable, Unreadable } from '../../../parts/unreadable.tsx'
import css from './surface.module.css'
import { words } from './words.ts'

/** The parameters of the address, which are those of the API. */
export interface Asked {
  said: (name: string) => string
  /** Sets parameters; an empty value takes one away. */
  change: (values: Record<string, string>) => void
}

export interface At extends Asked {
  fiscal_entity_id: string
  entity: FiscalEntity
  /** What the address says of these parameters, for a query. */
  own: (...names: readonly string[]) => Record<string, string>
}

interface Props {
  title: string
  lead: ComponentChildren
  /** What else is chosen, under the title. */
  bar?: ComponentType<Asked>
  /** Beside the choice of the RFC. */
  actions?: (at: At) => ComponentChildren
  children: (at: At) => ComponentChildren
}

/** A page on one RFC, which its head chooses. Before there is one, it says what to do. */
export function Surface({ title, lead, bar: Bar, actions, children }: Props) {
  const t = useWords(words)
  const { entity, entities, error, refetch, choose, params, set } = useEntity()
  if (error && !entities) return <Failed isPage error={error} retry={refetch} />
  if (!entities) return <Skeleton rows={6} />
  if (entities.length === 0)
    return <Empty isPage title={t.connectTitle} lead={t.connectLead} action={{ label: t.connect, href: '/connect' }} />
  const said = (name: string) => params.get(name) ?? ''
  const change = (values: Record<string, string>) =>
    set(
      (old) => {
        for (const [name, value] of Object.entries(values)) {
          if (value) old.set(name, value)
          else old.delete(name)
        }
        return old
      },
      { replace: true },
    )
  const at = entity && {
    ...{ said, change, entity, fiscal_entity_id: entity.fiscal_entity_id },
    own: (...names: readonly string[]) => Object.fromEntries(names.map((name) => [name, said(name)]).filter(([, value]) => value)),
  }
  return (
    <>
      <Title text={title} lead={lead}>
        <EntityPicker entities={entities} entity={entity} choose={choose} />
        {at && actions?.(at)}
      </Title>
      {Bar && (
        <div class={css.bar}>
          <Bar said={said} change={change} />
        </div>
      )}
      {at && isUnreadable(at.entity) ? <Unreadable entity={at.entity} /> : at ? children(at) : <Empty title={t.unknownRfc} />}
    </>
  )
}

const MONTH = /^\d{4}-(0[1-9]|1[0-2])$/

/** The months of a surface, as `from` and `to`. */
export function Range({ said, change }: Asked) {
  const t = useWords(words)
  return (
    <>
      {(['from', 'to'] as const).map((name) => (
        <label key={name}>
          {t[name]}
          <input
            type="month"
            value={said(name).slice(0, 7)}
            onChange={({ currentTarget: { value } }) => (value === '' || MONTH.test(value)) && change({ [name]: value, period: '' })}
          />
        </label>
      ))}
    </>
  )
}
