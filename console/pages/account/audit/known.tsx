import { useQuery } from '@tanstack/preact-query'
import { useLocation } from 'wouter-preact'
import { entitiesQuery } from '../../../api/queries.ts'
import { useWords } from '../../../language.ts'
import { Button } from '../../../parts/button.tsx'
import { Actions, Field, Form, Select } from '../../../parts/field.tsx'
import { Panel } from '../../../parts/page.tsx'
import css from '../account.module.css'
import { words } from './words.ts'

const UUID = '[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}'

/** Leads to CFDIs as they were known on a day. */
export function Known() {
  const t = useWords(words)
  const [, go] = useLocation()
  const { data: entities = [] } = useQuery(entitiesQuery)
  if (entities.length === 0) return null
  const open = (form: FormData) => {
    const [id, day, uuid] = ['fiscal_entity_id', 'as_of', 'uuid'].map((name) => String(form.get(name) ?? '').trim())
    go(`/cfdi${uuid && `/${uuid.toLowerCase()}`}?fiscal_entity_id=${id}&as_of=${day}`)
  }
  return (
    <Panel title={t.prove} lead={t.proveLead}>
      <div class={css.form}>
        <Form onSubmit={open}>
          <Select label={t.rfc} name="fiscal_entity_id">
            {entities.map(({ fiscal_entity_id, rfc }) => (
              <option key={fiscal_entity_id} value={fiscal_entity_id}>
                {rfc}
              </option>
            ))}
          </Select>
          <Field label={t.day} name="as_of" type="date" required />
          <Field label={t.uuid} hint={t.uuidHint} name="uuid" pattern={UUID} spellcheck={false} autocomplete="off" />
          <Actions>
            <Button type="submit">{t.open}</Button>
          </Actions>
        </Form>
      </div>
    </Panel>
  )
}
