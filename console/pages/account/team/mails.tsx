import { useQuery } from '@tanstack/preact-query'
import { answer, api } from '../../../api/client.ts'
import { useSend } from '../../../api/queries.ts'
import type { MailPreferenceChanges } from '../../../api/routes.d.ts'
import { useWords } from '../../../language.ts'
import { Button } from '../../../parts/button.tsx'
import { Actions, Form, Select } from '../../../parts/field.tsx'
import { Loaded } from '../../../parts/loaded.tsx'
import { Panel } from '../../../parts/page.tsx'
import { Problem } from '../../../parts/states.tsx'
import css from '../account.module.css'
import { words as common } from '../words.ts'
import { words } from './words.ts'

/** Which mails come to whoever is signed in. */
export function OwnMails() {
  const t = useWords(words)
  const c = useWords(common)
  const query = useQuery({ queryKey: ['mail-preferences'], queryFn: () => answer(api.GET('/v1/team/mail-preferences')) })
  const send = useSend((body: MailPreferenceChanges) => answer(api.PATCH('/v1/team/mail-preferences', { body })), ['mail-preferences'])
  const submit = (form: FormData) =>
    send.mutate({
      alerts: form.get('alerts') as NonNullable<MailPreferenceChanges['alerts']>,
      weekly_digest: form.get('weekly_digest') === 'true',
      language: form.get('language') as NonNullable<MailPreferenceChanges['language']>,
    })
  return (
    <Loaded query={query} rows={2}>
      {({ email, email_confirmed_at, alerts, weekly_digest, language }) => (
        <Panel title={t.mails} lead={email_confirmed_at ? t.mailsTo(email) : t.mailsNotYet(email)}>
          <div class={css.form}>
            <Form onSubmit={submit}>
              <Select label={t.mailAlerts} name="alerts">
                {(['none', 'critical', 'all'] as const).map((one) => (
                  <option key={one} value={one} selected={one === alerts}>
                    {t.mailedAlerts[one]}
                  </option>
                ))}
              </Select>
              <Select label={t.digest} hint={t.digestHint} name="weekly_digest">
                {[true, false].map((one) => (
                  <option key={String(one)} value={String(one)} selected={one === weekly_digest}>
                    {one ? t.yes : t.no}
                  </option>
                ))}
              </Select>
              <Select label={t.mailLanguage} name="language">
                <option value="es" selected={language === 'es'}>
                  Español
                </option>
                <option value="en" selected={language === 'en'}>
                  English
                </option>
              </Select>
              <Problem error={send.error} />
              <Actions>
                <Button kind="primary" type="submit" isBusy={send.isPending}>
                  {c.save}
                </Button>
                <span class={css.row} role="status">
                  {send.isSuccess && t.mailsSaved}
                </span>
              </Actions>
            </Form>
          </div>
        </Panel>
      )}
    </Loaded>
  )
}
