import type { ComponentChildren } from 'preact'
import { useWords } from '../../../language.ts'
import { EntityPicker, useEntity } from '../../../parts/entity.tsx'
import { Call, Title } from '../../../parts/page.tsx'
import { Empty, Failed, Skeleton } from '../../../parts/states.tsx'
import { isUnreadable, Unreadable } from '../../../parts/unreadable.tsx'
import css from './figures.module.css'
import type { Own } from './read.ts'
import { words } from './words.ts'

export type Change = (name: string, value: string) => void

interface Props {
  title: string
  lead: ComponentChildren
  /** Of the API, which is the path of the page as well. */
  path: string
  /** The parameters that its address may have, beside the RFC. */
  names: readonly string[]
  /** What is asked for where the address says nothing. */
  otherwise?: Own
  /** What chooses other parameters than the days. */
  controls?: (own: Own, change: Change) => ComponentChildren
  children: (own: Own, change: Change) => ComponentChildren
}

const MONTH = /^\d{4}-(0[1-9]|1[0-2])$/

/** A page with figures of one RFC: its head, the months and whatever else is chosen, and what was read. */
export function Surface({ title, lead, path, names, otherwise = {}, controls, children }: Props) {
  const t = useWords(words)
  const { entity, entities, error, refetch, choose, params, set } = useEntity()
  if (error && !entities) return <Failed isPage error={error} retry={refetch} />
  if (!entities) return <Skeleton rows={8} />
  if (entities.length === 0)
    return <Empty isPage title={t.connectTitle} lead={t.connectLead} action={{ label: t.connect, href: '/connect' }} />
  const own: Own = { fiscal_entity_id: entity?.fiscal_entity_id ?? '', ...otherwise }
  for (const name of names) {
    const value = params.get(name)
    if (value) own[name] = value
  }
  const change: Change = (name, value) =>
    set((old) => {
      if (value) old.set(name, value)
      else old.delete(name)
      return old
    })
  return (
    <>
      <Title text={title} lead={lead}>
        <EntityPicker entities={entities} entity={entity} choose={choose} />
      </Title>
      <div class={css.bar}>
        {(['from', 'to'] as const)
          .filter((name) => names.includes(name))
          .map((name) => (
            <label key={name}>
              {t[name]}
              <input
                type="month"
                value={(own[name] ?? '').slice(0, 7)}
                onChange={({ currentTarget: { value } }) => (value === '' || MONTH.test(value)) && change(name, value)}
              />
            </label>
          ))}
        {names.includes('as_of') && (
          <label>
            {t.asOf}
            <input type="date" value={own['as_of'] ?? ''} onChange={({ currentTarget: { value } }) => change('as_of', value)} />
          </label>
        )}
        {controls?.(own, change)}
      </div>
      {entity && isUnreadable(entity) ? (
        <Unreadable entity={entity} />
      ) : entity ? (
        <>
          {children(own, change)}
          <Call call={`GET ${path}?${new URLSearchParams(own)}`} />
        </>
      ) : (
        <Empty title={t.unknownRfc} />
      )}
    </>
  )
}
