import { useQuery } from '@tanstack/preact-query'
import { answer, api } from '../../../api/client.ts'
import type { Notification } from '../../../api/routes.d.ts'
import { day, instant } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Badge, type Tone } from '../../../parts/badge.tsx'
import { Loaded } from '../../../parts/loaded.tsx'
import { Panel } from '../../../parts/page.tsx'
import { useZone } from '../../../session.ts'
import css from './rfc.module.css'
import { words } from './words.ts'

const TONES: Record<Notification['severity'], Tone> = { critical: 'bad', warning: 'wait', info: 'idle' }

function Item({ one }: { one: Notification }) {
  const t = useWords(words)
  const zone = useZone()
  return (
    <li>
      <div>
        <Badge tone={TONES[one.severity]}>{t.mailboxStatus[one.status]}</Badge>
        <small>{t.sent(instant(one.sent_at, zone))}</small>
      </div>
      <b>{one.title}</b>
      <p>
        {one.authority}
        {one.document_number && ` · ${one.document_number}`}
      </p>
      {one.status === 'pending' && one.open_deadline && one.days_left !== null && (
        <p class={css.due}>{t.deadline(day(one.open_deadline), t.days(one.days_left))}</p>
      )}
    </li>
  )
}

/** The tax mailbox: what has to be opened, until when. */
export function Mailbox({ fiscal_entity_id }: { fiscal_entity_id: string }) {
  const t = useWords(words)
  const mailbox = useQuery({
    queryKey: ['mailbox', fiscal_entity_id],
    queryFn: () =>
      answer(
        api.GET('/v1/fiscal-entities/{fiscal_entity_id}/buzon/notifications', {
          params: { path: { fiscal_entity_id }, query: { limit: 10 } },
        }),
      ),
  })
  return (
    <Panel title={t.mailbox} lead={t.mailboxLead}>
      <Loaded query={mailbox}>
        {({ data }) =>
          data.length === 0 ? (
            <p>{t.mailboxNone}</p>
          ) : (
            <ul class={css.mailbox}>
              {data.map((one) => (
                <Item key={one.notification_id} one={one} />
              ))}
            </ul>
          )
        }
      </Loaded>
    </Panel>
  )
}
