import { useState } from 'preact/hooks'
import { answer, api } from '../../../api/client.ts'
import { faultOf } from '../../../api/problems.ts'
import { useSend } from '../../../api/queries.ts'
import type { StorageConnector, StorageConnectorChanges } from '../../../api/routes.d.ts'
import { useWords } from '../../../language.ts'
import { Button } from '../../../parts/button.tsx'
import { Dialog } from '../../../parts/dialog.tsx'
import { Actions, Field, Form } from '../../../parts/field.tsx'
import { Problem } from '../../../parts/states.tsx'
import css from '../parts/automation.module.css'
import { Credentials, groupsOf, Place, ScopeFields, useScope } from './fields.tsx'
import { NotJson, readConfig, readCredentials } from './providers.ts'
import { words } from './words.ts'

/** Changes the place, what is copied, or the credentials. */
export function Change({ connector, close }: { connector: StorageConnector; close: () => void }) {
  const t = useWords(words)
  const { connector_id, provider, name } = connector
  const [group, choose] = useState(groupsOf(provider)[0]!)
  const [isReplacing, replace] = useState(false)
  const [scope, setScope] = useScope(connector)
  const [misread, misreadAs] = useState<Error | null>(null)
  const saving = useSend(
    (body: StorageConnectorChanges) =>
      answer(api.PATCH('/v1/storage-connectors/{connector_id}', { params: { path: { connector_id } }, body })),
    ['storage', 'connector'],
  )
  const error = misread ?? saving.error
  const submit = async (form: FormData) => {
    misreadAs(null)
    try {
      const credentials = isReplacing && { credentials: await readCredentials(form, provider, group) }
      const body = { name: String(form.get('name')), config: readConfig(form, provider, true), ...credentials, scope }
      saving.mutate(body, { onSuccess: close })
    } catch (thrown) {
      if (!(thrown instanceof NotJson)) throw thrown
      misreadAs(thrown)
    }
  }
  return (
    <Dialog title={t.changeTitle} close={close}>
      <Form onSubmit={(form) => void submit(form)}>
        <p>{t.changeLead}</p>
        <Field label={t.name} name="name" required maxLength={120} defaultValue={name} fault={faultOf(error, 'name')} />
        <Place provider={provider} stored={connector} error={error} />
        <label class={css.row}>
          <input type="checkbox" checked={isReplacing} onChange={({ currentTarget }) => replace(currentTarget.checked)} />
          {t.newCredentials}
        </label>
        {isReplacing && <Credentials provider={provider} group={group} choose={choose} error={error} />}
        <ScopeFields scope={scope} set={setScope} error={error} />
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
