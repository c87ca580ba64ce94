import { useQuery } from '@tanstack/preact-query'
import { useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import { entitiesQuery } from '../../../api/queries.ts'
import { useWords } from '../../../language.ts'
import { Button } from '../../../parts/button.tsx'
import { Dialog } from '../../../parts/dialog.tsx'
import { Actions, Field, Form, Select } from '../../../parts/field.tsx'
import { Problem } from '../../../parts/states.tsx'
import { words } from './words.ts'

type What = 'stood' | 'learned'

const UUID = '[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}'

/** Leads to CFDIs as they stood at the end of a day, or to when the service learned what it knows of one: these are not the same. */
export function Known({ close }: { close: () => void }) {
  const t = useWords(words)
  const [, go] = useLocation()
  const { data: entities = [], error } = useQuery(entitiesQuery)
  const [what, choose] = useState<What>('stood')
  const open = (form: FormData) => {
    const [id, day, uuid] = ['fiscal_entity_id', 'as_of', 'uuid'].map((name) => String(form.get(name) ?? '').trim())
    go(`/cfdi${uuid && `/${uuid}`}?fiscal_entity_id=${id}${what === 'stood' ? `&as_of=${day}` : '#history'}`)
  }
  return (
    <Dialog title={t.prove} close={close}>
      <Form onSubmit={open}>
        <Select
          label={t.show}
          hint={t.showsLead[what]}
          name="what"
          value={what}
          onChange={({ currentTarget }) => choose(currentTarget.value as What)}
        >
          <option value="stood">{t.shows.stood}</option>
          <option value="learned">{t.shows.learned}</option>
        </Select>
        <Select label={t.rfc} name="fiscal_entity_id" required>
          {entities.map(({ fiscal_entity_id, rfc, name }) => (
            <option key={fiscal_entity_id} value={fiscal_entity_id}>
              {name ? `${rfc} · ${name}` : rfc}
            </option>
          ))}
        </Select>
        {what === 'stood' && <Field label={t.day} name="as_of" type="date" required />}
        <Field
          label={what === 'stood' ? t.uuidOptional : t.uuid}
          hint={what === 'stood' && t.uuidHint}
          name="uuid"
          pattern={UUID}
          required={what === 'learned'}
          spellcheck={false}
          autocomplete="off"
        />
        <Problem error={error} />
        <Actions>
          <Button type="submit" kind="primary" disabled={entities.length === 0}>
            {t.open}
          </Button>
        </Actions>
      </Form>
    </Dialog>
  )
}
