import { useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import { answer, api } from '../../../api/client.ts'
import { faultOf } from '../../../api/problems.ts'
import { useSend } from '../../../api/queries.ts'
import type { ExtractionDraft, FiscalEntity } from '../../../api/routes.d.ts'
import { useWords } from '../../../language.ts'
import { Button } from '../../../parts/button.tsx'
import { Dialog } from '../../../parts/dialog.tsx'
import { Actions, Field, Form } from '../../../parts/field.tsx'
import { Problem } from '../../../parts/states.tsx'
import css from '../parts/automation.module.css'
import { Choices } from '../parts/choices.tsx'
import { useSources } from '../parts/sources.ts'
import { words } from './words.ts'

/** Downloads some months of one RFC at once, without an extractor. */
export function Range({ entity, from, close }: { entity: FiscalEntity; from?: string; close: () => void }) {
  const t = useWords(words)
  const [, go] = useLocation()
  const { fiscal_entity_id, rfc, data_source_keys: enabled } = entity
  const { data: known = [] } = useSources()
  const choices = known.filter(({ key, is_active }) => is_active && enabled.includes(key))
  const [sources, set] = useState(() => ['sat_cfdi_issued', 'sat_cfdi_received'].filter((key) => enabled.includes(key)))
  const send = useSend(
    (body: ExtractionDraft, headers) =>
      answer(api.POST('/v1/fiscal-entities/{fiscal_entity_id}/extractions', { params: { path: { fiscal_entity_id } }, body, headers })),
    ['runs', 'standings', 'fiscal-entity', 'fiscal-entities'],
  )
  const submit = (form: FormData) => {
    const to = String(form.get('to'))
    const body = { data_source_keys: sources, from: String(form.get('from')), ...(to && { to }) }
    send.mutate(body, { onSuccess: ({ run_id }) => go(`/runs/${run_id}`) })
  }
  return (
    <Dialog title={t.rangeTitle(rfc)} close={close}>
      <Form onSubmit={submit}>
        <p>{t.rangeLead}</p>
        <div class={css.row}>
          <Field label={t.from} name="from" type="date" min="2018-01-01" defaultValue={from} required fault={faultOf(send.error, 'from')} />
          <Field label={t.to} name="to" type="date" min="2018-01-01" fault={faultOf(send.error, 'to')} />
        </div>
        <Choices
          legend={t.sources}
          choices={choices.map(({ key, label }) => ({ value: key, name: label }))}
          chosen={sources}
          set={set}
          fault={faultOf(send.error, 'data_source_keys')}
        />
        <Problem error={send.error} />
        <Actions>
          <Button type="submit" kind="primary" needs="admin" isBusy={send.isPending}>
            {t.start}
          </Button>
          <Button onClick={close}>{t.cancel}</Button>
        </Actions>
      </Form>
    </Dialog>
  )
}
