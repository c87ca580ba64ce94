import { useState } from 'preact/hooks'
import { faultOf } from '../../../api/problems.ts'
import type { StorageConnector } from '../../../api/routes.d.ts'
import { useWords } from '../../../language.ts'
import { Field, FileField } from '../../../parts/field.tsx'
import { Switch } from '../../../parts/switch.tsx'
import css from '../parts/automation.module.css'
import { Choices } from '../parts/choices.tsx'
import { RfcChoice } from '../parts/rfcs.tsx'
import { configOf, type Group, KINDS, type Kind, NotJson, PROVIDERS, type Provider } from './providers.ts'
import { words } from './words.ts'

/** The part of a fault that is the member's own, or that of all of them. */
const faultAt = (error: Error | null, part: string, name: string) => faultOf(error, `${part}.${name}`)

/** Where the destination is. */
export function Place({ provider, stored, error }: { provider: Provider; stored?: StorageConnector; error: Error | null }) {
  const t = useWords(words)
  const known = (stored?.config ?? {}) as Record<string, unknown>
  return (
    <>
      {configOf(provider).map(({ name, isOptional, fallback }) => (
        <Field
          key={`${provider} ${name}`}
          {...{ label: isOptional ? t.optional(t.fields[name]!) : t.fields[name]!, fault: faultAt(error, 'config', name) }}
          hint={name === 'path_template' && t.templateHint}
          name={`config.${name}`}
          required={!isOptional}
          placeholder={fallback}
          defaultValue={String(known[name] ?? '')}
        />
      ))}
    </>
  )
}

interface CredentialsProps {
  provider: Provider
  group: Group
  choose: (group: Group) => void
  error: Error | null
}

export const groupsOf = (provider: Provider): Group[] => Object.keys(PROVIDERS[provider].credentials) as Group[]

/** What admits the service to the destination. */
export function Credentials({ provider, group, choose, error }: CredentialsProps) {
  const t = useWords(words)
  const groups = groupsOf(provider)
  return (
    <fieldset class={css.stack}>
      <legend>
        <b>{t.credentials}</b>
      </legend>
      {groups.length > 1 && (
        <div>
          <Switch
            label={t.credentials}
            value={group}
            choices={groups.map((one) => [one, t.credentialKinds[one]] as const)}
            choose={choose}
          />
        </div>
      )}
      {PROVIDERS[provider].credentials[group]?.map(({ name, type = 'text', isOptional }) => {
        const label = isOptional ? t.optional(t.fields[name]!) : t.fields[name]!
        const fault = error instanceof NotJson ? t.notJson : faultAt(error, 'credentials', name)
        return type === 'file' ? (
          <FileField key={name} {...{ label, fault }} name={`credentials.${name}`} accept=".json,application/json" required />
        ) : (
          <Field key={name} {...{ label, fault, type }} name={`credentials.${name}`} required={!isOptional} autocomplete="off" />
        )
      })}
    </fieldset>
  )
}

interface Scope {
  fiscal_entity_ids: string[] | null
  kinds: Kind[]
}

export const useScope = (stored?: StorageConnector) =>
  useState<Scope>({
    fiscal_entity_ids: stored?.scope.fiscal_entity_ids ?? null,
    kinds: stored?.scope.kinds ?? KINDS.filter((kind) => kind !== 'cfdi_pdf'),
  })

/** What is copied. */
export function ScopeFields({ scope, set, error }: { scope: Scope; set: (scope: Scope) => void; error: Error | null }) {
  const t = useWords(words)
  return (
    <>
      <Choices
        legend={t.kinds}
        choices={KINDS.map((kind) => ({ value: kind, name: t.kindNames[kind] }))}
        chosen={scope.kinds}
        set={(kinds) => set({ ...scope, kinds: kinds as Kind[] })}
        fault={faultOf(error, 'scope.kinds')}
      />
      <RfcChoice
        chosen={scope.fiscal_entity_ids}
        set={(fiscal_entity_ids) => set({ ...scope, fiscal_entity_ids })}
        fault={faultOf(error, 'scope.fiscal_entity_ids')}
      />
    </>
  )
}
