import { useState } from 'preact/hooks'
import { answer, api } from '../../../api/client.ts'
import { useSend } from '../../../api/queries.ts'
import { useWords } from '../../../language.ts'
import { Button } from '../../../parts/button.tsx'
import { Copy } from '../../../parts/copy.tsx'
import { Dialog } from '../../../parts/dialog.tsx'
import { Actions } from '../../../parts/field.tsx'
import { Problem } from '../../../parts/states.tsx'
import css from '../parts/automation.module.css'
import { words } from './words.ts'

/** A secret that is shown once. */
export function Secret({ secret }: { secret: string }) {
  const t = useWords(words)
  return (
    <div class={css.stack}>
      <p>{t.secretLead}</p>
      <div class={css.row}>
        <code class={css.wrap}>{secret}</code>
        <Copy text={secret} />
      </div>
    </div>
  )
}

/** Creates the next secret, shows it, and lets it sign when the receiver has it. */
export function Rotation({ webhook_id, close }: { webhook_id: string; close: () => void }) {
  const t = useWords(words)
  const params = { path: { webhook_id } }
  const [isCommitted, commit] = useState(false)
  const rotating = useSend((_: undefined, headers) => answer(api.POST('/v1/webhooks/{webhook_id}/rotate-secret', { params, headers })))
  const committing = useSend(
    (_: undefined, headers) => answer(api.POST('/v1/webhooks/{webhook_id}/rotate-secret/commit', { params, headers })),
    ['webhook'],
  )
  const { data } = rotating
  return (
    <Dialog title={t.rotate} close={close}>
      <div class={css.stack}>
        <p role="status">{isCommitted ? t.rotated : t.rotateLead}</p>
        {data && !isCommitted && (
          <>
            <Secret secret={data.signing_secret} />
            <p>{t.rotateHint}</p>
          </>
        )}
        <Problem error={rotating.error ?? committing.error} />
        <Actions>
          {!data && (
            <Button kind="primary" needs="admin" isBusy={rotating.isPending} onClick={() => rotating.mutate(undefined)}>
              {t.rotateStart}
            </Button>
          )}
          {data && !isCommitted && (
            <Button
              kind="primary"
              needs="admin"
              isBusy={committing.isPending}
              onClick={() => committing.mutate(undefined, { onSuccess: () => commit(true) })}
            >
              {t.rotateCommit}
            </Button>
          )}
          <Button onClick={close}>{t.close}</Button>
        </Actions>
      </div>
    </Dialog>
  )
}
