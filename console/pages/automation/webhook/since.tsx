import { useState } from 'preact/hooks'
import { answer, api } from '../../../api/client.ts'
import { faultOf } from '../../../api/problems.ts'
import { useSend } from '../../../api/queries.ts'
import type { RedeliveryRequest } from '../../../api/routes.d.ts'
import { count } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Button } from '../../../parts/button.tsx'
import { Dialog } from '../../../parts/dialog.tsx'
import { Actions, Field, Form } from '../../../parts/field.tsx'
import { Problem } from '../../../parts/states.tsx'
import { Choices } from '../parts/choices.tsx'
import { words } from './words.ts'

/** Delivers again what did not arrive since a time. */
export function Since({ webhook_id, close }: { webhook_id: string; close: () => void }) {
  const t = useWords(words)
  const [statuses, set] = useState<string[]>(['lost'])
  const sending = useSend(
    (body: RedeliveryRequest, headers) =>
      answer(api.POST('/v1/webhooks/{webhook_id}/deliveries/redeliver', { params: { path: { webhook_id } }, body, headers })),
    ['deliveries'],
  )
  const submit = (form: FormData) => {
    const since = new Date(String(form.get('since'))).toISOString()
    sending.mutate({ since, statuses: statuses as ('lost' | 'failed')[] })
  }
  const { data } = sending
  return (
    <Dialog title={t.sinceTitle} close={close}>
      <Form onSubmit={submit}>
        <p>{t.sinceLead}</p>
        <Field label={t.sinceFrom} name="since" type="datetime-local" required fault={faultOf(sending.error, 'since')} />
        <Choices
          legend={t.which}
          chosen={statuses}
          set={set}
          fault={faultOf(sending.error, 'statuses')}
          choices={[
            { value: 'lost', name: t.lost },
            { value: 'failed', name: t.failed },
          ]}
        />
        <Problem error={sending.error} />
        <p role="status">
          {data && (data.redelivered_count > 0 || data.has_more ? t.redelivered(count(data.redelivered_count)) : t.noneRedelivered)}{' '}
          {data?.has_more && t.moreLeft}
        </p>
        <Actions>
          <Button type="submit" kind="primary" needs="admin" isBusy={sending.isPending}>
            {t.redeliver}
          </Button>
          <Button onClick={close}>{t.close}</Button>
        </Actions>
      </Form>
    </Dialog>
  )
}
