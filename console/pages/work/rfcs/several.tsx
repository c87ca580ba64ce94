import { useState } from 'preact/hooks'
import { answer, api } from '../../../api/client.ts'
import { sentenceOf } from '../../../api/problems.ts'
import { useSend } from '../../../api/queries.ts'
import type { Standing } from '../../../api/standings.ts'
import { count } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Button } from '../../../parts/button.tsx'
import { Dialog } from '../../../parts/dialog.tsx'
import { Actions } from '../../../parts/field.tsx'
import { Problem } from '../../../parts/states.tsx'
import { recentRange } from '../rfc/recent.ts'
import css from './rfcs.module.css'
import { words } from './words.ts'

const SENDS = {
  update: async ({ fiscal_entity_id }: Standing, key: string) => {
    const params = { path: { fiscal_entity_id } }
    const { data_source_keys } = await answer(api.GET('/v1/fiscal-entities/{fiscal_entity_id}', { params }))
    const headers = { 'Idempotency-Key': key }
    return answer(api.POST('/v1/fiscal-entities/{fiscal_entity_id}/extractions', { params, body: recentRange(data_source_keys), headers }))
  },
  pause: ({ fiscal_entity_id }: Standing) =>
    answer(api.PATCH('/v1/billing/rfcs/{fiscal_entity_id}', { params: { path: { fiscal_entity_id } }, body: { active: false } })),
}

/** Does one thing to each of the RFCs that are ticked, one after the other, and says which of them refused it and why. */
export function Several({ ticked, clear }: { ticked: readonly Standing[]; clear: () => void }) {
  const t = useWords(words)
  const [asked, ask] = useState(false)
  const [told, tell] = useState<{ done: number; refused: { rfc: string; why: string }[] } | null>(null)
  const send = useSend(
    async (what: keyof typeof SENDS) => {
      const refused: { rfc: string; why: string }[] = []
      for (const one of ticked)
        await SENDS[what](one, crypto.randomUUID()).catch((error: Error) => refused.push({ rfc: one.rfc, why: sentenceOf(error) }))
      tell({ done: ticked.length - refused.length, refused })
    },
    ['standings', 'fiscal-entities', 'fiscal-entity', 'billing', 'runs'],
  )
  const start = (what: keyof typeof SENDS) => send.mutate(what, { onSuccess: () => ask(false) })
  return (
    <div class={css.several} role="status">
      {ticked.length > 0 && (
        <>
          <b>{t.ticked(count(ticked.length))}</b>
          <Button small needs="admin" isBusy={send.isPending} onClick={() => start('update')}>
            {t.update}
          </Button>
          <Button small needs="admin" isBusy={send.isPending} onClick={() => ask(true)}>
            {t.pause}
          </Button>
          <Button small kind="quiet" onClick={clear}>
            {t.untick}
          </Button>
        </>
      )}
      {told && <span>{t.did(count(told.done))}</span>}
      {told?.refused.map(({ rfc, why }) => (
        <p key={rfc}>
          {rfc}: {why}
        </p>
      ))}
      <Problem error={send.error} />
      {asked && (
        <Dialog title={t.pauseTitle(count(ticked.length))} close={() => ask(false)}>
          <p>{t.pauseLead}</p>
          <Actions>
            <Button kind="primary" isBusy={send.isPending} onClick={() => start('pause')}>
              {t.pause}
            </Button>
            <Button onClick={() => ask(false)}>{t.cancel}</Button>
          </Actions>
        </Dialog>
      )}
    </div>
  )
}
