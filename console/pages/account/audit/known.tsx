import { useQuery } from '@tanstack/preact-query'
import { useLocation } from 'wouter-preact'
import { entitiesQuery } from '../../../api/queries.ts'
import { useWords } from '../../../language.ts'
import { Button } from '../../../parts/button.tsx'
import { Dialog } from '../../../parts/dialog.tsx'
import { Actions, Field, Form, Select } from '../../../parts/field.tsx'
import { Problem } from '../../../parts/states.tsx'
import { words } from './words.ts'

const UUID = '[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}'

/** Leads to CFDIs as they were known on a day. */
export function Known({ close }: { close: () => void }) {
  const t = useWords(words)
  const [, go] = useLocation()
  const { data: entities = [], error } = useQuery(entitiesQuery)
  const open = (form: FormData) => {
    const [id, day, uuid] = ['fiscal_entity_id', 'as_of', 'uuid'].map((name) => String(form.get(name) ?? '').trim())
    go(`/cfdi${uuid && `/${uuid}`}?fiscal_entity_id=${id}&as_of=${day}`)
  }
  return (
    <Dialog title={t.prove} close={close}>
      <Form onSubmit={open}>
        <p>{t.proveLead}</p>
        <Select label={t.rfc} name="fiscal_entity_id" required>
          {entities.map(({ fiscal_entity_id, rfc, name }) => (
            <option key={fiscal_entity_id} value={fiscal_entity_id}>
              {name ? `${rfc} · ${name}` : rfc}
            </option>
          ))}
        </Select>
        <Field label={t.day} name="as_of" type="date" required />
        <Field label={t.uuid} hint={t.uuidHint} name="uuid" pattern={UUID} spellcheck={false} autocomplete="off" />
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
