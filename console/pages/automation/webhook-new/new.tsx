import { answer, api } from '../../../api/client.ts'
import { useSend } from '../../../api/queries.ts'
import type { WebhookDraft } from '../../../api/routes.d.ts'
import { useWords } from '../../../language.ts'
import { Button, ButtonLink } from '../../../parts/button.tsx'
import { Actions, Form } from '../../../parts/field.tsx'
import { Call, Panel, Title } from '../../../parts/page.tsx'
import { Problem } from '../../../parts/states.tsx'
import { Room } from '../../../room/room.tsx'
import { useMayWrite } from '../../../session.ts'
import css from '../parts/automation.module.css'
import { Code } from '../webhook/code.tsx'
import { bodyOf, Fields, useDraft } from '../webhook/fields.tsx'
import { Secret } from '../webhook/secret.tsx'
import { words } from '../webhook/words.ts'

export default function NewWebhook() {
  const t = useWords(words)
  const mayWrite = useMayWrite()
  const [draft, set] = useDraft()
  const creating = useSend((body: WebhookDraft, headers) => answer(api.POST('/v1/webhooks', { body, headers })), ['webhooks', 'billing'])
  const { data: made } = creating
  if (made)
    return (
      <>
        <Title text={t.secretTitle} lead={made.name}>
          <ButtonLink href={`/webhooks/${made.webhook_id}`} kind="primary">
            {t.go}
          </ButtonLink>
        </Title>
        <Panel title={t.secret}>
          <Secret secret={made.signing_secret} />
        </Panel>
        <Code />
      </>
    )
  return (
    <>
      <Title text={t.create} lead={t.createLead} />
      <div class={css.narrow}>
        <Room of="webhooks" />
        <Panel>
          <Form onSubmit={() => creating.mutate(bodyOf(draft))}>
            <fieldset class={css.stack} disabled={!mayWrite}>
              <Fields draft={draft} set={set} error={creating.error} />
            </fieldset>
            <Problem error={creating.error} />
            <Actions>
              <Button type="submit" kind="primary" needs="admin" isBusy={creating.isPending}>
                {t.make}
              </Button>
              <ButtonLink href="/webhooks">{t.cancel}</ButtonLink>
            </Actions>
          </Form>
        </Panel>
        <Call call="POST /v1/webhooks" />
      </div>
    </>
  )
}
