import { useQuery } from '@tanstack/preact-query'
import { useState } from 'preact/hooks'
import { answer, api } from '../../../api/client.ts'
import { faultOf } from '../../../api/problems.ts'
import { useSend } from '../../../api/queries.ts'
import type { WebhookTest } from '../../../api/routes.d.ts'
import { useWords } from '../../../language.ts'
import { Button } from '../../../parts/button.tsx'
import { Dialog } from '../../../parts/dialog.tsx'
import { Actions, Form, Select } from '../../../parts/field.tsx'
import { Problem } from '../../../parts/states.tsx'
import css from '../parts/automation.module.css'
import { Text } from '../parts/text.tsx'
import { catalogQuery } from './catalog.ts'
import { words } from './words.ts'

/** Sends the sample of an event. */
export function Test({ webhook_id, close }: { webhook_id: string; close: () => void }) {
  const t = useWords(words)
  const { data: catalog = [] } = useQuery(catalogQuery)
  const [key, choose] = useState('')
  const chosen = catalog.find((one) => one.key === key)
  const sending = useSend(
    (body: WebhookTest, headers) => answer(api.POST('/v1/webhooks/{webhook_id}/test', { params: { path: { webhook_id } }, body, headers })),
    ['deliveries'],
  )
  return (
    <Dialog title={t.test} close={close}>
      <Form onSubmit={() => sending.mutate(chosen ? { event_key: chosen.key } : {}, { onSuccess: close })}>
        <p>{t.testLead}</p>
        <Select
          label={t.testEvent}
          value={key}
          onChange={({ currentTarget }) => choose(currentTarget.value)}
          fault={faultOf(sending.error, 'event_key')}
        >
          <option value="">{t.testPlain}</option>
          {catalog
            .filter(({ available }) => available)
            .map((one) => (
              <option key={one.key}>{one.key}</option>
            ))}
        </Select>
        {chosen?.sample && (
          <div class={css.stack}>
            <h3>{t.sample}</h3>
            <Text label={t.sample} text={JSON.stringify(chosen.sample, null, 2)} />
          </div>
        )}
        <Problem error={sending.error} />
        <Actions>
          <Button type="submit" kind="primary" needs="admin" isBusy={sending.isPending}>
            {t.send}
          </Button>
          <Button onClick={close}>{t.cancel}</Button>
        </Actions>
      </Form>
    </Dialog>
  )
}
