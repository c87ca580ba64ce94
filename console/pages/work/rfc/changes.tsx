import { useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import { answer, api } from '../../../api/client.ts'
import { useSend } from '../../../api/queries.ts'
import type { FiscalEntity } from '../../../api/routes.d.ts'
import { useWords } from '../../../language.ts'
import { Button } from '../../../parts/button.tsx'
import { Dialog } from '../../../parts/dialog.tsx'
import { Actions } from '../../../parts/field.tsx'
import { Problem } from '../../../parts/states.tsx'
import css from './rfc.module.css'
import { words } from './words.ts'

const CHANGED = ['standings', 'fiscal-entities', 'fiscal-entity', 'billing']

/** Pauses, resumes and unlinks the RFC. */
export function Changes({ entity: { fiscal_entity_id, rfc, status } }: { entity: FiscalEntity }) {
  const t = useWords(words)
  const [, go] = useLocation()
  const [isAsking, ask] = useState(false)
  const params = { path: { fiscal_entity_id } }
  const setting = useSend(
    (active: boolean) => answer(api.PATCH('/v1/billing/rfcs/{fiscal_entity_id}', { params, body: { active } })),
    CHANGED,
  )
  const unlinking = useSend(async () => {
    await answer(api.DELETE('/v1/fiscal-entities/{fiscal_entity_id}', { params }))
  }, ['standings', 'fiscal-entities', 'billing'])
  return (
    <>
      {status === 'paused' && (
        <Button needs="admin" isBusy={setting.isPending} onClick={() => setting.mutate(true)}>
          {t.resume}
        </Button>
      )}
      {status === 'active' && (
        <Button needs="admin" isBusy={setting.isPending} onClick={() => setting.mutate(false)}>
          {t.pause}
        </Button>
      )}
      <Button kind="danger" needs="admin" onClick={() => ask(true)}>
        {t.unlink}
      </Button>
      {setting.error && (
        <div class={css.wide}>
          <Problem error={setting.error} />
        </div>
      )}
      {isAsking && (
        <Dialog title={t.unlinkTitle(rfc)} close={() => ask(false)}>
          <p>{t.unlinkLead}</p>
          <Problem error={unlinking.error} />
          <Actions>
            <Button kind="danger" isBusy={unlinking.isPending} onClick={() => unlinking.mutate(undefined, { onSuccess: () => go('/') })}>
              {t.unlink}
            </Button>
            <Button onClick={() => ask(false)}>{t.cancel}</Button>
          </Actions>
        </Dialog>
      )}
    </>
  )
}
