import { useState } from 'preact/hooks'
import { answer, api } from '../../../api/client.ts'
import { faultOf } from '../../../api/problems.ts'
import { useSend } from '../../../api/queries.ts'
import type { RedeliveryRequest } from '../../../api/routes.d.ts'
import { count } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Button } from '../../../parts/button.tsx'
import { Dialog } from '../../../parts/dialog.tsx'
import { Actions, Field, Form, Select } from '../../../parts/field.tsx'
import { Problem } from '../../../parts/states.tsx'
import { Choices } from '../parts/choices.tsx'
import { words } from './words.ts'

const STATUSES = ['lost', 'failed', 'pending'] as const
const HOUR_MS = 3_600_000
/** What is kept is not older than 90 days. */
const PERIODS = { day: 24, week: 7 * 24, all: 90 * 24 } as const
type Period = keyof typeof PERIODS
const OWN = 'own'

const sinceOf = (period: Period): string => new Date(Date.now() - PERIODS[period] * HOUR_MS).toISOString()

/** Sends again what has not arrived since a time, what still waits included. */
export function Since({ webhook_id, close }: { webhook_id: string; close: () => void }) {
  const t = useWords(words)
  const [statuses, set] = useState<string[]>([...STATUSES])
  // The same request again has the same time, so that it happens once.
  const [asked, ask] = useState<{ period: string; since: string }>({ period: 'day', since: sinceOf('day') })
  const sending = useSend(
    (body: RedeliveryRequest, headers) =>
      answer(api.POST('/v1/webhooks/{webhook_id}/deliveries/redeliver', { params: { path: { webhook_id } }, body, headers })),
    ['deliveries'],
  )
  const submit = (form: FormData) => {
    const since = asked.since || new Date(String(form.get('since'))).toISOString()
    sending.mutate({ since, statuses: statuses as RedeliveryRequest['statuses'] })
  }
  const { data } = sending
  const isNothing = data && data.redelivered_count === 0 && data.sent_now_count === 0
  return (
    <Dialog title={t.sinceTitle} close={close}>
      <Form onSubmit={submit}>
        <p>{t.sinceLead}</p>
        <Select
          label={t.sinceWhen}
          value={asked.period}
          onChange={({ currentTarget: { value } }) => ask({ period: value, since: value === OWN ? '' : sinceOf(value as Period) })}
        >
          {[...Object.keys(PERIODS), OWN].map((one) => (
            <option key={one} value={one}>
              {t.periods[one as Period | typeof OWN]}
            </option>
          ))}
        </Select>
        {asked.period === OWN && (
          <Field label={t.sinceFrom} name="since" type="datetime-local" required fault={faultOf(sending.error, 'since')} />
        )}
        <Choices
          legend={t.which}
          chosen={statuses}
          set={set}
          fault={faultOf(sending.error, 'statuses')}
          choices={STATUSES.map((value) => ({ value, name: t.kinds[value] }))}
        />
        <Problem error={sending.error} />
        <p role="status">
          {data && (isNothing ? t.noneRedelivered : t.redelivered(count(data.redelivered_count), count(data.sent_now_count)))}{' '}
          {data?.has_more && t.moreLeft}
        </p>
        <Actions>
          <Button type="submit" kind="primary" needs="admin" disabled={statuses.length === 0} isBusy={sending.isPending}>
            {t.redeliver}
          </Button>
          <Button onClick={close}>{t.close}</Button>
        </Actions>
      </Form>
    </Dialog>
  )
}
