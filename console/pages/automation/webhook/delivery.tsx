import { useQuery } from '@tanstack/preact-query'
import { ChevronDown } from 'lucide-preact'
import { useState } from 'preact/hooks'
import { answer, api } from '../../../api/client.ts'
import { useSend } from '../../../api/queries.ts'
import type { WebhookAttempt, WebhookDelivery } from '../../../api/routes.d.ts'
import { count, instant, month, NOTHING } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Badge, type Tone } from '../../../parts/badge.tsx'
import { Button } from '../../../parts/button.tsx'
import { Copy } from '../../../parts/copy.tsx'
import { Actions } from '../../../parts/field.tsx'
import { Problem, Skeleton } from '../../../parts/states.tsx'
import { Table } from '../../../parts/table.tsx'
import { useZone } from '../../../session.ts'
import css from '../parts/automation.module.css'
import { useRfcOf } from '../parts/rfcs.tsx'
import { Text } from '../parts/text.tsx'
import { Ticks } from './ticks.tsx'
import { words } from './words.ts'

const TONES: Record<WebhookDelivery['status'], Tone> = { pending: 'wait', delivered: 'good', failed: 'bad', lost: 'bad' }

function Payload({ event_id }: { event_id: string }) {
  const t = useWords(words)
  const { data, error } = useQuery({
    queryKey: ['event', event_id],
    queryFn: () => answer(api.GET('/v1/events/{event_id}', { params: { path: { event_id } } })),
    staleTime: Number.POSITIVE_INFINITY,
  })
  if (error && !data) return <p>{t.gone}</p>
  if (!data) return <Skeleton rows={1} />
  const text = JSON.stringify(data, null, 2)
  return (
    <>
      <Text label={t.payload} text={text} />
      <small>{t.ordering}</small>
      <div>
        <Copy text={text} />
      </div>
    </>
  )
}

function Inside({ webhook_id, delivery }: { webhook_id: string; delivery: WebhookDelivery }) {
  const t = useWords(words)
  const zone = useZone()
  const { event_id, attempts, status } = delivery
  const params = { path: { webhook_id, event_id } }
  const again = useSend(
    (_: undefined, headers) => answer(api.POST('/v1/webhooks/{webhook_id}/deliveries/{event_id}/redeliver', { params, headers })),
    ['deliveries'],
  )
  const now = useSend(
    (_: undefined, headers) => answer(api.POST('/v1/webhooks/{webhook_id}/deliveries/{event_id}/send-now', { params, headers })),
    ['deliveries'],
  )
  const [sending, label] = status === 'pending' ? [now, t.sendNow] : [again, t.redeliver]
  return (
    <div class={css.stack}>
      {attempts.length > 0 && (
        <Table<WebhookAttempt>
          label={t.attempts}
          rows={attempts}
          keyOf={({ attempt }) => String(attempt)}
          columns={[
            { name: t.attempt, cell: ({ attempt }) => count(attempt) },
            { name: t.at, cell: ({ attempted_at }) => instant(attempted_at, zone) },
            { name: t.took, end: true, cell: ({ duration_ms }) => t.ms(count(duration_ms)) },
            { name: t.answered, cell: ({ status_code, error }) => status_code ?? (error ? t.error(error) : t.noAnswer) },
            { name: t.body, cell: ({ response_body }) => <code class={css.wrap}>{response_body || NOTHING}</code> },
          ]}
        />
      )}
      <h3>{t.payload}</h3>
      <Payload event_id={event_id} />
      <Problem error={sending.error} />
      <Actions>
        <Button needs="admin" isBusy={sending.isPending} onClick={() => sending.mutate(undefined)}>
          {label}
        </Button>
      </Actions>
    </div>
  )
}

/** One delivery: a line, and what is known of it when it is opened. */
export function Delivery({ webhook_id, delivery }: { webhook_id: string; delivery: WebhookDelivery }) {
  const t = useWords(words)
  const zone = useZone()
  const [isOpen, open] = useState(false)
  const rfcOf = useRfcOf()
  const { event_key, fiscal_entity_id, period, created_at, status, redelivery, next_attempt_at } = delivery
  return (
    <li class={css.item}>
      <details onToggle={({ currentTarget }) => open(currentTarget.open)}>
        <summary class={css.row}>
          <Badge tone={TONES[status]}>{t.statuses[status]}</Badge>
          <Ticks delivery={delivery} />
          <code>{event_key}</code>
          <small>
            {fiscal_entity_id && `${rfcOf(fiscal_entity_id)} · `}
            {period && `${/^\d{4}-\d\d$/.test(period) ? month(period, 'long') : period} · `}
            {instant(created_at, zone)}
            {redelivery > 0 && ` · ${t.again(redelivery)}`}
            {next_attempt_at && ` · ${t.next(instant(next_attempt_at, zone))}`}
          </small>
          <ChevronDown size={16} aria-hidden="true" />
        </summary>
        {isOpen && <Inside webhook_id={webhook_id} delivery={delivery} />}
      </details>
    </li>
  )
}
