import { useQuery } from '@tanstack/preact-query'
import { useId, useState } from 'preact/hooks'
import { faultOf } from '../../../api/problems.ts'
import type { EventKey, Webhook, WebhookDraft } from '../../../api/routes.d.ts'
import { useWords } from '../../../language.ts'
import { Field, Select } from '../../../parts/field.tsx'
import { Loaded } from '../../../parts/loaded.tsx'
import css from '../parts/automation.module.css'
import { Choices } from '../parts/choices.tsx'
import { RfcChoice } from '../parts/rfcs.tsx'
import { catalogQuery } from './catalog.ts'
import { words } from './words.ts'

/** What tells of downloads, which most listeners want. They stand first, and what is not sent yet last. */
const ADVISED: EventKey[] = ['extraction.completed', 'extraction.failed']
const placeOf = ({ key, available }: { key: EventKey; available: boolean }): number => (ADVISED.includes(key) ? 0 : available ? 1 : 2)

const TYPES = ['I', 'E', 'T', 'N', 'P', 'retenciones'] as const
type CfdiType = (typeof TYPES)[number]

type Header = 'keep' | 'none' | 'set'

/** What the form holds. A header that is kept is not sent. */
interface Draft {
  name: string
  url: string
  event_keys: string[]
  fiscal_entity_ids: string[] | null
  /** Empty for both. */
  direction: '' | 'issued' | 'received'
  /** None for all. */
  cfdi_types: string[]
  /** Empty for no limit. */
  max_per_minute: string
  header: Header
  header_name: string
  header_value: string
}

export const useDraft = (stored?: Webhook) =>
  useState<Draft>(() => ({
    ...{
      name: stored?.name ?? '',
      url: stored?.url ?? '',
      event_keys: stored?.event_keys ?? ADVISED,
    },
    ...{ direction: stored?.direction ?? '', cfdi_types: stored?.cfdi_types ?? [], max_per_minute: String(stored?.max_per_minute ?? '') },
    ...{ fiscal_entity_ids: stored?.fiscal_entity_ids ?? null, header: stored?.custom_header ? 'keep' : 'none' },
    ...{ header_name: stored?.custom_header?.name ?? '', header_value: '' },
  }))

export const bodyOf = ({
  header,
  header_name,
  header_value,
  event_keys,
  direction,
  cfdi_types,
  max_per_minute,
  ...draft
}: Draft): WebhookDraft => ({
  ...draft,
  event_keys: event_keys as EventKey[],
  direction: direction || null,
  cfdi_types: cfdi_types.length > 0 ? (cfdi_types as CfdiType[]) : null,
  max_per_minute: max_per_minute === '' ? null : Number(max_per_minute),
  ...(header === 'none' && { custom_header: null }),
  ...(header === 'set' && { custom_header: { name: header_name.trim(), value: header_value } }),
})

interface Props {
  draft: Draft
  set: (draft: Draft) => void
  error: Error | null
  /** The header that is stored. */
  stored?: string | undefined
}

/** The fields of a webhook, each with what is wrong with it. */
export function Fields({ draft, set, error, stored }: Props) {
  const t = useWords(words)
  const radio = useId()
  const catalog = useQuery(catalogQuery)
  const text = (name: 'name' | 'url' | 'max_per_minute' | 'header_name' | 'header_value') => ({
    value: draft[name],
    onInput: ({ currentTarget }: { currentTarget: HTMLInputElement }) => set({ ...draft, [name]: currentTarget.value }),
  })
  const headers: readonly (readonly [Header, string])[] = [
    ...(stored ? [['keep', t.headers.keep(stored)] as const] : []),
    ['none', t.headers.none],
    ['set', t.headers.set],
  ]
  return (
    <>
      <Field label={t.name} {...text('name')} required maxLength={120} fault={faultOf(error, 'name')} />
      <Field label={t.url} hint={t.urlHint} {...text('url')} type="url" placeholder="https://" required fault={faultOf(error, 'url')} />
      <Loaded query={catalog}>
        {(events) => (
          <Choices
            legend={t.events}
            isWhole
            chosen={draft.event_keys}
            set={(event_keys) => set({ ...draft, event_keys })}
            fault={faultOf(error, 'event_keys')}
            choices={events
              .toSorted((one, other) => placeOf(one) - placeOf(other))
              .map(({ key, description, available }) => ({
                value: key,
                name: <code>{key}</code>,
                note: available ? (t.eventWords[key] ?? description) : t.soon,
                // Who chose it before can take it away.
                fixed: available || draft.event_keys.includes(key) ? undefined : false,
              }))}
          />
        )}
      </Loaded>
      <RfcChoice
        chosen={draft.fiscal_entity_ids}
        set={(fiscal_entity_ids) => set({ ...draft, fiscal_entity_ids })}
        fault={faultOf(error, 'fiscal_entity_ids')}
      />
      <Select
        label={t.direction}
        hint={t.directionHint}
        value={draft.direction}
        fault={faultOf(error, 'direction')}
        onChange={({ currentTarget }) => set({ ...draft, direction: currentTarget.value as Draft['direction'] })}
      >
        <option value="">{t.both}</option>
        <option value="issued">{t.directions.issued}</option>
        <option value="received">{t.directions.received}</option>
      </Select>
      <Choices
        legend={t.types}
        hint={t.typesHint}
        isWhole
        chosen={draft.cfdi_types}
        set={(cfdi_types) => set({ ...draft, cfdi_types })}
        fault={faultOf(error, 'cfdi_types')}
        choices={TYPES.map((value) => ({ value, name: t.typeNames[value] }))}
      />
      <Field
        {...{ label: t.pace, hint: t.paceHint, type: 'number', min: 1, max: 6_000, fault: faultOf(error, 'max_per_minute') }}
        {...text('max_per_minute')}
      />
      <fieldset class={css.choices}>
        <legend>{t.header}</legend>
        <small>{t.headerHint}</small>
        {headers.map(([value, name]) => (
          <label key={value}>
            <input type="radio" name={radio} checked={draft.header === value} onChange={() => set({ ...draft, header: value })} />
            {name}
          </label>
        ))}
      </fieldset>
      {draft.header === 'set' && (
        <>
          <Field
            {...{ label: t.headerName, placeholder: 'Authorization', fault: faultOf(error, 'custom_header.name') }}
            {...text('header_name')}
            required
          />
          <Field
            {...{ label: t.headerValue, type: 'password', autocomplete: 'off', fault: faultOf(error, 'custom_header.value') }}
            {...text('header_value')}
            required
          />
        </>
      )}
    </>
  )
}
