import type { ComponentChildren } from 'preact'
import type { FiscalEntity } from '../../../api/routes.d.ts'
import { useWords } from '../../../language.ts'
import { EntityPicker, useEntity } from '../../../parts/entity.tsx'
import { Call, Title } from '../../../parts/page.tsx'
import { Empty, Failed, Skeleton } from '../../../parts/states.tsx'
import { isUnreadable, Unreadable } from '../../../parts/unreadable.tsx'
import { FilterWords } from '../../../parts/wrong.tsx'
import css from './figures.module.css'
import type { Own } from './read.ts'
import { words } from './words.ts'

export interface Asked {
  /** What the API is asked: the RFC, and the parameters that the address or the page says. */
  own: Own
  /** Any parameter of the address, those of the page alone included. */
  said: (name: string) => string
  /** Sets parameters; an empty value takes one away. */
  change: (values: Own) => void
}

export interface At extends Asked {
  entity: FiscalEntity
}

interface Props {
  title: string
  lead: ComponentChildren
  /** The route of the API that the page shows, which is named beneath it. */
  path?: string
  /** The parameters of the API that its address may have, beside the RFC. */
  names?: readonly string[]
  /** What is asked for where the address says nothing. */
  otherwise?: Own
  /** What chooses other parameters than the days. */
  controls?: (asked: Asked) => ComponentChildren
  /** Beside the choice of the RFC. */
  actions?: (at: At) => ComponentChildren
  /** Whether the page is one of several that show things of a kind. */
  isThing?: boolean
  children: (at: At) => ComponentChildren
}

const MONTH = /^\d{4}-(0[1-9]|1[0-2])$/

/** The months that figures are of, as `from` and `to`. A month that was chosen within them (`period`) may be outside of others. */
function Range({ own, change, names }: Asked & { names: readonly string[] }) {
  const t = useWords(words)
  return (
    <>
      {(['from', 'to'] as const)
        .filter((name) => names.includes(name))
        .map((name) => (
          <label key={name}>
            {t[name]}
            <input
              type="month"
              value={(own[name] ?? '').slice(0, 7)}
              onChange={({ currentTarget: { value } }) => (value === '' || MONTH.test(value)) && change({ [name]: value, period: '' })}
            />
          </label>
        ))}
      {names.includes('as_of') && (
        <label>
          {t.asOf}
          <input type="date" value={own['as_of'] ?? ''} onChange={({ currentTarget: { value } }) => change({ as_of: value })} />
        </label>
      )}
    </>
  )
}

/** A page with figures of one RFC: its head, the months and whatever else is chosen, and what was read. */
export function Surface({ title, lead, path, names = [], otherwise = {}, controls, actions, isThing = false, children }: Props) {
  const t = useWords(words)
  const { entity, entities, error, refetch, choose, params, set } = useEntity()
  if (error && !entities) return <Failed isPage error={error} retry={refetch} />
  if (!entities) return <Skeleton rows={8} />
  if (entities.length === 0)
    return <Empty isPage title={t.connectTitle} lead={t.connectLead} action={{ label: t.connect, href: '/connect' }} />
  const said = (name: string) => params.get(name) ?? ''
  const given = names.map((name) => [name, said(name)] as const).filter(([, value]) => value)
  const own: Own = { fiscal_entity_id: entity?.fiscal_entity_id ?? '', ...otherwise, ...Object.fromEntries(given) }
  const change = (values: Own) =>
    set((old) => {
      for (const [name, value] of Object.entries(values)) {
        if (value) old.set(name, value)
        else old.delete(name)
      }
      return old
    })
  const asked: Asked = { own, said, change }
  return (
    <>
      <Title text={title} lead={lead} of={entity?.rfc} isThing={isThing}>
        <EntityPicker entities={entities} entity={entity} choose={choose} />
        {entity && actions?.({ ...asked, entity })}
      </Title>
      <div class={css.bar}>
        <Range {...asked} names={names} />
        {controls?.(asked)}
      </div>
      {entity && isUnreadable(entity) ? (
        <Unreadable entity={entity} />
      ) : entity ? (
        <FilterWords.Provider value={(name, value) => ({ label: t.names[name] ?? name, value })}>
          {children({ ...asked, entity })}
          {path && <Call call={`GET ${path}?${new URLSearchParams(own)}`} />}
        </FilterWords.Provider>
      ) : (
        <Empty title={t.unknownRfc} />
      )}
    </>
  )
}
