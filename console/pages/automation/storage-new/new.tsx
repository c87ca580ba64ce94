import { useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import { answer, api } from '../../../api/client.ts'
import { faultOf } from '../../../api/problems.ts'
import { useSend } from '../../../api/queries.ts'
import type { StorageConnectorDraft } from '../../../api/routes.d.ts'
import { useWords } from '../../../language.ts'
import { Button, ButtonLink } from '../../../parts/button.tsx'
import { Actions, Field, Form, Select } from '../../../parts/field.tsx'
import { Call, Panel, Title } from '../../../parts/page.tsx'
import { Problem } from '../../../parts/states.tsx'
import { Room } from '../../../room/room.tsx'
import { useMayWrite } from '../../../session.ts'
import { Credentials, groupsOf, Place, ScopeFields, useScope } from '../connector/fields.tsx'
import { type Group, NotJson, PROVIDERS, type Provider, readConfig, readCredentials } from '../connector/providers.ts'
import { words } from '../connector/words.ts'
import css from '../parts/automation.module.css'

export default function NewConnector() {
  const t = useWords(words)
  const mayWrite = useMayWrite()
  const [, go] = useLocation()
  const [provider, choose] = useState<Provider>('s3')
  const [group, chooseGroup] = useState<Group>('keys')
  const [scope, setScope] = useScope()
  const [misread, misreadAs] = useState<Error | null>(null)
  const creating = useSend(
    (body: StorageConnectorDraft, headers) => answer(api.POST('/v1/storage-connectors', { body, headers })),
    ['storage', 'billing'],
  )
  const error = misread ?? creating.error
  const submit = async (form: FormData) => {
    misreadAs(null)
    try {
      const credentials = await readCredentials(form, provider, group)
      const body = { name: String(form.get('name')), provider, config: readConfig(form, provider, false), credentials, scope }
      creating.mutate(body as StorageConnectorDraft, { onSuccess: ({ connector_id }) => go(`/storage/${connector_id}`) })
    } catch (thrown) {
      if (!(thrown instanceof NotJson)) throw thrown
      misreadAs(thrown)
    }
  }
  return (
    <>
      <Title text={t.create} lead={t.createLead} />
      <div class={css.narrow}>
        <Room of="storage_connectors" />
        <Panel>
          <Form onSubmit={(form) => void submit(form)}>
            <fieldset class={css.stack} disabled={!mayWrite}>
              <Field label={t.name} name="name" required maxLength={120} fault={faultOf(error, 'name')} />
              <Select
                label={t.provider}
                value={provider}
                onChange={({ currentTarget }) => {
                  const chosen = currentTarget.value as Provider
                  choose(chosen)
                  chooseGroup(groupsOf(chosen)[0]!)
                }}
              >
                {(Object.keys(PROVIDERS) as Provider[]).map((one) => (
                  <option key={one} value={one}>
                    {t.providers[one]}
                  </option>
                ))}
              </Select>
              <Place provider={provider} error={error} />
              <Credentials provider={provider} group={group} choose={chooseGroup} error={error} />
              <ScopeFields scope={scope} set={setScope} error={error} />
            </fieldset>
            <Problem error={creating.error} />
            <Actions>
              <Button type="submit" kind="primary" needs="admin" isBusy={creating.isPending}>
                {t.create}
              </Button>
              <ButtonLink href="/storage">{t.cancel}</ButtonLink>
            </Actions>
          </Form>
        </Panel>
        <Call call="POST /v1/storage-connectors" />
      </div>
    </>
  )
}
