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
import { recentRange } from './recent.ts'
import css from './rfc.module.css'
import { words } from './words.ts'

const CHANGED = ['standings', 'fiscal-entities', 'fiscal-entity', 'billing']

/** Updates, pauses, resumes and unlinks the RFC. */
export function Changes({ entity: { fiscal_entity_id, rfc, status, data_source_keys } }: { entity: FiscalEntity }) {
  const t = useWords(words)
  const [, go] = useLocation()
  const [asked, ask] = useState<'pause' | 'unlink' | null>(null)
  const close = () => ask(null)
  const params = { path: { fiscal_entity_id } }
  const setting = useSend(
    (active: boolean) => answer(api.PATCH('/v1/billing/rfcs/{fiscal_entity_id}', { params, body: { active } })),
    CHANGED,
  )
  const updating = useSend(
    (_: null, headers) =>
      answer(api.POST('/v1/fiscal-entities/{fiscal_entity_id}/extractions', { params, body: recentRange(data_source_keys), headers })),
    ['runs', 'standings', 'fiscal-entity', 'coverage'],
  )
  const refused = setting.error ?? updating.error
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
        <>
          <Button needs="admin" isBusy={updating.isPending} onClick={() => updating.mutate(null)}>
            {t.now}
          </Button>
          <Button needs="admin" onClick={() => ask('pause')}>
            {t.pause}
          </Button>
        </>
      )}
      <Button kind="danger" needs="admin" onClick={() => ask('unlink')}>
        {t.unlink}
      </Button>
      {refused && asked === null && (
        <div class={css.wide}>
          <Problem error={refused} />
        </div>
      )}
      {asked === 'pause' && (
        <Dialog title={t.pauseTitle(rfc)} close={close}>
          <p>{t.pauseLead}</p>
          <Problem error={setting.error} />
          <Actions>
            <Button kind="primary" isBusy={setting.isPending} onClick={() => setting.mutate(false, { onSuccess: close })}>
              {t.pause}
            </Button>
            <Button onClick={close}>{t.cancel}</Button>
          </Actions>
        </Dialog>
      )}
      {asked === 'unlink' && (
        <Dialog title={t.unlinkTitle(rfc)} close={close}>
          <p>{t.unlinkLead}</p>
          <Problem error={unlinking.error} />
          <Actions>
            <Button kind="danger" isBusy={unlinking.isPending} onClick={() => unlinking.mutate(undefined, { onSuccess: () => go('/') })}>
              {t.unlink}
            </Button>
            <Button onClick={close}>{t.cancel}</Button>
          </Actions>
        </Dialog>
      )}
    </>
  )
}
