import { useQuery } from '@tanstack/preact-query'
import { Send } from 'lucide-preact'
import { useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import { answer, api } from '../../../api/client.ts'
import { useSend } from '../../../api/queries.ts'
import type { Webhook, WebhookChanges } from '../../../api/routes.d.ts'
import { count, instant } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Button } from '../../../parts/button.tsx'
import { Dialog } from '../../../parts/dialog.tsx'
import { Actions, Form } from '../../../parts/field.tsx'
import { Call, Facts, Panel, Title } from '../../../parts/page.tsx'
import { Failed, Problem, Skeleton } from '../../../parts/states.tsx'
import { useZone } from '../../../session.ts'
import { Ask } from '../parts/ask.tsx'
import css from '../parts/automation.module.css'
import { useRfcOf } from '../parts/rfcs.tsx'
import { Code } from './code.tsx'
import { bodyOf, Fields, useDraft } from './fields.tsx'
import { Log } from './log.tsx'
import { Rotation } from './secret.tsx'
import { WebhookState } from './state.tsx'
import { Test } from './test.tsx'
import { words } from './words.ts'

const CHANGED = ['webhook', 'webhooks']

function Change({ webhook, close }: { webhook: Webhook; close: () => void }) {
  const t = useWords(words)
  const [draft, set] = useDraft(webhook)
  const params = { path: { webhook_id: webhook.webhook_id } }
  const saving = useSend((body: WebhookChanges) => answer(api.PATCH('/v1/webhooks/{webhook_id}', { params, body })), CHANGED)
  return (
    <Dialog title={t.changeTitle} close={close}>
      <Form onSubmit={() => saving.mutate(bodyOf(draft), { onSuccess: close })}>
        <Fields draft={draft} set={set} error={saving.error} stored={webhook.custom_header?.name} />
        <Problem error={saving.error} />
        <Actions>
          <Button type="submit" kind="primary" needs="admin" isBusy={saving.isPending}>
            {t.save}
          </Button>
          <Button onClick={close}>{t.cancel}</Button>
        </Actions>
      </Form>
    </Dialog>
  )
}

type Asked = 'test' | 'change' | 'rotate' | 'remove' | null

export default function OneWebhook({ webhook_id = '' }: { webhook_id?: string }) {
  const t = useWords(words)
  const zone = useZone()
  const rfcOf = useRfcOf()
  const [, go] = useLocation()
  const [asked, ask] = useState<Asked>(null)
  const close = () => ask(null)
  const params = { path: { webhook_id } }
  const {
    data: webhook,
    error,
    refetch,
  } = useQuery({ queryKey: ['webhook', webhook_id], queryFn: () => answer(api.GET('/v1/webhooks/{webhook_id}', { params })) })
  const setting = useSend(
    (is_enabled: boolean) => answer(api.PATCH('/v1/webhooks/{webhook_id}', { params, body: { is_enabled } })),
    [...CHANGED, 'deliveries'],
  )
  const removing = useSend(
    async (_: undefined) => {
      await answer(api.DELETE('/v1/webhooks/{webhook_id}', { params }))
    },
    ['webhooks', 'billing'],
  )
  if (error && !webhook) return <Failed isPage error={error} retry={refetch} />
  if (!webhook) return <Skeleton rows={5} />
  const {
    name,
    url,
    is_enabled,
    event_keys,
    fiscal_entity_ids,
    custom_header,
    direction,
    cfdi_types,
    max_per_minute,
    secret_hint,
    created_at,
  } = webhook
  return (
    <>
      <Title isThing text={name} lead={<span class={css.wrap}>{url}</span>}>
        <Button kind="primary" needs="admin" disabled={!is_enabled} onClick={() => ask('test')}>
          <Send size={16} aria-hidden="true" />
          {t.test}
        </Button>
        <Button needs="admin" onClick={() => ask('change')}>
          {t.change}
        </Button>
        <Button needs="admin" isBusy={setting.isPending} onClick={() => setting.mutate(!is_enabled)}>
          {is_enabled ? t.disable : t.enable}
        </Button>
        <Button needs="admin" onClick={() => ask('rotate')}>
          {t.rotate}
        </Button>
        <Button kind="danger" needs="admin" onClick={() => ask('remove')}>
          {t.remove}
        </Button>
      </Title>
      <Problem error={setting.error} />
      <Panel>
        <Facts
          facts={[
            [t.state, <WebhookState key="state" webhook={webhook} />],
            [t.rfcs, fiscal_entity_ids ? fiscal_entity_ids.map(rfcOf).join(', ') : t.allRfcs],
            [t.events, event_keys.join(', ')],
            ...(direction ? [[t.direction, t.directions[direction]] as const] : []),
            ...(cfdi_types ? [[t.types, cfdi_types.map((one) => t.typeNames[one]).join(', ')] as const] : []),
            ...(max_per_minute ? [[t.pace, count(max_per_minute)] as const] : []),
            [t.header, custom_header?.name ?? t.noHeader],
            [t.secret, <code key="secret">whsec_…{secret_hint}</code>],
            [t.createdOn, instant(created_at, zone)],
          ]}
        />
      </Panel>
      <Log webhook_id={webhook_id} />
      <Code />
      <Call call={`GET /v1/webhooks/${webhook_id}/deliveries`} />
      {asked === 'test' && <Test webhook_id={webhook_id} close={close} />}
      {asked === 'change' && <Change webhook={webhook} close={close} />}
      {asked === 'rotate' && <Rotation webhook_id={webhook_id} close={close} />}
      {asked === 'remove' && (
        <Ask title={t.removeTitle(name)} lead={t.removeLead} label={t.remove} send={removing} done={() => go('/webhooks')} close={close} />
      )}
    </>
  )
}
